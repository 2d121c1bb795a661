import { setMaxListeners } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { limits } from "../../src/store/limits.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything, keyRange, prefixRange } from "../../src/store/ranges.ts";
import type { LogPage, LogQuery, Range, Revision, Store } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { propertySeed } from "../support/property-seed.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { untilQuiet } from "../support/until-quiet.ts";
import { commit, put } from "./conformance/fixture.ts";

/** The memory engine, with the log reads that it was asked for; `fail` makes those fail that it says. */
class ReadEngine extends MemoryEngine {
  reads: LogQuery[] = [];
  fails: (query: LogQuery) => boolean = () => false;

  override async log(namespace: string, query: LogQuery): Promise<LogPage> {
    this.reads.push(query);
    if (this.fails(query)) throw new Error("The log cannot be read.");
    return super.log(namespace, query);
  }
}

function openRead() {
  const clock = manualClock();
  const engine = new ReadEngine(clock);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  onTestFinished(() => stop.abort());
  return { engine, store: openNamespaceStore(engine, "test", clock), stop };
}

/** What a watcher was given. `pause`: waited for after each change. */
function watching(store: Store, range: Range, after: Revision, signal: AbortSignal, { values = false, pause }: { values?: boolean; pause?: () => Promise<void> } = {}) {
  const rows: { readonly key: string; readonly revision: Revision; readonly value: unknown }[] = [];
  const ended = (async () => {
    for await (const change of store.watch(range, after, signal, { values })) {
      rows.push(...change.rows.map(({ key, revision, value }) => ({ key, revision, value })));
      await pause?.();
    }
  })();
  ended.catch(() => {});
  return { rows, ended };
}

const isShared = ({ ranges: [range] }: LogQuery): boolean => range === everything;

test("one read of the log serves all watchers, and only the one whose key has changed is woken", async () => {
  const { engine, store, stop } = openRead();
  const watchers = Array.from({ length: 100 }, (_, i) => watching(store, keyRange(`k${i}`), 0, stop.signal));
  await untilQuiet(() => engine.reads.length);
  for (let i = 0; i < 20; i += 1) {
    engine.reads = [];
    await commit(store, put(`k${i}`, i));
    await untilQuiet(() => engine.reads.length);
    expect(engine.reads.filter(isShared)).toHaveLength(1);
    expect(engine.reads).toHaveLength(1);
  }
  expect(watchers.map(({ rows }) => rows.length)).toEqual(watchers.map((_, i) => (i < 20 ? 1 : 0)));
});

test("a watcher that wants values reads those that concern it, and nothing else", async () => {
  const { engine, store, stop } = openRead();
  const [first] = ["a", "b"].map((key) => watching(store, keyRange(key), 0, stop.signal, { values: true }));
  await untilQuiet(() => engine.reads.length);
  engine.reads = [];
  for (let i = 0; i < 10; i += 1) await commit(store, put(i === 5 ? "a" : "other", i));
  await untilQuiet(() => engine.reads.length);
  expect(engine.reads.filter((query) => query.values !== false)).toHaveLength(1);
  expect(first?.rows).toEqual([{ key: "a", revision: 6, value: 5 }]);
});

test("a lone watcher reads for itself, so that a change costs it one read", async () => {
  const { engine, store, stop } = openRead();
  watching(store, everything, 0, stop.signal, { values: true });
  await untilQuiet(() => engine.reads.length);
  engine.reads = [];
  await commit(store, put("a"));
  await untilQuiet(() => engine.reads.length);
  expect(engine.reads).toHaveLength(1);
});

test("a watcher too slow for what is kept misses nothing, and the others do not wait for it", async () => {
  const { engine, store, stop } = openRead();
  let go = (): void => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const slow = watching(store, prefixRange("k"), 0, stop.signal, { pause: () => held });
  const quick = watching(store, prefixRange("k"), 0, stop.signal);
  const commits = 40;
  for (let i = 0; i < commits; i += 1) {
    await commit(
      store,
      Array.from({ length: limits.commitWritesMax }, (_, n) => put(`k${n}`, i)),
    );
    await untilQuiet(() => engine.reads.length);
  }
  const written = commits * limits.commitWritesMax;
  expect(quick.rows).toHaveLength(written);
  expect(slow.rows).toHaveLength(limits.commitWritesMax);
  go();
  await untilQuiet(() => slow.rows.length);
  expect(slow.rows).toEqual(quick.rows);
});

test("a batch longer than a page reaches every watcher whole", async () => {
  const { engine, store, stop } = openRead();
  const watchers = [0, 1, 2].map(() => watching(store, { start: "" }, 0, stop.signal));
  await untilQuiet(() => engine.reads.length);
  const commits = Math.ceil((2.5 * limits.logRowsMax) / limits.commitWritesMax);
  await Promise.all(
    Array.from({ length: commits }, (_, i) =>
      commit(
        store,
        Array.from({ length: limits.commitWritesMax }, (_, n) => put(`k${n}`, i)),
      ),
    ),
  );
  await untilQuiet(() => engine.reads.length);
  expect(watchers.map(({ rows }) => rows.length)).toEqual(watchers.map(() => commits * limits.commitWritesMax));
});

test("when the shared read fails, each watcher reads for itself, and none keeps reading what cannot be read", async () => {
  const { engine, store, stop } = openRead();
  const watchers = ["a", "b", "a"].map((key) => watching(store, keyRange(key), 0, stop.signal));
  await untilQuiet(() => engine.reads.length);
  engine.fails = isShared;
  engine.reads = [];
  await commit(store, put("a"));
  await untilQuiet(() => engine.reads.length);
  expect(watchers.map(({ rows }) => rows.length)).toEqual([1, 0, 1]);
  expect(engine.reads).toHaveLength(1 + watchers.length);
  engine.fails = () => false;
  await commit(store, put("b"));
  await untilQuiet(() => engine.reads.length);
  expect(watchers.map(({ rows }) => rows.length)).toEqual([1, 1, 1]);
  engine.fails = () => true;
  await commit(store, put("b"));
  for (const { ended } of watchers) await expect(ended).rejects.toThrow("cannot be read");
});

test("the engine has one listener, and only while there are watchers", async () => {
  const { engine, store } = openRead();
  let listeners = 0;
  const onChange = engine.onChange.bind(engine);
  engine.onChange = (namespace, notify) => {
    listeners += 1;
    const unsubscribe = onChange(namespace, notify);
    return () => {
      listeners -= 1;
      unsubscribe();
    };
  };
  for (let round = 0; round < 2; round += 1) {
    const stop = new AbortController();
    const watchers = ["a", "b", "c"].map((key) => watching(store, keyRange(key), 0, stop.signal));
    await untilQuiet(() => engine.reads.length);
    expect(listeners).toBe(1);
    stop.abort();
    for (const { ended } of watchers) await ended;
    expect(listeners).toBe(0);
  }
});

test("while watchers come, leave, pause and fail, each of them gets every change of its range once and in order", async () => {
  for (let round = 0; round < 20; round += 1) {
    const random = seededRandom(propertySeed + round);
    const { engine, store } = openRead();
    const turns = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 1) await new Promise<void>((resolve) => setImmediate(resolve));
    };
    const rangeOf = (n: number): Range => [{ start: "" }, prefixRange("k1"), keyRange("k1"), keyRange("k2"), keyRange("none")][n] as Range;
    engine.fails = (query) => isShared(query) && query.values === false && random(8) === 0;
    const begun: {
      readonly range: Range;
      readonly after: Revision;
      readonly rows: readonly { readonly key: string; readonly revision: Revision }[];
      stop: AbortController;
      isOver: boolean;
    }[] = [];
    let newest = 0;
    for (let step = 0; step < 120; step += 1) {
      if (random(4) === 0) {
        const own = new AbortController();
        const [range, after, slowness] = [rangeOf(random(5)), random(newest + 1), random(3) * random(6)];
        const { rows } = watching(store, range, after, own.signal, { values: random(3) === 0, pause: () => turns(slowness) });
        begun.push({ range, after, rows, stop: own, isOver: false });
      }
      const leaving = random(12) === 0 ? begun[random(begun.length)] : undefined;
      if (leaving !== undefined) {
        leaving.stop.abort();
        leaving.isOver = true;
      }
      for (let i = random(3); i > 0; i -= 1) newest = (await commit(store, [put(`k${random(4)}`, step), put(`k1${random(3)}`, step)])).revision;
      await turns(random(3));
    }
    await untilQuiet(() => begun.map(({ rows }) => rows.length));
    engine.fails = () => false;
    for (const { range, after, rows, isOver } of begun) {
      const page = await store.log({ ranges: [range], after });
      const expected = page.rows.map(({ key, revision }) => `${revision} ${key}`);
      const seen = rows.map(({ key, revision }) => `${revision} ${key}`);
      expect(seen).toEqual(isOver ? expected.slice(0, seen.length) : expected);
    }
    for (const { stop } of begun) stop.abort();
  }
});
