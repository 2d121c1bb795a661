import { join } from "node:path";
import { expect, test } from "vitest";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { openSqliteEngine } from "../../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { keyRange } from "../../../src/store/ranges.ts";
import type { Store } from "../../../src/store/store.ts";
import { checkHistoryEqualsState } from "../../../src/verify/checkers/history-equals-state.ts";
import type { Increment } from "../../../src/verify/checkers/lost-update.ts";
import { checkNoLostUpdate } from "../../../src/verify/checkers/lost-update.ts";
import { checkRevisions } from "../../../src/verify/checkers/revisions.ts";
import { spawnWorker } from "../../support/spawn-worker.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { wholeLog } from "./whole-log.ts";

const processes = 16;
const each = 500;

async function audit(store: Store, increments: readonly Increment[]): Promise<void> {
  const snapshot = await store.read(keyRange("counter"));
  const [entry] = snapshot.entries;
  expect(entry?.value).toBe(processes * each);
  const final = { version: entry?.version ?? 0, value: entry?.value as number };
  expect(checkNoLostUpdate({ increments, unanswered: 0, final })).toEqual([]);
  const rows = await wholeLog(store);
  const acknowledged = increments.map(({ client, version }) => ({ client, revision: version }));
  expect(checkRevisions({ rows, acknowledged, revision: snapshot.revision })).toEqual([]);
  const changesByWriter = Object.fromEntries(Array.from({ length: processes }, (_, i) => [`client ${i}`, each]));
  expect(checkHistoryEqualsState({ rows, entries: snapshot.entries, nowMs: snapshot.nowMs, changesByWriter })).toEqual([]);
}

test(`${processes} processes × ${each} increments on one SQLite file make exactly ${processes * each} (G3, G12)`, { timeout: 300_000 }, async () => {
  const path = join(await temporaryFolder(), "store.db");
  const workers = Array.from({ length: processes }, (_, i) =>
    spawnWorker<"ready" | { increments: Increment[]; conflicts: number }>("increment", { path, key: "counter", count: each, client: `client ${i}` }),
  );
  for (const worker of workers) expect(await worker.next()).toBe("ready");
  for (const worker of workers) worker.send("go");
  const increments: Increment[] = [];
  let conflicts = 0;
  for (const worker of workers) {
    const answer = await worker.next();
    if (answer === "ready") throw new Error("A worker said ready twice.");
    increments.push(...answer.increments);
    conflicts += answer.conflicts;
    await worker.ended();
    expect(worker.errors()).toBe("");
  }
  // Without a single conflict the processes did not meet, and nothing was shown.
  expect(conflicts).toBeGreaterThan(0);
  await using engine = await openSqliteEngine({ path });
  await audit(openNamespaceStore(engine, "shared", systemClock), increments);
});

test(`${processes} concurrent callers × ${each} increments on a memory store make exactly ${processes * each} (G3)`, async () => {
  const store = openNamespaceStore(new MemoryEngine(), "shared", systemClock);
  const key = "counter";
  const increments: Increment[] = [];
  const client = async (name: string): Promise<void> => {
    for (let done = 0; done < each; ) {
      const [entry] = (await store.read(keyRange(key))).entries;
      const value = ((entry?.value as number | undefined) ?? 0) + 1;
      const result = await store.commit({ writer: name, checks: [{ key, version: entry?.version ?? 0 }], writes: [{ op: "put", key, value }] });
      if (!result.ok) continue;
      increments.push({ client: name, version: result.writes[0]?.version ?? 0, value });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: processes }, (_, i) => client(`client ${i}`)));
  await audit(store, increments);
});

test("the audit catches a store that does not look at the check", async () => {
  const store = openNamespaceStore(new MemoryEngine(), "shared", systemClock);
  const increments: Increment[] = [];
  const client = async (name: string): Promise<void> => {
    for (let i = 0; i < 10; i += 1) {
      const [entry] = (await store.read(keyRange("counter"))).entries;
      const value = ((entry?.value as number | undefined) ?? 0) + 1;
      const result = await store.commit({ writer: name, writes: [{ op: "put", key: "counter", value }] });
      if (result.ok) increments.push({ client: name, version: result.writes[0]?.version ?? 0, value });
    }
  };
  await Promise.all([client("a"), client("b")]);
  const [entry] = (await store.read(keyRange("counter"))).entries;
  const faults = checkNoLostUpdate({ increments, unanswered: 0, final: { version: entry?.version ?? 0, value: entry?.value as number } }).map((violation) => violation.fault);
  expect(faults).toContain("update_lost");
});
