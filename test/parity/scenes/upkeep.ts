import type { DumpQuery, StoredRecord } from "../../../src/store/store.ts";
import type { Teller } from "../teller.ts";

/** What background work leaves behind: lapses written down, the old past forgotten, the rest still told. */
export async function upkeepScene(teller: Teller): Promise<void> {
  const { call, note, engine, namespace, clock } = teller;
  clock.advance(3_600_000);
  note("swept", await engine.sweep(namespace, 1_000));
  note("swept again", await engine.sweep(namespace, 1_000));
  const page = await call("history_log", { n: 40 });
  await call("history_log", { n: 40, cursor: page.cursor });
  await call("history_log", { writer: "ann", n: 30 });
  await call("history_log", { prefix: "plan/", kind: "state", n: 200 });
  await call("history_log", { after_revision: 60, n: 5 });
  await call("history_log", { key: "plan/a", prefix: "plan/" });
  await everythingStored(teller);

  note("compacted", await engine.compact(namespace, { ageMs: 1e12, revisions: 60, tombstones: 4 }, 100_000));
  await call("state_get", { key: "plan/a", revision: 20 });
  await call("state_get", { key: "plan/a" });
  await call("state_get", { key: "plan/a", version: 1 });
  await call("history_log", { key: "plan/a" });
  await call("history_log", { n: 200 });
  // Its version was forgotten, and must not be given again all the same.
  await call("state_set", { key: "brief", value: "after all" });
  await everythingStored(teller);
}

/** Counts, and the end of it all. */
export async function adminScene(teller: Teller): Promise<void> {
  const { call, namespace } = teller;
  await call("sidecar_health");
  await call("sidecar_reset", { confirm: "something else" });
  await call("sidecar_reset", { confirm: namespace }, { requestKey: "reset-1" });
  await call("sidecar_reset", { confirm: namespace }, { requestKey: "reset-1" });
  await call("state_list");
  await call("recall_knowledge", { query: "queue" });
  await call("sidecar_health");
  await call("state_set", { key: "plan/a", value: "a new beginning", expected_version: 0 });
  // Under the request's key stands the name of the backup, in which engines differ.
  await everythingStored(teller, ["log", "keys"]);
}

const parts = { log: { part: "log", after: 0 }, keys: { part: "keys" }, requests: { part: "requests", after: { keptUntilMs: 0 } } } as const satisfies Record<string, DumpQuery>;

/** Not what tools show but what the namespace is made of, record by record. */
async function everythingStored({ note, engine, namespace }: Teller, names: readonly (keyof typeof parts)[] = ["log", "keys", "requests"]): Promise<void> {
  for (const name of names) {
    for (let query: DumpQuery | undefined = parts[name]; query !== undefined; ) {
      const page = await engine.dump(namespace, query);
      note(`stored ${name}`, page);
      query = page.done ? undefined : after(page.records.at(-1));
    }
  }
}

function after(record: StoredRecord | undefined): DumpQuery | undefined {
  if (record?.kind === "log") return { part: "log", after: record.revision };
  if (record?.kind === "key") return { part: "keys", after: record.key };
  return record === undefined ? undefined : { part: "requests", after: { keptUntilMs: record.keptUntilMs, key: record.key } };
}
