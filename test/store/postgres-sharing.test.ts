import { expect, onTestFinished, test, vi } from "vitest";
import { PostgresConnections } from "../../src/engines/postgres/postgres-connections.ts";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { Transaction } from "../../src/engines/postgres/transaction.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything, keyRange } from "../../src/store/ranges.ts";
import type { Engine, Store } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { freshPostgresUrl, sharedPostgres } from "../support/servers/fresh-url.ts";
import { TransactionPooler } from "../support/servers/transaction-pooler.ts";
import { stopTime } from "../support/stopped-time.ts";
import { commit, commitBatch, commitOf, namespace, put } from "./conformance/fixture.ts";

const storeOf = (engine: Engine, name = namespace): Store => openNamespaceStore(engine, name, systemClock);

/** Each engine adds to one number, reading and writing under a check, until it has added its share. */
async function count(store: Store, times: number): Promise<void> {
  for (let added = 0; added < times; ) {
    const [entry] = (await store.read({ start: "n", end: "n\0" })).entries;
    const result = await store.commit(commitOf(put("n", ((entry?.value as number | undefined) ?? 0) + 1), { checks: [{ key: "n", version: entry?.version ?? 0 }] }));
    if (result.ok) added += 1;
  }
}

/** Resolves when the listener was told of a change after `act` had begun. */
async function heardOf(listener: Engine, act: () => Promise<unknown>): Promise<void> {
  let stop: (() => void) | undefined;
  const notified = new Promise<void>((resolve) => {
    stop = listener.onChange(namespace, resolve);
  });
  await act();
  await notified;
  stop?.();
}

/** Polling finds what it found first, for as long as the test runs: only notifications tell of changes. */
function blindPolling(): void {
  const ask = PostgresConnections.prototype.ask;
  let first: ReturnType<typeof ask> | undefined;
  const asking = vi.spyOn(PostgresConnections.prototype, "ask").mockImplementation(function (this: PostgresConnections, statement) {
    if (statement.name !== "standings") return ask.call(this, statement);
    first ??= ask.call(this, statement);
    return first;
  });
  onTestFinished(() => void asking.mockRestore());
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
  const names = ["a b", "Ä/é", "x--y", "0:", "名前", "A B", ...Array.from({ length: 10 }, (_, i) => `n${i}`)];
  await Promise.all(names.flatMap((name) => [commit(storeOf(one, name), put("from one", name)), commit(storeOf(two, name), put("from two", name))]));
  for (const name of names) expect((await storeOf(two, name).read(everything)).entries.map(({ value }) => value)).toEqual([name, name]);
  expect(new Set(await one.namespaces())).toEqual(new Set(names));
});

test("another process hears of every commit by notification, without a poll", async () => {
  blindPolling();
  const url = await freshPostgresUrl();
  await using writer = await openPostgresEngine({ url });
  await using listener = await openPostgresEngine({ url });
  await commit(storeOf(writer), put("a"));
  const stop = listener.onChange(namespace, () => undefined);
  await expect.poll(async () => (await listener.health(namespace)).facts.notifications).toBe("arrive");
  for (let i = 0; i < 8; i += 1) await heardOf(listener, () => commit(storeOf(writer), put("a", i)));
  stop();
});

test("through a pooler that gives every transaction another connection everything works, and changes are found by polling", async () => {
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
  expect(refused).toMatchObject([{ ok: false, failed: [{ entry: { value: null, version: 30 } }] }]);

  // Found out once that no notification comes back; from then on it looks four times a second.
  const stop = engine.onChange(namespace, () => undefined);
  await expect.poll(async () => (await engine.health(namespace)).facts).toMatchObject({ notifications: "do not arrive: polling" });
  await heardOf(engine, () => commit(storeOf(outside), put("n", 1)));
  stop();
});

test("processes that take turns see what the other one changed: keys, compaction and time", async () => {
  const url = await freshPostgresUrl();
  await using one = await openPostgresEngine({ url });
  await using two = await openPostgresEngine({ url });
  for (let round = 1; round <= 6; round += 1) {
    expect((await commit(storeOf(one), put("shared", round))).writes).toMatchObject([{ version: 2 * round - 1 }]);
    expect((await commit(storeOf(two), put("shared", round))).writes).toMatchObject([{ version: 2 * round }]);
  }
  // Compaction moves the version floor without a revision: a key forgotten by it starts above.
  await commit(storeOf(one), [put("gone", 1), put("gone 2", 1)]);
  for (let i = 1; i <= 4; i += 1) await commit(storeOf(one), put("gone 2", i));
  await commit(storeOf(one), [
    { op: "delete", key: "gone" },
    { op: "delete", key: "gone 2" },
  ]);
  while ((await two.compact(namespace, { ageMs: 0, revisions: 0, tombstones: 0 }, 1_000)).more);
  expect((await commit(storeOf(one), put("gone", 3))).writes).toMatchObject([{ version: 6, existed: false }]);
  expect((await commit(storeOf(one), put("new", 1))).writes).toMatchObject([{ version: 6, existed: false }]);

  // Something that lapses between two commits is gone for the second. The other process tells when it has.
  await commit(storeOf(one), put("lease", 1, { ttlMs: 3_600_000 }));
  await commit(storeOf(one), put("lease", 2, { ttlMs: 1 }));
  await expect.poll(async () => (await storeOf(two).read(keyRange("lease"))).entries).toEqual([]);
  const late = await storeOf(one).commit(commitOf(put("lease", 3), { checks: [{ key: "lease", is: "present" }] }));
  expect(late).toMatchObject({ ok: false, failed: [{ check: { key: "lease" } }] });
  expect((await commit(storeOf(one), put("lease", 4), { checks: [{ key: "lease", is: "absent" }] })).writes).toMatchObject([{ version: 8, existed: false }]);
});

test("reads of single keys that are requested at once share a statement, and each has the answer that it would have had alone", async () => {
  const clock = manualClock();
  await using engine = await openPostgresEngine({ url: await freshPostgresUrl(), timeSource: clock });
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}`);
  await commit(storeOf(engine), [...keys.slice(0, 30).map((key) => put(key, { key })), put("k30", 1, { ttlMs: 1 }), put("k31", 1, { ttlMs: 60_000 }), put("k32", null)]);
  await commit(storeOf(engine, "other"), put("k0", "another's"));
  clock.advance(20);
  const statements = vi.spyOn(PostgresConnections.prototype, "ask");
  const asked = [...keys.map((key) => [namespace, key, true] as const), ...keys.map((key) => [namespace, key, false] as const), ["other", "k0", true] as const];
  const answers = await Promise.all(asked.map(([name, key, values]) => engine.read(name, [keyRange(key)], { values })));
  // Of 81 reads: a page of 32 keys each, for each way of asking.
  expect(statements.mock.calls.length).toBeLessThanOrEqual(5);
  statements.mockRestore();
  const [all, bare] = [await engine.read(namespace, [everything], {}), await engine.read(namespace, [everything], { values: false })];
  expect(all.entries).toHaveLength(32);
  for (const [i, [name, key, values]] of asked.entries()) {
    const { revision, entries, more } = answers[i] as Awaited<ReturnType<Engine["read"]>>;
    expect({ revision, more }).toEqual({ revision: 1, more: false });
    if (name === namespace) expect(entries).toEqual((values ? all : bare).entries.filter((entry) => entry.key === key));
    else expect(entries).toMatchObject([{ value: "another's" }]);
  }
  await engine.seal("other", { state: "moved", to: "redis://elsewhere" });
  const [mine, theirs] = await Promise.allSettled([engine.read(namespace, [keyRange("k1")], {}), engine.read("other", [keyRange("k0")], {})]);
  expect(mine).toMatchObject({ status: "fulfilled", value: { entries: [{ key: "k1" }] } });
  expect(theirs).toMatchObject({ status: "rejected", reason: { code: "moved" } });
});

test("a read after an answered commit sees it, however many others read at the same time", async () => {
  const url = await freshPostgresUrl();
  await using writer = await openPostgresEngine({ url });
  await using reader = await openPostgresEngine({ url });
  await commit(storeOf(writer), put("n", 0));
  let isOver = false;
  const crowd = Array.from({ length: 30 }, async () => {
    while (!isOver) await reader.read(namespace, [keyRange("n")], {});
  });
  for (let n = 1; n <= 60; n += 1) {
    await commit(storeOf(writer), put("n", n));
    expect((await reader.read(namespace, [keyRange("n")], {})).entries).toMatchObject([{ value: n, version: n + 1 }]);
  }
  isOver = true;
  await Promise.all(crowd);
});

test.each(["none", "one of a copy that was killed"])("a commit takes two round trips, also of a process alone with its namespace; seal: %s", async (seal) => {
  await using engine = await openPostgresEngine({ url: await freshPostgresUrl(), timeSource: manualClock() });
  if (seal !== "none") await engine.seal(namespace, { state: "copying", untilMs: 1, holds: { gone: 1 } });
  stopTime();
  await commit(storeOf(engine), put("a", 0));
  const [locks, looks, commits] = (["lock", "ask", "commit"] as const).map((trip) => vi.spyOn(Transaction.prototype, trip));
  onTestFinished(() => void vi.restoreAllMocks());
  for (let i = 1; i <= 10; i += 1) await commit(storeOf(engine), put("a", i));
  expect([locks, looks, commits].map((spy) => spy?.mock.calls.length)).toEqual([10, 0, 10]);
  // Others are told at once of a seal that means them.
  await engine.seal(namespace, { state: "moving", by: "x", to: "y" }, seal === "none" ? undefined : { state: "copying", untilMs: 1, holds: { gone: 1 } });
  await expect(storeOf(engine).commit(commitOf(put("a", 11)))).rejects.toMatchObject({ code: "unavailable" });
});

test.each([
  ["of a key", "read-keys-values", keyRange("short")],
  ["of a range", "read-one-ASC-values", everything],
])("a read %s whose answer arrives after a later one names the time by which it was judged", async (_, statementName, range) => {
  const clock = manualClock();
  await using engine = await openPostgresEngine({ url: await freshPostgresUrl(), timeSource: clock });
  await commit(storeOf(engine), put("short", 1, { ttlMs: 10 }));
  const ask = PostgresConnections.prototype.ask;
  let passOn = (): void => {};
  const passedOn = new Promise<void>((resolve) => {
    passOn = resolve;
  });
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const asking = vi.spyOn(PostgresConnections.prototype, "ask").mockImplementation(async function (this: PostgresConnections, statement) {
    const result = await ask.call(this, statement);
    if (statement.name === statementName) {
      answer();
      await passedOn;
    }
    return result;
  });
  onTestFinished(() => void asking.mockRestore());
  const early = engine.read(namespace, [range], {});
  await answered;
  clock.advance(20);
  const later = await engine.position(namespace);
  passOn();
  const { entries, nowMs } = await early;
  expect(entries).toMatchObject([{ key: "short" }]);
  expect(nowMs).toBeLessThan(entries[0]?.expiresAtMs as number);
  expect(later.nowMs).toBeGreaterThanOrEqual(entries[0]?.expiresAtMs as number);
  expect((await engine.read(namespace, [range], {})).entries).toEqual([]);
});
