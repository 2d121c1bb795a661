import { expect, test } from "vitest";
import { everything, keyRange, prefixRange } from "../../../src/store/ranges.ts";
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

  test("expiry is judged by the time of the revision that is asked for", async () => {
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
