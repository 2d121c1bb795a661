import { expect, test } from "vitest";
import { everything, keyRange, prefixRange, rangeAfter } from "../../../src/store/ranges.ts";
import { readTogether } from "../../../src/store/read-together.ts";
import type { Snapshot } from "../../../src/store/store.ts";
import type { OpenEngine } from "./fixture.ts";
import { codeOf, commit, compactAll, del, keysOf, openFixture, put, sweepAll } from "./fixture.ts";

export function timeTravelCases(open: OpenEngine): void {
  test("reading at a revision gives what was there then: values, versions, writers, times", async () => {
    const { store, clock } = await openFixture(open);
    const snapshots: Snapshot[] = [await store.read(everything)];
    const record = async (): Promise<void> => {
      snapshots.push(await store.read(everything));
      clock.advance(3);
    };
    await commit(store, [put("a", 1), put("b", 1)], { writer: "ann" });
    await record();
    await commit(store, [put("a", 2), del("b")], { writer: "bob", agent: "x" });
    await record();
    await commit(store, [put("b", 3), put("c", 3)]);
    await record();
    await commit(store, [del("a"), del("b"), del("c")]);
    await record();
    for (const [at, snapshot] of snapshots.entries()) {
      const past = await store.read(everything, { at });
      expect(past).toEqual({ ...snapshot, nowMs: clock.nowMs() });
      expect(past.revision).toBe(at);
    }
  });

  test("expiry is judged by the time of the revision that is requested", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 10 }));
    clock.advance(9);
    await commit(store, put("b"));
    clock.advance(1);
    await commit(store, put("c"));
    clock.advance(50);
    await sweepAll(engine);
    const keysAt = async (at: number): Promise<string[]> => keysOf((await store.read(everything, { at })).entries);
    expect(await keysAt(1)).toEqual(["a"]);
    expect(await keysAt(2)).toEqual(["a", "b"]);
    expect(await keysAt(3)).toEqual(["b", "c"]);
    expect(await keysAt(4)).toEqual(["b", "c"]);
  });

  test("with a time given, expiry in the past is judged by that time, also of what was swept since", async () => {
    const { store, engine, clock } = await openFixture(open);
    const startMs = clock.nowMs();
    await commit(store, [put("a", 1, { ttlMs: 10 }), put("b", 1, { ttlMs: 20 }), put("c")]);
    clock.advance(50);
    await sweepAll(engine);
    await commit(store, del("c"));
    const keysAt = async (liveAtMs: number): Promise<string[]> => keysOf((await store.read(everything, { at: 1, liveAtMs })).entries);
    expect(await keysAt(startMs + 9)).toEqual(["a", "b", "c"]);
    expect(await keysAt(startMs + 10)).toEqual(["b", "c"]);
    expect(await keysAt(startMs + 20)).toEqual(["c"]);
    expect(await store.read(everything, { at: 1, liveAtMs: startMs + 10, limit: 1 })).toMatchObject({ entries: [{ key: "b" }], more: true });
  });

  test("at the newest revision too, expiry is judged by its time or by the time given, not by the time of the read", async () => {
    const { store, clock } = await openFixture(open);
    const startMs = clock.nowMs();
    await commit(store, [put("a", 1, { ttlMs: 10 }), put("b", 1, { ttlMs: 20 }), put("c")]);
    clock.advance(50);
    const ranges = [keyRange("a"), everything];
    const keysAt = async (options: { readonly liveAtMs?: number; readonly limit?: number }): Promise<string[]> => keysOf((await store.read(ranges, { at: 1, ...options })).entries);
    expect(keysOf((await store.read(ranges)).entries)).toEqual(["c"]);
    expect(await keysAt({})).toEqual(["a", "a", "b", "c"]);
    expect(await keysAt({ liveAtMs: startMs + 10 })).toEqual(["b", "c"]);
    expect(await keysAt({ liveAtMs: startMs + 9, limit: 2 })).toEqual(["a", "a"]);
    expect(keysOf((await store.read(keyRange("b"), { at: 1, liveAtMs: startMs + 19 })).entries)).toEqual(["b"]);
  });

  test("reads that belong together are of one revision and one moment, whatever is written, deleted or expires between them", async () => {
    const { store, engine, clock } = await openFixture(open);
    await readTogether(store, async (together) => {
      expect((await together.read(everything)).entries).toEqual([]);
      await commit(store, put("a", "later"));
      expect(await together.read(everything)).toMatchObject({ revision: 0, entries: [] });
    });
    await commit(store, [put("a", "old"), put("b", "old"), put("c", "old", { ttlMs: 10 }), put("d", "old", { ttlMs: 10 })]);
    const before = await store.read(everything);
    await readTogether(store, async (together) => {
      const first = await together.read(everything, { limit: 1 });
      clock.advance(10);
      await sweepAll(engine);
      await commit(store, [put("a", "new"), del("b"), put("bb", "new")]);
      const rest = await together.read(rangeAfter(everything, "a"));
      expect([...first.entries, ...rest.entries]).toEqual(before.entries);
      expect([rest.revision, rest.nowMs]).toEqual([before.revision, before.nowMs]);
      expect(await Promise.all([together.read(keyRange("a")), together.read(keyRange("bb"))])).toMatchObject([{ entries: [{ value: "old" }] }, { entries: [] }]);
    });
    expect(keysOf((await store.read(everything)).entries)).toEqual(["a", "bb"]);
  });

  test("reads that belong together begin again when their revision is compacted away between them", async () => {
    const { store, engine } = await openFixture(open);
    await commit(store, [put("a", 1), put("b", 1)]);
    let begun = 0;
    const values = await readTogether(store, async (together) => {
      begun += 1;
      const [a] = (await together.read(keyRange("a"))).entries;
      if (begun === 1) {
        await commit(store, [put("a", 2), put("b", 2)]);
        await compactAll(engine, { revisions: 0 });
      }
      const [b] = (await together.read(keyRange("b"))).entries;
      return [a?.value, b?.value];
    });
    expect([begun, values]).toEqual([2, [2, 2]]);
  });

  test("limit, reverse, several ranges and single keys work in the past as in the present", async () => {
    const { store } = await openFixture(open);
    await commit(
      store,
      ["a1", "a2", "b1", "b2"].map((key) => put(key, "old")),
    );
    await commit(store, [put("a1", "new"), del("a2"), del("b1"), put("c", "new")]);
    const past = { at: 1 };
    expect(await store.read(everything, { ...past, limit: 3 })).toMatchObject({ entries: [{ key: "a1" }, { key: "a2" }, { key: "b1" }], more: true });
    expect(await store.read(everything, { ...past, limit: 4 })).toMatchObject({ more: false });
    expect(keysOf((await store.read(everything, { ...past, reverse: true, limit: 2 })).entries)).toEqual(["b2", "b1"]);
    expect(keysOf((await store.read([prefixRange("b"), prefixRange("a")], past)).entries)).toEqual(["b1", "b2", "a1", "a2"]);
    expect((await store.read(keyRange("a1"), past)).entries).toMatchObject([{ value: "old", version: 1, revision: 1 }]);
    expect((await store.read(keyRange("c"), past)).entries).toEqual([]);
  });

  test("a revision that has not happened is refused, one that is no longer kept says compacted", async () => {
    const { store, engine } = await openFixture(open);
    for (let i = 0; i < 5; i += 1) await commit(store, put("a", i));
    expect(await codeOf(store.read(everything, { at: 6 }))).toBe("invalid_input");
    await compactAll(engine, { revisions: 2 });
    expect(await codeOf(store.read(everything, { at: 2 }))).toBe("compacted");
    expect((await store.read(everything, { at: 3 })).entries).toMatchObject([{ value: 2, version: 3 }]);
    expect((await store.read(everything, { at: 5 })).entries).toMatchObject([{ value: 4, version: 5 }]);
  });

  test("what is still kept reads the same after a compaction as before it", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, [put("short", 1, { ttlMs: 10 }), put("long", 1, { ttlMs: 1_000 }), put("b")]);
    clock.advance(100);
    // The last row of the compaction's target only says that a key is gone; its time still decides what had expired by then.
    await commit(store, del("b"));
    clock.advance(100);
    await commit(store, put("c"));
    const before = await Promise.all([2, 3].map((at) => store.read(everything, { at })));
    await compactAll(engine, { revisions: 1 });
    expect(await Promise.all([2, 3].map((at) => store.read(everything, { at })))).toEqual(before);
    expect(keysOf(before[0]?.entries ?? [])).toEqual(["long"]);
  });
}
