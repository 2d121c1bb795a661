import { expect, test } from "vitest";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine, Store } from "../../src/store/store.ts";
import { freshPostgresUrl, sharedPostgres } from "../support/servers/fresh-url.ts";
import { TransactionPooler } from "../support/servers/transaction-pooler.ts";
import { commit, commitOf, committed, commitBatch, namespace, put } from "./conformance/fixture.ts";

const storeOf = (engine: Engine, name = namespace): Store => openNamespaceStore(engine, name, systemClock);

/** Each engine adds to one number, reading and writing under a check, until it has added its share. */
async function count(store: Store, times: number): Promise<void> {
  for (let added = 0; added < times; ) {
    const [entry] = (await store.read({ start: "n", end: "n\0" })).entries;
    const result = await store.commit(commitOf(put("n", ((entry?.value as number | undefined) ?? 0) + 1), { checks: [{ key: "n", version: entry?.version ?? 0 }] }));
    if (result.ok) added += 1;
  }
}

/** How long until `bell` rings for the first time after `act` has begun. */
async function msUntilRung(listener: Engine, act: () => Promise<unknown>): Promise<number> {
  let stop: (() => void) | undefined;
  const rung = new Promise<number>((resolve) => {
    stop = listener.onChange(namespace, () => resolve(performance.now()));
  });
  const startMs = performance.now();
  await act();
  const ms = (await rung) - startMs;
  stop?.();
  return ms;
}

test("many processes that open a new store at the same moment all succeed, and it is one store", async () => {
  const url = await freshPostgresUrl();
  const engines = await Promise.all(Array.from({ length: 8 }, () => openPostgresEngine({ url: `${url}&pool=1` })));
  await Promise.all(engines.map((engine, i) => commit(storeOf(engine), put(`k${i}`))));
  expect((await storeOf(engines[0] as Engine).read(everything)).entries).toHaveLength(8);
  await Promise.all(engines.map((engine) => engine[Symbol.asyncDispose]()));
});

test("several engines on one namespace lose no increment and give every revision once", async () => {
  const url = await freshPostgresUrl();
  const engines = await Promise.all([1, 2, 3].map(() => openPostgresEngine({ url })));
  await Promise.all(engines.flatMap((engine) => [count(storeOf(engine), 10), count(storeOf(engine), 10)]));
  const { entries, revision } = await storeOf(engines[0] as Engine).read(everything);
  expect(entries).toMatchObject([{ key: "n", value: 60, version: 60 }]);
  expect(revision).toBe(60);
  await Promise.all(engines.map((engine) => engine[Symbol.asyncDispose]()));
});

test("namespaces that several engines make at once get numbers of their own, and odd names stay apart", async () => {
  const url = await freshPostgresUrl();
  await using one = await openPostgresEngine({ url });
  await using two = await openPostgresEngine({ url });
  const names = ["a b", "Ä/é", "x--y", "0:;@".slice(0, 2), "名前", "A B", ...Array.from({ length: 10 }, (_, i) => `n${i}`)];
  await Promise.all(names.flatMap((name) => [commit(storeOf(one, name), put("from one", name)), commit(storeOf(two, name), put("from two", name))]));
  for (const name of names) expect((await storeOf(two, name).read(everything)).entries.map(({ value }) => value)).toEqual([name, name]);
  expect(new Set(await one.namespaces())).toEqual(new Set(names));
});

test("another process hears of a commit by notification, well before the next poll", async () => {
  const url = await freshPostgresUrl();
  await using writer = await openPostgresEngine({ url });
  await using listener = await openPostgresEngine({ url });
  await commit(storeOf(writer), put("a"));
  const stop = listener.onChange(namespace, () => undefined);
  await expect.poll(async () => (await listener.health(namespace)).facts.notifications).toBe("arrive");
  // After the first listening rings for safety.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const times: number[] = [];
  for (let i = 0; i < 5; i += 1) times.push(await msUntilRung(listener, () => commit(storeOf(writer), put("a", i))));
  expect(Math.min(...times)).toBeLessThan(200);
  stop();
});

test("through a pooler that gives every transaction another connection everything works, and changes are found by polling", { timeout: 20_000 }, async () => {
  const direct = await freshPostgresUrl();
  await using pooler = await TransactionPooler.open(await sharedPostgres());
  const url = direct.replace(/@[^/]+\//, `@127.0.0.1:${pooler.port}/`);
  await using engine = await openPostgresEngine({ url });
  await using outside = await openPostgresEngine({ url: direct });
  expect((await engine.health(namespace)).facts).toMatchObject({ pooler_between: true });
  expect((await outside.health(namespace)).facts).toMatchObject({ pooler_between: false });

  await Promise.all([count(storeOf(engine), 10), count(storeOf(engine), 10), count(storeOf(outside), 10)]);
  expect((await storeOf(engine).read(everything)).entries).toMatchObject([{ value: 30, version: 30 }]);
  const index = { area: "notes", terms: [["word", 100]] as const, length: 1 };
  await commit(storeOf(engine), put("note", 1, { index }));
  expect((await engine.search(namespace, { areas: ["notes"], terms: ["word"] })).hits).toHaveLength(1);
  const refused = await commitBatch(engine, [commitOf(put("n", 0), { checks: [{ key: "n", version: 1 }] })]);
  expect(refused).toMatchObject([{ ok: false, failed: [{ entry: { value: 30 } }] }]);

  // Found out once that no notification comes back; from then on it looks four times a second.
  const stop = engine.onChange(namespace, () => undefined);
  await new Promise((resolve) => setTimeout(resolve, 1_300));
  expect((await engine.health(namespace)).facts).toMatchObject({ notifications: "do not arrive: polling" });
  expect(await msUntilRung(engine, () => commit(storeOf(outside), put("n", 1)))).toBeLessThan(2_000);
  stop();
});

test("a commit is durable even where the role's default is not to wait for the disk; a stronger default is kept", async () => {
  const url = await freshPostgresUrl();
  const { Client } = (await import("pg")).default;
  const admin = new Client(await sharedPostgres());
  await admin.connect();
  const schema = new URL(url).searchParams.get("schema") as string;
  for (const [setting, kept] of [
    ["off", "on"],
    ["local", "local"],
    ["remote_apply", "remote_apply"],
  ]) {
    await admin.query(`ALTER ROLE CURRENT_USER SET synchronous_commit = ${setting}`);
    await using engine = await openPostgresEngine({ url });
    committed((await commitBatch(engine, [commitOf(put("a"))]))[0]);
    expect((await engine.health(namespace)).facts, schema).toMatchObject({ synchronous_commit: kept });
  }
  await admin.query("ALTER ROLE CURRENT_USER RESET synchronous_commit");
  await admin.end();
});
