import { expect, test } from "vitest";
import { baseAbove } from "../../../src/store/engine-rules.ts";
import { limits } from "../../../src/store/limits.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { everything } from "../../../src/store/ranges.ts";
import type { Engine, IndexedText, NamespaceFacts, Revision, Seal, StoredLogRow, StoredRecord } from "../../../src/store/store.ts";
import type { Fixture, OpenEngine } from "./fixture.ts";
import { abortedAtEnd, allRows, codeOf, commit, commitBatch, commitOf, compactAll, compactedRevision, del, liveKeys, namespace, openFixture, put, sweepAll } from "./fixture.ts";
import { loadDump, reseal, wholeDump } from "./whole-dump.ts";

const index = (...terms: string[]): { index: IndexedText } => ({ index: { area: "notes", terms: terms.map((term, i) => [term, 100 + i]), length: terms.length } });
const filling: Seal = { state: "filling", progress: { stage: "log" } };
const moving: Seal = { state: "moving", by: "one", to: "memory:" };
const copying = (untilMs: number): Seal => ({ state: "copying", untilMs, holds: { one: untilMs } });
const record = (subject: string) => ({ kind: "state", op: "set", subject });

/** A namespace in which everything has happened once: deletes, expiry swept and not, search text, request keys, a compacted past. */
async function lived({ store, engine, clock }: Fixture): Promise<void> {
  await commit(store, [put("gone", 1), put("kept", { a: [1, "\u{1F600}\ud800"] }, { record: record("kept"), ...index("old") }), put("\u{FF5E}", 0), put("\u{1F600}", 0)]);
  await commit(store, [del("gone"), put("kept", 2, { record: record("kept") })]);
  await commit(store, put("lapsed", 1, { ttlMs: 5, lapse: record("lapsed") }));
  clock.advance(10);
  await sweepAll(engine);
  await compactAll(engine, { revisions: 1 });
  await commit(store, put("back", 1));
  await commit(store, del("back", { record: record("back") }), { agent: "helper" });
  await commit(store, put("back", 3, { ttlMs: 100_000, lapse: record("back") }));
  await commit(store, [put("found", "text", index("alpha", "beta", "\u{1F600}")), put("expired", 1, { ttlMs: 5, lapse: record("expired"), ...index("alpha") })]);
  await commit(store, put("asked", 1, { ttlMs: 50_000 }), { request: { key: "first", fingerprint: "f", note: { said: ["x"] } } });
  await commit(store, del("nothing there"), { request: { key: "second", fingerprint: "g", note: null } });
  clock.advance(10);
}

/** Answers that must not differ between a namespace and its copy. */
async function answersOf(engine: Engine, { clock }: Fixture): Promise<unknown> {
  const store = openNamespaceStore(engine, namespace, clock);
  const { revision } = await store.read(everything);
  const compacted = await compactedRevision(engine);
  const past = [];
  for (let at: Revision = compacted; at <= revision; at += 1) past.push(await store.read(everything, { at }));
  const search = await store.search({ areas: ["notes"], terms: ["alpha", "beta", "old"] });
  return {
    now: await store.read(everything),
    past,
    log: await allRows(store, { after: compacted }),
    narrow: await allRows(store, { narrow: true, reverse: true, lenient: true }),
    search: { ...search, hits: search.hits.toSorted((a, b) => (a.key < b.key ? -1 : 1)) },
    requests: [await store.readRequest("first"), await store.readRequest("second"), await store.readRequest("third")],
    count: await store.count(everything),
  };
}

export function movingCases(open: OpenEngine): void {
  test("a dump loaded into another store makes it equal: records, facts, every past, search, request keys", async () => {
    const source = await openFixture(open);
    await lived(source);
    const dump = await wholeDump(source.engine, namespace);
    expect(new Set(dump.records.map(({ kind }) => kind))).toEqual(new Set(["log", "key", "request"]));
    const copy = await openFixture(open);
    copy.clock.set(source.clock.nowMs());
    await loadDump(copy.engine, namespace, dump);
    expect(await wholeDump(copy.engine, namespace)).toEqual(dump);
    expect(await answersOf(copy.engine, copy)).toEqual(await answersOf(source.engine, source));
    expect(await copy.engine.namespaces()).toEqual([namespace]);
  });

  test("and both continue alike: versions, revisions, repeated requests, expiry, sweeping and compaction", async () => {
    const source = await openFixture(open);
    await lived(source);
    const copy = await openFixture(open);
    copy.clock.set(source.clock.nowMs());
    await loadDump(copy.engine, namespace, await wholeDump(source.engine, namespace));
    const goOn = async ({ store, engine, clock }: Fixture): Promise<unknown> => {
      const results = await commitBatch(engine, [
        commitOf([put("gone", 9), put("back", 9), put("expired", 9, index("beta")), del("kept"), put("found", 2)]),
        commitOf(put("asked", 2), { request: { key: "first", fingerprint: "f", note: null } }),
        commitOf(put("asked", 2), { request: { key: "first", fingerprint: "other", note: null } }),
      ]);
      clock.advance(200_000);
      const swept = await sweepAll(engine);
      const removed = await compactAll(engine, { revisions: 2, tombstones: 1 });
      const fresh = await commit(store, [put("never there", 1), put("gone", 10), put("kept", 10)]);
      return { results, swept, removed, fresh, dump: await wholeDump(engine, namespace) };
    };
    expect(await goOn(copy)).toEqual(await goOn(source));
  });

  test("loading in many small steps, each of them twice, gives the same", async () => {
    const source = await openFixture(open);
    await lived(source);
    const dump = await wholeDump(source.engine, namespace);
    const copy = await openFixture(open);
    copy.clock.set(source.clock.nowMs());
    await reseal(copy.engine, namespace, filling);
    for (let i = 0; i < dump.records.length; i += 2) for (const _ of [1, 2]) await copy.engine.load(namespace, dump.records.slice(i, i + 2));
    for (const _ of [1, 2]) await copy.engine.load(namespace, dump.records, dump.facts);
    await reseal(copy.engine, namespace, undefined);
    expect(await wholeDump(copy.engine, namespace)).toEqual(dump);
    expect(await answersOf(copy.engine, copy)).toEqual(await answersOf(source.engine, source));
  });

  test("a walk that others write through is made whole by the changes since", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, [put("a", 1, index("one")), put("b", 1), put("c", 1, index("one"))]);
    const log = await engine.dump(namespace, { part: "log", after: 0 });
    await commit(store, [put("a", 2, index("two")), del("b"), put("d", 1)]);
    await commit(store, [del("d"), put("e", 1, index("three"))], { request: { key: "r", fingerprint: "f", note: 1 } });
    const keys = await engine.dump(namespace, { part: "keys" });
    await commit(store, [put("b", 2), put("c", 2), put("d", 5), del("a")]);
    const requests = await engine.dump(namespace, { part: "requests", after: { keptUntilMs: 0 } });
    const copy = await openFixture(open);
    copy.clock.set(clock.nowMs());
    await reseal(copy.engine, namespace, filling);
    for (const page of [log, keys, requests]) await copy.engine.load(namespace, page.records);
    const changes = await engine.dump(namespace, { part: "changes", after: log.facts.revision });
    expect(changes.done).toBe(true);
    await copy.engine.load(namespace, changes.records, changes.facts);
    await reseal(copy.engine, namespace, undefined);
    expect(await wholeDump(copy.engine, namespace)).toEqual(await wholeDump(engine, namespace));
    // The chains of keys that came and went during the walk are whole too.
    expect(await answersOf(copy.engine, copy)).toEqual(await answersOf(engine, { store, engine, clock } as Fixture));
  });

  test("pages are bounded, cut no revision in two, and together are everything once", async () => {
    const { engine } = await openFixture(open);
    const big = "x".repeat(limits.valueBytesMax - 10);
    await commitBatch(
      engine,
      Array.from({ length: 12 }, (_, i) =>
        commitOf(
          Array.from({ length: 100 }, (__, j) => put(`k${i}-${j}`, j)),
          { request: { key: `r${i}`, fingerprint: "f", note: i } },
        ),
      ),
    );
    for (let i = 0; i < 6; i += 1) await commitBatch(engine, [commitOf([put(`big${i}-a`, big), put(`big${i}-b`, big)])]);
    const page = await engine.dump(namespace, { part: "log", after: 0 });
    expect(page.done).toBe(false);
    expect(page.records).toHaveLength(limits.dumpRecordsMax);
    const bulky = await engine.dump(namespace, { part: "changes", after: 12 });
    expect(bulky.done).toBe(false);
    expect(bulky.records.length).toBeLessThan(12);
    const { records } = await wholeDump(engine, namespace);
    const rows = records.filter((one): one is StoredLogRow => one.kind === "log");
    expect(rows.map(({ revision, seq }) => revision * 1_000 + seq)).toEqual(rows.map(({ revision, seq }) => revision * 1_000 + seq).toSorted((a, b) => a - b));
    expect(new Set(rows.map(({ key }) => key)).size).toBe(1_212);
    expect(records.filter(({ kind }) => kind === "key")).toHaveLength(1_212);
    expect(records.filter(({ kind }) => kind === "request")).toHaveLength(12);
  });

  test("rows out of order are refused, and only a namespace being filled takes any", async () => {
    const source = await openFixture(open);
    await commit(source.store, put("a", 1));
    await commit(source.store, put("a", 2));
    const { records, facts } = await wholeDump(source.engine, namespace);
    const { engine, store } = await openFixture(open);
    expect(await codeOf(engine.load(namespace, records, facts))).toBe("invalid_input");
    for (const seal of [moving, { state: "moved", to: "x" }, copying(Number.MAX_SAFE_INTEGER)] as const) {
      await reseal(engine, namespace, seal);
      expect(await codeOf(engine.load(namespace, records, facts))).toBe("invalid_input");
      expect(await codeOf(engine.clear(namespace))).toBe("invalid_input");
    }
    await reseal(engine, namespace, filling);
    await engine.load(namespace, [records[1] as StoredRecord]);
    expect(await codeOf(engine.load(namespace, [records[0] as StoredRecord]))).toBe("invalid_input");
    await engine.clear(namespace);
    expect(await engine.namespaces()).toEqual([]);
    expect(await store.read(everything)).toMatchObject({ revision: 0, entries: [] });
  });

  test("cleared, a half-filled namespace was never there", async () => {
    const source = await openFixture(open);
    await lived(source);
    const { records, facts } = await wholeDump(source.engine, namespace);
    const { engine, store, clock } = await openFixture(open);
    clock.set(source.clock.nowMs());
    await reseal(engine, namespace, filling);
    await engine.load(namespace, records, { ...facts, base: 5_000_000_000, gaps: [[facts.revision, 5_000_000_000]] });
    await engine.clear(namespace);
    const fresh = await openFixture(open);
    expect(await wholeDump(engine, namespace)).toEqual(await wholeDump(fresh.engine, namespace));
    expect(await store.search({ areas: ["notes"], terms: ["alpha"] })).toMatchObject({ documents: 0, frequencies: [0], hits: [] });
    expect(await commit(store, put("found", 1), { request: { key: "first", fingerprint: "f", note: null } })).toMatchObject({
      revision: 1,
      replayed: false,
      writes: [{ version: 1 }],
    });
  });

  test("cleared and filled again, from a history that is further or not as far, it is not taken for one that went back", async () => {
    const source = await openFixture(open);
    for (let i = 1; i <= 3; i += 1) await commit(source.store, put("theirs", i));
    const dump = await wholeDump(source.engine, namespace);
    for (const revisions of [2, 5]) {
      const { engine, store, clock } = await openFixture(open);
      clock.set(source.clock.nowMs());
      for (let i = 1; i <= revisions; i += 1) await commit(store, put("mine", i));
      await reseal(engine, namespace, { state: "moved", to: "elsewhere" });
      await reseal(engine, namespace, filling);
      await engine.clear(namespace);
      await loadDump(engine, namespace, dump);
      expect(await commit(store, put("theirs", 4))).toMatchObject({ revision: 4, writes: [{ version: 4 }] });
      expect((await engine.dump(namespace, { part: "keys" })).facts).toMatchObject({ base: 0, gaps: [] });
    }
  });

  test("seals refuse what they must: copying only compaction, moving writes, moved and filling everything", async () => {
    const { engine, store, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 5 }));
    await commit(store, put("b", 1));
    await commit(store, put("b", 2));
    clock.advance(10);
    const reads: (() => Promise<unknown>)[] = [
      () => store.position(),
      () => store.read(everything),
      () => store.log({ ranges: [everything] }),
      () => store.count(everything),
      () => store.search({ areas: ["x"], terms: ["x"] }),
      () => store.readRequest("r"),
    ];
    const compact = () => engine.compact(namespace, { ageMs: 0, revisions: 1, tombstones: 0 }, 100);

    await reseal(engine, namespace, moving);
    expect(await codeOf(store.commit(commitOf(put("c", 1))))).toBe("unavailable");
    for (const read of reads) await read();
    for (const [seal, code] of [
      [{ state: "moved", to: "postgres://db/x" }, "moved"],
      [filling, "unavailable"],
    ] as const) {
      await reseal(engine, namespace, seal);
      for (const read of reads) expect(await codeOf(read())).toBe(code);
      expect(await codeOf(store.commit(commitOf(put("c", 1))))).toBe(code);
      expect(await engine.sweep(namespace, 10)).toBe(0);
      expect(await compact()).toMatchObject({ removed: 0 });
      expect((await engine.dump(namespace, { part: "log", after: 0 })).facts).toMatchObject({ revision: 3, seal });
      await engine.health(namespace);
      expect(await engine.namespaces()).toEqual([namespace]);
    }

    await reseal(engine, namespace, copying(clock.nowMs() + 1_000));
    expect(await engine.sweep(namespace, 10)).toBe(1);
    await commit(store, put("b", 3));
    expect(await compact()).toMatchObject({ removed: 0 });
    clock.advance(1_000);
    expect((await compact()).removed).toBeGreaterThan(0);
    await reseal(engine, namespace, undefined);
    expect((await engine.dump(namespace, { part: "keys" })).facts.seal).toBeUndefined();
  });

  test("a seal is changed only from the one that is expected; otherwise it stays, and the refusal says what was found", async () => {
    const { engine, store } = await openFixture(open);
    const others: Seal = { state: "moving", by: "another", to: "memory:" };
    const sealOf = async () => (await engine.dump(namespace, { part: "keys" })).facts.seal;
    expect(await codeOf(engine.seal(namespace, moving, others))).toBe("conflict");
    expect(await sealOf()).toBeUndefined();
    await commit(store, put("a", 1));
    await engine.seal(namespace, moving);
    for (const [seal, expected] of [
      [undefined, undefined],
      [undefined, others],
      [copying(5), undefined],
      [
        { state: "moved", to: "memory:" },
        { state: "moving", by: "one", to: "redis://elsewhere" },
      ],
      [moving, copying(5)],
    ] as const) {
      await expect(engine.seal(namespace, seal, expected)).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining("moving to memory:"),
        details: { found: "moving" },
      });
      expect(await sealOf()).toEqual(moving);
      expect(await codeOf(store.commit(commitOf(put("a", 2))))).toBe("unavailable");
    }
    // In whatever order its members stand.
    await engine.seal(namespace, { state: "filling", progress: { b: [1, { d: 1, c: 2 }], a: "\u{1F600}" } }, { to: "memory:", by: "one", state: "moving" });
    await engine.seal(namespace, undefined, { progress: { a: "\u{1F600}", b: [1, { c: 2, d: 1 }] }, state: "filling" });
    await commit(store, put("a", 2));
  });

  test("of several who change the same seal at once, one succeeds", async () => {
    const { engine } = await openFixture(open);
    const names = ["a", "b", "c", "d"];
    const results = await Promise.all(
      names.map((by) =>
        engine.seal(namespace, { state: "moving", by, to: "memory:" }).then(
          () => by,
          (error: { code: string }) => error.code,
        ),
      ),
    );
    expect(results.filter((result) => result === "conflict")).toHaveLength(3);
    expect((await engine.dump(namespace, { part: "keys" })).facts.seal).toMatchObject({ by: results.find((result) => result !== "conflict") });
  });

  test("records are taken only from the one who fills the namespace", async () => {
    const source = await openFixture(open);
    await commit(source.store, put("a", 1));
    const { records, facts } = await wholeDump(source.engine, namespace);
    const { engine } = await openFixture(open);
    await engine.seal(namespace, { state: "filling", by: "second", progress: { by: "first" } });
    for (const given of [facts, undefined]) expect(await codeOf(engine.load(namespace, records, given, "first"))).toBe("conflict");
    expect((await wholeDump(engine, namespace)).records).toEqual([]);
    await engine.load(namespace, records, facts, "second");
    expect((await wholeDump(engine, namespace)).records).toEqual(records);
    await reseal(engine, namespace, filling);
    expect(await codeOf(engine.load(namespace, records, facts, "second"))).toBe("conflict");
  });

  test("a seal is of one namespace, and only the local message of a moved one names where to", async () => {
    const { engine, store, clock } = await openFixture(open);
    await reseal(engine, namespace, { state: "moved", to: "redis://elsewhere" });
    const refusal = { code: "moved", message: expect.not.stringContaining("redis:"), details: undefined, localMessage: expect.stringContaining("redis://elsewhere") };
    await expect(store.read(everything)).rejects.toMatchObject(refusal);
    await commit(openNamespaceStore(engine, "other", clock), put("a", 1));
  });

  test("a watcher of a namespace that moves away hears of it", async () => {
    const { engine, store } = await openFixture(open);
    await commit(store, put("a", 1));
    const watching = store.watch(everything, 0, abortedAtEnd().signal)[Symbol.asyncIterator]();
    expect((await watching.next()).value).toMatchObject({ revision: 1 });
    const next = watching.next();
    await reseal(engine, namespace, moving);
    await reseal(engine, namespace, { state: "moved", to: "memory:" });
    expect(await codeOf(next)).toBe("moved");
  });

  /** The history goes back to where it is and on above `base`, as after an old backup. */
  const leap = async (engine: Engine): Promise<NamespaceFacts> => {
    const { facts } = await engine.dump(namespace, { part: "keys" });
    const base = baseAbove(facts.revision, facts.revision, 5);
    const leapt = { ...facts, revision: base, base, gaps: [...facts.gaps, [facts.revision, base] as const] };
    await reseal(engine, namespace, filling);
    await engine.load(namespace, [], leapt);
    await reseal(engine, namespace, undefined);
    return leapt;
  };

  test("a namespace that has used up its revisions takes no more commits, and says so", async () => {
    const { engine, store } = await openFixture(open);
    await commit(store, put("a", 1));
    const { facts } = await engine.dump(namespace, { part: "keys" });
    const last = limits.revisionMax - 1;
    await reseal(engine, namespace, filling);
    await engine.load(namespace, [], { ...facts, revision: last, base: last, gaps: [[facts.revision, last]] });
    await reseal(engine, namespace, undefined);
    expect(await commit(store, put("a", 2))).toMatchObject({ revision: limits.revisionMax, writes: [{ version: limits.revisionMax }] });
    expect(await codeOf(store.commit(commitOf(put("a", 3))))).toBe("limit_exceeded");
    expect((await store.read(everything)).entries).toMatchObject([{ key: "a", value: 2, version: limits.revisionMax, revision: limits.revisionMax }]);
  });

  test("after a leap every revision and version stands above it, and the past before it is still there", async () => {
    const { engine, store } = await openFixture(open);
    await commit(store, [put("a", 1), put("gone", 1)]);
    await commit(store, del("gone"));
    const { base } = await leap(engine);
    expect(base).toBe(100_000_002);
    expect((await store.read(everything)).revision).toBe(base);
    const first = await commit(store, [put("a", 2), put("gone", 2), put("new", 1)]);
    expect(first).toMatchObject({ revision: base + 1, writes: [{ version: base + 1 }, { version: base + 1 }, { version: base + 1 }] });
    expect(await commit(store, put("a", 3))).toMatchObject({ revision: base + 2, writes: [{ version: base + 2 }] });
    expect((await store.read(everything, { at: 1 })).entries.map(({ key }) => key)).toEqual(["a", "gone"]);
    expect((await store.read(everything, { at: base })).entries.map(({ key }) => key)).toEqual(["a"]);
    expect((await allRows(store)).map(({ revision }) => revision)).toEqual([1, 1, 2, base + 1, base + 1, base + 1, base + 2]);
    expect((await engine.health(namespace)).facts).toMatchObject({ revision: base + 2, base, gaps: [[2, base]] });
  });

  test("who comes back from a revision that was lost finds it compacted; who stood where it continued misses nothing", async () => {
    const { engine, store } = await openFixture(open);
    await commit(store, put("a", 1));
    await commit(store, put("a", 2));
    const { base } = await leap(engine);
    await commit(store, put("a", 3));
    for (const after of [3, 500, base - 1]) {
      expect(await codeOf(store.log({ ranges: [everything], after }))).toBe("compacted");
      expect(await codeOf(store.read(everything, { at: after }))).toBe("compacted");
      expect(await codeOf(engine.dump(namespace, { part: "changes", after }))).toBe("compacted");
      const lost = store.watch(everything, after, abortedAtEnd().signal);
      expect(await codeOf(lost[Symbol.asyncIterator]().next())).toBe("compacted");
    }
    for (const after of [2, base]) {
      const watching = store.watch(everything, after, abortedAtEnd().signal);
      expect((await watching[Symbol.asyncIterator]().next()).value).toMatchObject({ revision: base + 1 });
    }
  });

  test("a leap does not age history: as many revisions are kept as before", async () => {
    const { engine, store } = await openFixture(open);
    for (let i = 1; i <= 5; i += 1) await commit(store, put("a", i));
    await leap(engine);
    await commit(store, put("a", 6));
    await compactAll(engine, { ageMs: 0, revisions: 4 });
    // Of six revisions the last four: 3, 4, 5 and the one above the base.
    expect(await compactedRevision(engine)).toBe(2);
    expect(await liveKeys(store)).toEqual(["a"]);
  });
}

/** For engines that keep what they are told. */
export function movingRestartCases(open: OpenEngine): void {
  test("seals, leaps and what was loaded survive closing and opening", async () => {
    const source = await openFixture(open);
    await lived(source);
    const dump = await wholeDump(source.engine, namespace);
    const base = 3_000_000_000;
    const facts = { ...dump.facts, revision: base, base, gaps: [[dump.facts.revision, base] as const] };
    const fixture = await openFixture(open);
    fixture.clock.set(source.clock.nowMs());
    await reseal(fixture.engine, namespace, filling);
    await fixture.engine.load(namespace, dump.records, facts);
    const filled = await fixture.reopen();
    expect(await codeOf(filled.store.read(everything))).toBe("unavailable");
    expect((await filled.engine.dump(namespace, { part: "keys" })).facts.seal).toEqual(filling);
    await reseal(filled.engine, namespace, { state: "moved", to: "memory:" });
    const moved = await filled.reopen();
    expect(await codeOf(moved.store.commit(commitOf(put("a", 1))))).toBe("moved");
    await reseal(moved.engine, namespace, undefined);
    const opened = await moved.reopen();
    expect(await wholeDump(opened.engine, namespace)).toEqual({ ...dump, facts });
    expect(await commit(opened.store, put("kept", 1))).toMatchObject({ revision: base + 1, writes: [{ version: base + 1 }] });
  });
}
