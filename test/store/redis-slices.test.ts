import { expect, test } from "vitest";
import { openRedisEngine } from "../../src/engines/redis/redis-engine.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import { everything, keyRange, prefixRange } from "../../src/store/ranges.ts";
import type { Engine, Store } from "../../src/store/store.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import { freshRedisUrl } from "../support/servers/fresh-url.ts";
import { allRows, commit, keysOf, put } from "./conformance/fixture.ts";

/** What does not fit one script is done in several: the answers must be those of one. */
async function open(): Promise<{ engine: Engine; store: Store; clock: ManualClock } & AsyncDisposable> {
  const clock = manualClock();
  const engine = await openRedisEngine({ url: await freshRedisUrl(), timeSource: clock });
  return { engine, store: openNamespaceStore(engine, "n", clock), clock, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

const numbered = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(5, "0")}`);

test("values that are too much for one reply come all the same, now, in the past, in the log and in a dump", async () => {
  await using opened = await open();
  const { engine, store } = opened;
  const big = (i: number): string => String(i).repeat(900_000);
  for (let i = 0; i < 9; i += 1) await commit(store, put(`k${i}`, big(i)));
  const { entries, more } = await store.read(everything);
  expect(more).toBe(false);
  expect(entries.map(({ key, value }) => [key, value === big(Number(key[1]))])).toEqual(numbered("", 9).map((_, i) => [`k${i}`, true]));
  expect(keysOf((await store.read(everything, { reverse: true, limit: 8 })).entries)).toHaveLength(8);
  const past = await store.read(everything, { at: 8 });
  expect(past.entries.map(({ key, value }) => [key, value === big(Number(key[1]))])).toEqual(numbered("", 8).map((_, i) => [`k${i}`, true]));
  const page = await store.log({ ranges: [everything] });
  expect([page.done, page.rows.length < 9, page.through]).toEqual([false, true, page.rows.at(-1)?.revision]);
  expect((await allRows(store)).map(({ revision }) => revision)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect((await allRows(store, { narrow: true, reverse: true })).map(({ revision }) => revision)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
  const dumped: string[] = [];
  for (let after = 0, done = false; !done; ) {
    const dump = await engine.dump("n", { part: "log", after });
    for (const record of dump.records) if (record.kind === "log") dumped.push(record.key);
    expect(dump.records.length).toBeLessThan(9);
    after = dump.records.reduce((last, record) => (record.kind === "log" ? record.revision : last), after);
    ({ done } = dump);
  }
  expect(dumped).toEqual(numbered("", 9).map((_, i) => `k${i}`));
});

test("a crowd of expired entries hides nothing, and is swept in slices", async () => {
  await using opened = await open();
  const { engine, store, clock } = opened;
  const keys = numbered("e", 6_400);
  for (let i = 0; i < keys.length; i += 1_280)
    await engine.commit(
      "n",
      Array.from({ length: 10 }, (_, c) => prepareCommit({ writer: "w", writes: keys.slice(i + c * 128, i + (c + 1) * 128).map((key) => put(key, 1, { ttlMs: 10 })) })),
    );
  await commit(store, [put("a"), put("z")]);
  expect(await store.count(prefixRange("e"))).toBe(6_400);
  clock.advance(10);
  expect(keysOf((await store.read(everything)).entries)).toEqual(["a", "z"]);
  expect(keysOf((await store.read(everything, { reverse: true, limit: 2 })).entries)).toEqual(["z", "a"]);
  expect(await store.read(everything, { limit: 1 })).toMatchObject({ more: true, entries: [{ key: "a" }] });
  expect(await store.count(everything)).toBe(2);
  let swept = 0;
  for (let now = -1; now !== 0; swept += now) now = await engine.sweep("n", 10_000);
  expect(swept).toBe(6_400);
  // All of them are history now: the past is read in windows, the log in pages.
  const { revision } = await store.read(everything);
  expect(keysOf((await store.read(everything, { at: revision, limit: 3 })).entries)).toEqual(["a", "z"]);
  expect(keysOf((await store.read(everything, { at: revision, limit: 3, reverse: true })).entries)).toEqual(["z", "a"]);
  expect(keysOf((await store.read(everything, { at: 50, limit: 3 })).entries)).toEqual(["e00000", "e00001", "e00002"]);
  expect(await allRows(store, { ranges: [keyRange("z")] })).toHaveLength(1);
  const dumped: string[] = [];
  for (let after: string | undefined, done = false; !done; ) {
    const page = await engine.dump("n", { part: "keys", after });
    for (const record of page.records) if (record.kind === "key") dumped.push(record.key);
    after = dumped.at(-1);
    ({ done } = page);
  }
  expect(dumped).toEqual(["a", ...keys, "z"]);
  for (let more = true; more; ) ({ more } = await engine.compact("n", { ageMs: 0, revisions: 0, tombstones: 0 }, 500));
  expect((await engine.health("n")).facts).toMatchObject({ log_rows: 2, entries: 2 });
});

test("the far past of a busy key is reached by jumps, its history by its own chain", async () => {
  await using opened = await open();
  const { engine, store } = opened;
  const versions = 5_120;
  for (let i = 0; i < versions; i += 512)
    await engine.commit(
      "n",
      Array.from({ length: 512 }, (_, n) => prepareCommit({ writer: "w", writes: [put("busy", i + n)] })),
    );
  for (const at of [1, 127, 128, 129, 2_000, versions]) expect((await store.read(everything, { at })).entries).toMatchObject([{ value: at - 1, version: at, revision: at }]);
  const newest = await store.log({ ranges: [keyRange("busy")], narrow: true, reverse: true, limit: 3 });
  expect(newest.rows.map(({ version }) => version)).toEqual([versions, versions - 1, versions - 2]);
  // Forward there is too much for one walk along the key: the log is gone through instead.
  const rows = await allRows(store, { ranges: [keyRange("busy")], narrow: true, values: false });
  expect(rows.map(({ version }) => version)).toEqual(numbered("", versions).map((_, i) => i + 1));
});

test("a common term is searched among the newest that have it, in one area or several", async () => {
  await using opened = await open();
  const { engine, store } = opened;
  const index = (area: string, i: number) => ({ area, terms: [["common", 100], ...(i % 3 === 0 ? [["third", 50] as const] : []), [`only${i}`, 10]] as const, length: 3 });
  for (let i = 0; i < 2_400; i += 100)
    await engine.commit(
      "n",
      Array.from({ length: 100 }, (_, n) => prepareCommit({ writer: "w", writes: [put(`k${i + n}`, 1, { index: index((i + n) % 2 === 0 ? "even" : "odd", i + n) })] })),
    );
  const both = await store.search({ areas: ["even", "odd"], terms: ["common"] });
  expect(both).toMatchObject({ documents: 2_400, totalLength: 7_200, frequencies: [2_400] });
  expect(both.hits.map(({ revision }) => revision).toSorted((a, b) => a - b)).toEqual(numbered("", 2_000).map((_, i) => 401 + i));
  const rare = await store.search({ areas: ["even", "odd"], terms: ["common", "third"] });
  expect(rare.frequencies).toEqual([2_400, 800]);
  expect(rare.hits).toHaveLength(800);
  expect(rare.hits.every(({ weights }) => weights[0] === 100 && weights[1] === 50)).toBe(true);
  expect((await store.search({ areas: ["odd"], terms: ["common"] })).hits).toHaveLength(1_200);
});
