import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { HoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine, NamespaceFacts, StoredRecord } from "../../src/store/store.ts";
import { readFacts } from "../../src/transfer/stores/change-seal.ts";
import { moveNamespace, undoMove } from "../../src/transfer/stores/move-namespace.ts";
import { retryingEngine } from "../../src/transfer/stores/retrying-engine.ts";
import { codeOf } from "../store/conformance/fixture.ts";
import { reseal, wholeDump } from "../store/conformance/whole-dump.ts";
import { override } from "../support/faulty-engine.ts";
import { manualClock } from "../support/manual-clock.ts";
import { fillNamespace, moveOptions, namespace } from "./moving-stores.ts";

async function openPair(commits = 2_500) {
  const clock = manualClock();
  const [source, destination] = [new MemoryEngine(clock), new MemoryEngine(clock)];
  await fillNamespace(source, clock, commits);
  return { clock, source, destination, store: openNamespaceStore(source, namespace, clock) };
}

test("a moved namespace is equal, open there, and closed here with the way to it", async () => {
  const { clock, source, destination, store } = await openPair();
  const before = await wholeDump(source, namespace);
  const moved = await moveNamespace(moveOptions(source, destination, clock));
  expect(moved).toMatchObject({ ok: true, facts: { revision: before.facts.revision } });
  expect(await wholeDump(destination, namespace)).toEqual(before);
  await expect(store.read(everything)).rejects.toMatchObject({ code: "moved", localMessage: expect.stringContaining("memory:there") });
  const there = openNamespaceStore(destination, namespace, clock);
  expect(await there.commit({ writer: "w", writes: [{ op: "put", key: "k/1", value: 1 }] })).toMatchObject({ ok: true, revision: before.facts.revision + 1 });
});

test("a copy leaves the source open, and both go their own ways", async () => {
  const { clock, source, destination, store } = await openPair();
  expect(await moveNamespace(moveOptions(source, destination, clock, { staysOpen: true }))).toMatchObject({ ok: true, pausedMs: 0 });
  expect((await readFacts({ engine: source, namespace })).seal).toBeUndefined();
  for (const one of [store, openNamespaceStore(destination, namespace, clock)]) await one.commit({ writer: "w", writes: [{ op: "put", key: "new", value: 1 }] });
  expect(await wholeDump(destination, namespace)).toEqual(await wholeDump(source, namespace));
});

test("what others write meanwhile comes along, and every answer they got is true in the end", async () => {
  const { clock, source, destination, store } = await openPair();
  const answered = new Map<string, number>();
  let refusals = 0;
  let stopped = false;
  const write = async (name: string): Promise<void> => {
    for (let n = 1; !stopped; n += 1) {
      try {
        const result = await store.commit({ writer: name, writes: [{ op: "put", key: `live/${name}`, value: n }], request: { key: `${name}-${n}`, fingerprint: "f", note: n } });
        if (result.ok) answered.set(name, n);
      } catch (error) {
        refusals += 1;
        if ((error as { code?: string }).code === "moved") return;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const writers = ["a", "b", "c", "d"].map(write);
  const moved = await moveNamespace(moveOptions(source, destination, clock));
  await Promise.all(writers);
  stopped = true;
  expect(moved).toMatchObject({ ok: true });
  expect(refusals).toBeGreaterThan(3);
  expect(await wholeDump(destination, namespace)).toEqual(await wholeDump(source, namespace));
  const there = openNamespaceStore(destination, namespace, clock);
  for (const [name, n] of answered) {
    expect(n).toBeGreaterThan(1);
    expect((await there.read({ start: `live/${name}`, end: `live/${name}~` })).entries[0]?.value).toBe(n);
    expect(await there.readRequest(`${name}-${n}`)).toMatchObject({ outcome: { ok: true, note: n } });
  }
});

describe("broken off", () => {
  test("at any of its steps, the same again ends it, and nothing differs", async () => {
    for (let steps = 0; ; steps += 1) {
      const { clock, source, destination } = await openPair(1_200);
      const before = await wholeDump(source, namespace);
      const limit = { left: steps };
      const first = await moveNamespace(moveOptions(dying(source, limit), dying(destination, limit), clock)).then(
        () => "ended",
        () => "killed",
      );
      expect(await moveNamespace(moveOptions(source, destination, clock)).catch((error: Error) => error.message)).toEqual(
        first === "ended" ? expect.stringContaining("was moved already") : expect.objectContaining({ ok: true }),
      );
      expect(await wholeDump(destination, namespace)).toEqual(before);
      expect((await readFacts({ engine: destination, namespace })).seal).toBeUndefined();
      expect((await readFacts({ engine: source, namespace })).seal?.state).toBe("moved");
      if (first === "ended") {
        expect(steps).toBeGreaterThan(10);
        return;
      }
    }
  });

  test("at any of its steps, undoing it leaves an empty destination and an open source", async () => {
    for (let steps = 0; ; steps += 1) {
      const { clock, source, destination, store } = await openPair(1_200);
      const limit = { left: steps };
      const options = moveOptions(source, destination, clock);
      const ended = await moveNamespace({ ...options, source: { engine: dying(source, limit), namespace }, destination: { engine: dying(destination, limit), namespace } }).then(
        () => true,
        () => false,
      );
      if (ended) {
        expect(steps).toBeGreaterThan(10);
        expect(await codeOf(undoMove(options))).toBe("invalid_input");
        return;
      }
      await undoMove(options);
      expect(await destination.namespaces()).toEqual([]);
      await store.commit({ writer: "w", writes: [{ op: "put", key: "goes on", value: 1 }] });
      expect(await undoMove(options)).toBe("nothing to undo");
    }
  });

  test("and the source compacted meanwhile: it begins again instead of mixing two pasts", async () => {
    const { clock, source, destination } = await openPair(1_200);
    await expect(moveNamespace(moveOptions(source, dying(destination, { left: 4 }), clock))).rejects.toThrow("killed");
    clock.advance(100_000);
    expect((await source.compact(namespace, { ageMs: 0, revisions: 100, tombstones: 0 }, 100_000)).removed).toBeGreaterThan(0);
    expect(await moveNamespace(moveOptions(source, destination, clock))).toMatchObject({ ok: true });
    expect(await wholeDump(destination, namespace)).toEqual(await wholeDump(source, namespace));
  });

  test("the source takes writes again at once when a step fails", async () => {
    const { clock, source, destination, store } = await openPair(100);
    const full = override(destination, { load: () => Promise.reject(new Error("disk full")) });
    await expect(moveNamespace(moveOptions(source, full, clock))).rejects.toThrow("disk full");
    expect(await store.commit({ writer: "w", writes: [{ op: "put", key: "a", value: 1 }] })).toMatchObject({ ok: true });
    expect((await readFacts({ engine: source, namespace })).seal).toBeUndefined();
  });
});

/** Dies after so many changes to either store, as a process does: nothing after that happens, not even putting things right. */
function dying(engine: Engine, limit: { left: number }): Engine {
  const step = <T>(work: () => Promise<T>): Promise<T> => {
    limit.left -= 1;
    return limit.left < 0 ? Promise.reject(new Error("killed")) : work();
  };
  return override(engine, {
    load: (...args) => step(() => engine.load(...args)),
    seal: (...args) => step(() => engine.seal(...args)),
    clear: (name) => step(() => engine.clear(name)),
  });
}

test("a store that is away for a while delays a move and does not end it; one that stays away does", async () => {
  const { clock, source, destination } = await openPair(600);
  let asked = 0;
  const away = (): boolean => {
    asked += 1;
    return asked % 3 === 0;
  };
  const flaky = (engine: Engine): Engine =>
    override(engine, {
      dump: (...args) => (away() ? Promise.reject(new HoldfastError("unavailable", "away")) : engine.dump(...args)),
      // It happened, and the answer was lost.
      load: async (...args) => {
        await engine.load(...args);
        if (away()) throw new HoldfastError("outcome_unknown", "lost");
      },
      seal: async (...args) => {
        await engine.seal(...args);
        if (away()) throw new HoldfastError("outcome_unknown", "lost");
      },
    });
  const moving = moveNamespace(moveOptions(retryingEngine(flaky(source), clock), retryingEngine(flaky(destination), clock), clock));
  let done = false;
  void moving.finally(() => {
    done = true;
  });
  while (!done) await clock.advanceBy(100);
  expect(await moving).toMatchObject({ ok: true });
  expect(asked).toBeGreaterThan(15);
  const gone = retryingEngine(override(source, { dump: () => Promise.reject(new HoldfastError("unavailable", "gone")) }), clock);
  const asking = codeOf(readFacts({ engine: gone, namespace }));
  await clock.advanceBy(70_000);
  expect(await asking).toBe("unavailable");
});

describe("refused, with nothing changed:", () => {
  test("a destination that has data, is being filled by another job, or was itself moved away", async () => {
    const { clock, source, destination } = await openPair(50);
    await fillNamespace(destination, clock, 3);
    const before = await wholeDump(destination, namespace);
    expect(await codeOf(moveNamespace(moveOptions(source, destination, clock)))).toBe("invalid_input");
    expect(await wholeDump(destination, namespace)).toEqual(before);
    await reseal(destination, namespace, { state: "moved", to: "x" });
    await expect(moveNamespace(moveOptions(source, destination, clock))).rejects.toThrow("was moved away from there, to x");
    await reseal(destination, namespace, { state: "filling", progress: { by: "somebody else" } });
    await expect(moveNamespace(moveOptions(source, destination, clock))).rejects.toThrow("another job (somebody else)");
    await expect(undoMove(moveOptions(source, destination, clock))).rejects.toThrow("another job (somebody else)");
    expect((await readFacts({ engine: source, namespace })).seal).toBeUndefined();
  });

  test("the same store under another name", async () => {
    const { clock, source, store } = await openPair(50);
    await expect(moveNamespace(moveOptions(source, override(source, {}), clock))).rejects.toThrow("FROM and TO are the same store");
    await store.commit({ writer: "w", writes: [{ op: "put", key: "a", value: 1 }] });
  });

  test("a source that is gone already or not whole itself", async () => {
    const { clock, source, destination } = await openPair(50);
    await reseal(source, namespace, { state: "moved", to: "elsewhere" });
    await expect(moveNamespace(moveOptions(source, destination, clock))).rejects.toThrow("was moved already, to elsewhere");
    await reseal(source, namespace, { state: "filling", progress: null });
    await expect(moveNamespace(moveOptions(source, destination, clock))).rejects.toThrow("still being filled");
    expect(await destination.namespaces()).toEqual([]);
  });
});

describe("the comparison finds a planted fault:", () => {
  type Change = (records: readonly StoredRecord[], facts: NamespaceFacts | undefined) => readonly [readonly StoredRecord[], NamespaceFacts | undefined];
  const only = (change: (record: StoredRecord) => readonly StoredRecord[]): Change => {
    let done = false;
    return (records, facts) => [
      records.flatMap((record) => {
        if (done) return [record];
        const changed = change(record);
        done = changed.length !== 1 || changed[0] !== record;
        return changed;
      }),
      facts,
    ];
  };
  const ofFacts =
    (change: Partial<NamespaceFacts>): Change =>
    (records, facts) => [records, facts && { ...facts, ...change }];
  const faults: [string, Change][] = [
    ["a log row that is missing", only((record) => (record.kind === "log" && record.revision === 700 ? [] : [record]))],
    ["a value that is another", only((record) => (record.kind === "log" && record.revision === 700 ? [{ ...record, json: '{"i":0}' }] : [record]))],
    ["a version that is another", only((record) => (record.kind === "log" && record.revision === 700 ? [{ ...record, version: record.version + 1 }] : [record]))],
    ["a writer that is another", only((record) => (record.kind === "log" && record.revision === 700 ? [{ ...record, writer: "x" }] : [record]))],
    ["an expiry that is lost", only((record) => (record.kind === "log" && record.expiresAtMs !== undefined ? [{ ...record, expiresAtMs: undefined }] : [record]))],
    ["a lapse that is lost", only((record) => (record.kind === "log" && record.lapse !== undefined ? [{ ...record, lapse: undefined }] : [record]))],
    ["a text that cannot be found", only((record) => (record.kind === "key" && record.index !== undefined ? [{ ...record, index: undefined }] : [record]))],
    ["a request key that is missing", only((record) => (record.kind === "request" ? [] : [record]))],
    ["an answer that is another", only((record) => (record.kind === "request" ? [{ ...record, outcome: { ...record.outcome, note: "another" } }] : [record]))],
    ["a version floor that is lower", ofFacts({ versionFloor: 0 })],
    ["a clock that goes back", ofFacts({ clockMs: 0 })],
    ["a gap that is forgotten", ofFacts({ gaps: [] })],
  ];
  test.each(faults)("%s", async (_name, change) => {
    const { clock, source, destination, store } = await openPair(1_000);
    await reseal(source, namespace, { state: "filling", progress: null });
    const { facts } = await source.dump(namespace, { part: "keys" });
    await source.load(namespace, [], { ...facts, versionFloor: 7, gaps: [[0, 1]], base: 1 });
    await reseal(source, namespace, undefined);
    const faulty = override(destination, { load: (name, ...given) => destination.load(name, ...change(...(given as Parameters<Change>))) });
    const refuted = await moveNamespace(moveOptions(source, faulty, clock));
    expect(refuted).toMatchObject({ ok: false, difference: expect.stringMatching(/./) });
    // The source goes on; what was filled is not taken for a store, and the same again, without the fault, ends well.
    await store.commit({ writer: "w", writes: [{ op: "put", key: "goes on", value: 1 }] });
    expect(await codeOf(openNamespaceStore(destination, namespace, clock).read(everything))).toBe("unavailable");
    expect(await moveNamespace(moveOptions(source, destination, clock))).toMatchObject({ ok: true });
  });

  test("one of the last changes that is lost while writers wait", async () => {
    const { clock, source, destination, store } = await openPair(500);
    // The last commit comes when everything has been compared: at the moment the source is sealed.
    const late = override(source, {
      seal: async (name, seal, expected) => {
        if (seal?.state === "moving") await store.commit({ writer: "late", writes: [{ op: "put", key: "late", value: 1 }] });
        await source.seal(name, seal, expected);
      },
    });
    const losing = override(destination, {
      load: (name, records, facts) =>
        destination.load(
          name,
          records.filter((record) => record.key !== "late"),
          facts,
        ),
    });
    expect(await moveNamespace(moveOptions(late, losing, clock))).toMatchObject({ ok: false, difference: expect.stringContaining("late") });
    expect((await readFacts({ engine: source, namespace })).seal).toBeUndefined();
  });
});
