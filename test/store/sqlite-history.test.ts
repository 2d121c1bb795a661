import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Connection } from "../../src/engines/sqlite/connection.ts";
import { openConnection } from "../../src/engines/sqlite/connection.ts";
import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";
import { newestBelow } from "../../src/engines/sqlite/key-chain.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { jumpEvery, logPositionOf } from "../../src/ledger/log-position.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import { everything, keyRange } from "../../src/store/ranges.ts";
import type { Engine, LogQuery, LogRow, Write } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function openEmpty(): Promise<Engine> {
  const engine = await openSqliteEngine({ path: join(await temporaryFolder(), "store.db"), clock: manualClock() });
  onTestFinished(() => engine[Symbol.asyncDispose]());
  return engine;
}

/** Each write a commit of its own, 500 to a batch. */
async function commitEach(engine: Engine, writes: readonly Write[]): Promise<void> {
  for (let from = 0; from < writes.length; from += 500)
    await engine.commit(
      "test",
      writes.slice(from, from + 500).map((write) => prepareCommit({ writer: "tester", writes: [write] })),
    );
}

async function readAll(engine: Engine, query: Omit<LogQuery, "limit">): Promise<{ rows: LogRow[]; calls: number }> {
  const rows: LogRow[] = [];
  for (let cursor: Partial<LogQuery> = {}, calls = 1; ; calls += 1) {
    const page = await engine.log("test", { ...query, ...cursor, limit: 1_000 });
    rows.push(...page.rows);
    if (page.done) return { rows, calls };
    cursor = query.reverse ? { before: page.through } : { after: page.through };
  }
}

test("every past of a busy key is found, across its jumps, deletions and other keys' changes", async () => {
  const engine = await openEmpty();
  const writes: Write[] = [];
  /** What the key held after revision n (index n). */
  const truth: (number | undefined)[] = [undefined];
  for (let n = 1; n <= jumpEvery * 8; n += 1) {
    if (n % 10 === 7) writes.push({ op: "put", key: "other", value: n });
    else if (n % 31 === 0 && truth.at(-1) !== undefined) writes.push({ op: "delete", key: "busy" });
    else writes.push({ op: "put", key: "busy", value: n });
    const write = writes.at(-1) as Write;
    truth.push(write.key !== "busy" ? truth.at(-1) : write.op === "put" ? n : undefined);
  }
  await commitEach(engine, writes);
  const found: (number | undefined)[] = [];
  for (let at = 0; at < truth.length; at += 1) found.push((await engine.read("test", [keyRange("busy")], { at })).entries[0]?.value as number | undefined);
  expect(found).toEqual(truth);
});

test("the past of a key with a long history is found by jumping, not by walking", async () => {
  const path = join(await temporaryFolder(), "store.db");
  const changes = jumpEvery * 100;
  {
    await using engine = await openSqliteEngine({ path });
    await commitEach(
      engine,
      Array.from({ length: changes }, (_, n): Write => ({ op: "put", key: "counter", value: n })),
    );
    expect((await engine.read("test", [keyRange("counter")], { at: 3 })).entries[0]?.value).toBe(2);
  }
  const connection = openConnection({ driver: await loadSqliteDriver(), path, backUp: () => {} });
  onTestFinished(() => connection.close());
  let steps = 0;
  const counting = {
    statement: (sql: string) => ({
      get: (...values: number[]) => {
        steps += 1;
        return connection.statement(sql).get(...values);
      },
    }),
  } as unknown as Connection;
  expect(newestBelow(counting, { id: 1, compacted: 0 }, logPositionOf(changes), logPositionOf(4))).toBe(logPositionOf(3));
  // To the last row with a jump, along the jumps, and from the first of them down; walking would be 12,797 steps.
  expect(steps).toBeLessThan(100 + 2 * jumpEvery);
});

test("by key or by revision, forwards or backwards: the same rows, also where a search by key would be too wide", async () => {
  const engine = await openEmpty();
  const writes = Array.from({ length: 22_000 }, (_, n): Write => ({ op: "put", key: n % 1_000 === 0 ? "rare" : `common/${n % 7}`, value: n }));
  await commitEach(engine, writes);
  const rare = { ranges: [keyRange("rare")], values: true };
  const byKey = await readAll(engine, { ...rare, narrow: true });
  const byRevision = await readAll(engine, rare);
  expect(byKey.rows.map(({ value }) => value)).toEqual(Array.from({ length: 22 }, (_, i) => i * 1_000));
  expect(byRevision.rows).toEqual(byKey.rows);
  // The bounded scan needs several calls for what the key knows at once.
  expect([byKey.calls, byRevision.calls > 1]).toEqual([1, true]);
  expect((await readAll(engine, { ...rare, reverse: true })).rows).toEqual(byKey.rows.toReversed());
  expect((await readAll(engine, { ...rare, reverse: true, narrow: true })).rows).toEqual(byKey.rows.toReversed());
  const wide = await readAll(engine, { ranges: [everything], narrow: true, values: false });
  expect(wide.rows.length).toBe(22_000);
  expect(wide.rows.map(({ revision }) => revision)).toEqual(Array.from({ length: 22_000 }, (_, i) => i + 1));
});

test("compaction in slices leaves exactly one row per live key, and the kept past stays readable", async () => {
  const engine = await openEmpty();
  const writes = Array.from({ length: 5_000 }, (_, n): Write => (n % 11 === 10 ? { op: "delete", key: `k${n % 50}` } : { op: "put", key: `k${n % 50}`, value: n }));
  await commitEach(engine, writes);
  // Deletions of what is not there take no revision.
  const { revision } = await engine.read("test", [], {});
  const at = revision - 100;
  const before = await engine.read("test", [everything], { at });
  const policy = { ageMs: 1e12, revisions: 100, tombstones: 1_000 };
  let slices = 0;
  let gone = 0;
  for (let more = true; more; slices += 1) {
    const slice = await engine.compact("test", policy, 200);
    gone += slice.removed;
    more = slice.more;
  }
  expect(slices).toBeGreaterThan(20);
  expect((await engine.read("test", [everything], { at })).entries).toEqual(before.entries);
  await expect(engine.read("test", [everything], { at: at - 1 })).rejects.toMatchObject({ code: "compacted" });
  const left = await readAll(engine, { ranges: [everything], lenient: true });
  expect(left.rows.length).toBe(revision - gone);
  expect(
    left.rows
      .filter(({ revision }) => revision <= at)
      .map(({ key }) => key)
      .sort(),
  ).toEqual(before.entries.map(({ key }) => key).sort());
});
