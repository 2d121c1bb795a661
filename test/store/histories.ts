import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { limits } from "../../src/store/limits.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import { everything, keyRange, prefixRange } from "../../src/store/ranges.ts";
import type {
  Check,
  Commit,
  DumpQuery,
  Engine,
  HistoryRecord,
  IndexedText,
  LogQuery,
  Range,
  ReadOptions,
  RetentionPolicy,
  Seal,
  SearchAnswer,
  SearchQuery,
  Write,
} from "../../src/store/store.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import { propertySeed } from "../support/property-seed.ts";
import type { OpenEngine } from "./conformance/fixture.ts";
import { openFixture } from "./conformance/fixture.ts";

/** Where the clock of every history begins. */
const startMs = manualClock().nowMs();

/** One step of a random history: something to do, or something to ask. */
export type Step =
  | { readonly do: "commit"; readonly batch: readonly Commit[] }
  | { readonly do: "clock"; readonly ms: number }
  | { readonly do: "sweep"; readonly limit: number }
  | { readonly do: "compact"; readonly policy: RetentionPolicy }
  | { readonly do: "position" }
  | { readonly do: "reindex"; readonly keys: readonly string[]; readonly index: IndexedText; readonly behind: number }
  | { readonly do: "read"; readonly ranges: readonly Range[]; readonly options: ReadOptions }
  | { readonly do: "log"; readonly query: LogQuery }
  | { readonly do: "count"; readonly range: Range }
  | { readonly do: "request"; readonly key: string }
  | { readonly do: "search"; readonly query: SearchQuery }
  | { readonly do: "dump"; readonly query: DumpQuery }
  | { readonly do: "seal"; readonly seal: Seal | undefined; readonly expected?: Seal };

// Few keys, so that histories meet themselves; two of them sort differently by bytes and by UTF-16 units.
const key = fc.constantFrom("a", "a/1", "a/2", "b", "\u{FF5E}", "\u{1F600}");
const range = fc.oneof(fc.constant(everything), key.map(keyRange), fc.constantFrom("a", "a/", "b", "\u{FF5E}", "zz").map(prefixRange), fc.record({ start: key, end: key }));
const ranges = fc.array(range, { minLength: 1, maxLength: 3 });
const requestKey = fc.constantFrom("r1", "r2", "r3");
const record: fc.Arbitrary<HistoryRecord> = fc.record({ kind: fc.constantFrom("state", "lease"), op: fc.constantFrom("set", "end"), subject: key });
const person = fc.constantFrom("ann", "bob");
const revision = fc.nat({ max: 40 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

const area = fc.constantFrom("notes", "b");
const term = fc.constantFrom("t", "t1", "\u{FF5E}", "\u{1F600}");
const index: fc.Arbitrary<IndexedText> = fc.record({
  area,
  terms: fc.uniqueArray(fc.tuple(term, fc.integer({ min: 1, max: 300 })), { maxLength: 3, selector: ([word]) => word }),
  length: fc.nat({ max: 9 }),
});

const check: fc.Arbitrary<Check> = fc.oneof(
  fc.record({ key, version: fc.nat({ max: 4 }) }),
  fc.record({ key, revision }),
  fc.record({ key, is: fc.constantFrom("absent" as const, "present" as const) }),
);
const write: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("put" as const),
      key,
      value: fc.oneof(fc.nat({ max: 9 }), fc.string({ maxLength: 3, unit: "binary" })),
      ttlMs: maybe(fc.integer({ min: 1, max: 60 })),
      record: maybe(record),
      lapse: maybe(record),
      index: fc.option(index, { nil: undefined, freq: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("delete" as const), key, record: maybe(record) }) },
);
const commit: fc.Arbitrary<Commit> = fc.record({
  checks: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(check, { maxLength: 2 }) }),
  writes: fc.uniqueArray(write, { maxLength: 4, selector: (item) => item.key }),
  writer: person,
  agent: maybe(person),
  request: fc.option(fc.record({ key: requestKey, fingerprint: fc.constantFrom("f1", "f1", "f2"), note: fc.constantFrom(null, "note", 7) }), { nil: undefined, freq: 4 }),
});
const readOptions: fc.Arbitrary<ReadOptions> = fc.record({
  at: maybe(revision),
  limit: maybe(fc.integer({ min: 1, max: 5 })),
  reverse: maybe(fc.boolean()),
  values: maybe(fc.boolean()),
});
const logQuery: fc.Arbitrary<LogQuery> = fc.record({
  ranges,
  after: maybe(revision),
  before: maybe(revision),
  reverse: maybe(fc.boolean()),
  limit: maybe(fc.integer({ min: 1, max: 8 })),
  recorded: maybe(fc.record({ kinds: maybe(fc.subarray(["state", "lease"])), writer: maybe(fc.constantFrom("ann", "bob", "holdfast")) })),
  values: maybe(fc.boolean()),
  previous: maybe(fc.boolean()),
  valuesBytesMax: maybe(fc.integer({ min: 1, max: 20 })),
  narrow: maybe(fc.boolean()),
  lenient: maybe(fc.boolean()),
});
const policy: fc.Arbitrary<RetentionPolicy> = fc.record({
  ageMs: fc.constantFrom(0, 30, 200, 1e12),
  revisions: fc.constantFrom(0, 1, 3, 10, 1e9),
  tombstones: fc.constantFrom(0, 1, 2, 1e6),
});

const dumpQuery: fc.Arbitrary<DumpQuery> = fc.oneof(
  fc.record({ part: fc.constant("log" as const), after: revision }),
  fc.record({ part: fc.constant("changes" as const), after: revision }),
  fc.record({ part: fc.constant("keys" as const), after: maybe(key) }),
  fc.record({ part: fc.constant("requests" as const), after: fc.record({ keptUntilMs: fc.constantFrom(0, startMs, startMs + limits.requestKeptMs), key: maybe(requestKey) }) }),
);
const seal: fc.Arbitrary<Seal> = fc.oneof(
  fc.integer({ min: startMs - 10, max: startMs + 100 }).map((untilMs): Seal => ({ state: "copying", untilMs, holds: { a: untilMs } })),
  fc.constantFrom<Seal>({ state: "moving", by: "a", to: "redis://elsewhere" }, { state: "moved", to: "redis://elsewhere" }, { state: "filling", progress: [1, "b"] }),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: fc.constant("commit" as const), batch: fc.array(commit, { minLength: 1, maxLength: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("clock" as const), ms: fc.oneof(fc.integer({ min: -30, max: 60 }), fc.constant(limits.requestKeptMs)) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("sweep" as const), limit: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const), policy }) },
  { weight: 1, arbitrary: fc.constant({ do: "position" } as const) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reindex" as const), keys: fc.uniqueArray(key, { minLength: 1, maxLength: 3 }), index, behind: fc.constantFrom(0, 0, 1) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("read" as const), ranges, options: readOptions }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("log" as const), query: logQuery }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("count" as const), range }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("request" as const), key: requestKey }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("search" as const),
      query: fc.record({ areas: fc.uniqueArray(area, { minLength: 1 }), terms: fc.uniqueArray(term, { minLength: 1 }) }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("dump" as const), query: dumpQuery }) },
);
/** A few steps under a seal, which others try to change, and which is then taken away again: most of a history should be free to happen. */
const sealed: fc.Arbitrary<Step[]> = fc
  .tuple(seal, maybe(seal), maybe(seal), fc.array(step, { maxLength: 4 }))
  .map(([put, theirs, expected, steps]): Step[] => [
    { do: "seal", seal: put },
    { do: "seal", seal: theirs, expected },
    { do: "dump", query: { part: "log", after: 0 } },
    ...steps,
    { do: "seal", seal: undefined, expected: put },
  ]);
export const history = fc
  .array(fc.oneof({ weight: 24, arbitrary: step.map((one) => [one]) }, { weight: 1, arbitrary: sealed }), { maxLength: 40, size: "max" })
  .map((steps) => steps.flat());

/** What is asked at the end of every history, whatever it did. */
export const closing: readonly Step[] = [
  { do: "read", ranges: [everything], options: {} },
  { do: "log", query: { ranges: [everything] } },
  { do: "log", query: { ranges: [everything], reverse: true, recorded: {} } },
  { do: "log", query: { ranges: [everything], previous: true } },
  ...[1, 2, 3].flatMap((limit): Step[] => [
    { do: "log", query: { ranges: [everything], limit, lenient: true } },
    { do: "log", query: { ranges: [everything], limit, reverse: true } },
  ]),
  { do: "count", range: everything },
  { do: "search", query: { areas: ["notes", "b"], terms: ["t", "t1", "\u{FF5E}", "\u{1F600}"] } },
  { do: "dump", query: { part: "log", after: 0 } },
  { do: "dump", query: { part: "keys" } },
  { do: "dump", query: { part: "requests", after: { keptUntilMs: 0 } } },
  ...Array.from({ length: 12 }, (_, at): Step => ({ do: "read", ranges: [everything], options: { at: at * 3 } })),
];

export async function answer(engine: Engine, clock: ManualClock, namespace: string, asked: Step): Promise<unknown> {
  try {
    switch (asked.do) {
      case "commit":
        return await engine.commit(namespace, asked.batch.map(prepareCommit));
      case "clock":
        return clock.advance(asked.ms);
      case "sweep":
        return await engine.sweep(namespace, asked.limit);
      case "compact":
        // Large enough for one go: where a smaller slice ends is the engine's own choice, and other tests look at that.
        return await engine.compact(namespace, asked.policy, 10_000);
      case "position":
        return await engine.position(namespace);
      case "reindex": {
        // Of the entries as they are, or (behind) as they were a revision ago.
        const { entries } = await engine.read(namespace, asked.keys.map(keyRange), { values: false });
        return await engine.reindex(
          namespace,
          entries.map(({ key: found, revision: at }) => ({ key: found, revision: at - asked.behind, index: asked.index })),
        );
      }
      case "read":
        return await engine.read(namespace, asked.ranges, asked.options);
      case "log":
        return await engine.log(namespace, asked.query);
      case "count":
        return await engine.count(namespace, asked.range);
      case "request":
        return await engine.readRequest(namespace, asked.key);
      case "search":
        return inOrder(await engine.search(namespace, asked.query));
      case "dump":
        return await engine.dump(namespace, asked.query);
      case "seal":
        return await engine.seal(namespace, asked.seal, asked.expected);
    }
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return { error: error.code };
  }
}

/** Which hit comes first is for the ranking to say, not for the engine. */
const inOrder = (answer: SearchAnswer): SearchAnswer => ({ ...answer, hits: answer.hits.toSorted((a, b) => (a.key < b.key ? -1 : 1)) });

/**
 * Any history must give the same answers on an engine as on the memory engine, step by step.
 * Each history has a namespace of its own in one store, so that hundreds of them cost no more than one opening.
 */
export function sameAnswers(engine: Engine, clock: ManualClock): fc.IAsyncPropertyWithHooks<[Step[]]> {
  const model = new MemoryEngine(clock);
  let run = 0;
  return fc.asyncProperty(history, async (steps) => {
    run += 1;
    clock.set(startMs);
    const namespace = `run ${run}`;
    for (const [i, asked] of steps.entries()) {
      const expected = await answer(model, clock, namespace, asked);
      // The clock is shared: moving it once is enough.
      if (asked.do === "clock") continue;
      expect({ step: i, asked: asked.do, answer: await answer(engine, clock, namespace, asked) }).toEqual({ step: i, asked: asked.do, answer: expected });
    }
    // Questions only: asked side by side, they cost a server little more than one.
    const all = (of: Engine) => Promise.all(closing.map(async (asked) => ({ asked, answer: await answer(of, clock, namespace, asked) })));
    expect(await all(engine)).toEqual(await all(model));
  });
}

/** Enough by far: every fault that is planted in the tests of this suite shows within 25. An engine that answers fast can afford more. */
export const frugalRuns = 30;

/** A failure prints the smallest history that still fails and the seed that finds it again. */
export function describeHistories(name: string, open: OpenEngine, runs = frugalRuns, seed = propertySeed): void {
  describe(`random histories on ${name}`, () => {
    test(`answer as the memory engine does, ${runs} times`, async () => {
      const { engine, clock } = await openFixture(open);
      await fc.assert(sameAnswers(engine, clock), { numRuns: runs, seed });
    });
  });
}
