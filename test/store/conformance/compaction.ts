import { expect, test } from "vitest";
import { everything } from "../../../src/store/ranges.ts";
import type { OpenEngine } from "./fixture.ts";
import { allRows, codeOf, commit, compactAll, compactedRevision, del, namespace, openFixture, put } from "./fixture.ts";

const never = Number.MAX_SAFE_INTEGER;

export function compactionCases(open: OpenEngine): void {
  test("history within the age or the count that the policy keeps stays", async () => {
    const { store, engine, clock } = await openFixture(open);
    for (let i = 0; i < 10; i += 1) {
      await commit(store, put("a", i));
      clock.advance(10);
    }
    expect(await compactAll(engine, {})).toBe(0);
    expect(await compactAll(engine, { ageMs: 100 })).toBe(0);
    expect(await compactAll(engine, { revisions: 10 })).toBe(0);
    expect(await compactedRevision(engine)).toBe(0);
    expect(await allRows(store)).toHaveLength(10);
  });

  test("what is older than the age goes", async () => {
    const { store, engine, clock } = await openFixture(open);
    for (let i = 0; i < 10; i += 1) {
      await commit(store, put("a", i));
      clock.advance(10);
    }
    // Revision n was made at (n - 1) * 10; it is 100 now. Older than 60 are the revisions 1 to 4; of the fourth the row stays as the state at that revision.
    expect(await compactAll(engine, { ageMs: 60 })).toBe(3);
    expect(await compactedRevision(engine)).toBe(4);
    expect((await allRows(store)).map((row) => row.revision)).toEqual([4, 5, 6, 7, 8, 9, 10]);
  });

  test("what is beyond the count of revisions goes, the newest value of every live key stays", async () => {
    const { store, engine } = await openFixture(open);
    await commit(store, [put("old", "still here"), put("gone")]);
    await commit(store, del("gone"));
    for (let i = 0; i < 8; i += 1) await commit(store, put("a", i));
    const before = await store.read(everything);
    await compactAll(engine, { revisions: 3 });
    expect(await compactedRevision(engine)).toBe(7);
    expect(await store.read(everything)).toEqual(before);
    expect((await allRows(store)).map((row) => [row.revision, row.key])).toEqual([
      [1, "old"],
      [7, "a"],
      [8, "a"],
      [9, "a"],
      [10, "a"],
    ]);
  });

  test("the log before the compacted revision is refused, unless what is left will do", async () => {
    const { store, engine } = await openFixture(open);
    for (let i = 0; i < 6; i += 1) await commit(store, [put("a", i), put(`k${i}`)]);
    await compactAll(engine, { revisions: 2 });
    expect(await codeOf(store.log({ ranges: [everything], after: 3 }))).toBe("compacted");
    expect(await codeOf(store.log({ ranges: [everything], after: 0 }))).toBe("compacted");
    expect(await codeOf(store.log({ ranges: [everything], after: 0, narrow: true }))).toBe("compacted");
    expect((await store.log({ ranges: [everything], after: 4 })).rows.map((row) => row.key)).toEqual(["a", "k4", "a", "k5"]);
    expect((await store.log({ ranges: [everything], after: 0, lenient: true })).rows.map((row) => row.key)).toEqual(["k0", "k1", "k2", "a", "k3", "a", "k4", "a", "k5"]);
    expect((await store.log({ ranges: [everything], reverse: true })).rows).toHaveLength(9);
  });

  test("many small slices end where one large one does, and every slice keeps the store right", async () => {
    const build = async (): Promise<Awaited<ReturnType<typeof openFixture>>> => {
      const fixture = await openFixture(open);
      for (let i = 0; i < 40; i += 1) {
        await commit(fixture.store, [put(`k${i % 5}`, i, i % 7 === 0 ? { ttlMs: 3 } : {}), del(`k${(i + 2) % 5}`)]);
        fixture.clock.advance(1);
      }
      return fixture;
    };
    const whole = await build();
    const sliced = await build();
    const policy = { ageMs: never, revisions: 5, tombstones: never };
    const total = await compactAll(whole.engine, policy);
    let removed = 0;
    for (let slices = 0; slices < 60; slices += 1) {
      removed += (await sliced.engine.compact(namespace, policy, 3)).removed;
      expect(await sliced.store.read(everything)).toEqual(await whole.store.read(everything));
      const from = await compactedRevision(sliced.engine);
      for (const at of [from, from + 1, 37]) if (at >= 35) expect(await sliced.store.read(everything, { at })).toEqual(await whole.store.read(everything, { at }));
    }
    expect(await compactedRevision(sliced.engine)).toBe(await compactedRevision(whole.engine));
    expect(await allRows(sliced.store)).toEqual(await allRows(whole.store));
    expect(removed).toBe(total);
  });

  test("a slice takes about its limit, not the whole log", async () => {
    const { store, engine } = await openFixture(open);
    for (let i = 0; i < 100; i += 1) await commit(store, put("a", i));
    const { removed, more } = await engine.compact(namespace, { ageMs: never, revisions: 1, tombstones: never }, 10);
    expect(removed).toBeGreaterThan(0);
    expect(removed).toBeLessThanOrEqual(10);
    expect(more).toBe(true);
    expect((await allRows(store)).length).toBe(100 - removed);
  });

  test("a slice in which every row is still needed says that there is more to look at", async () => {
    const { store, engine } = await openFixture(open);
    for (let i = 0; i < 30; i += 1) await commit(store, put(`live-${i}`, i));
    const policy = { ageMs: never, revisions: 1, tombstones: never };
    expect(await engine.compact(namespace, policy, 10)).toEqual({ removed: 0, more: true });
    expect(await compactedRevision(engine)).toBe(10);
    expect(await engine.compact(namespace, policy, 100)).toEqual({ removed: 0, more: false });
    expect(await compactedRevision(engine)).toBe(29);
  });

  test("an expired entry that no sweep has met yet survives compaction and still lapses once", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 5, lapse: { kind: "state", op: "expire", subject: "a" } }));
    for (let i = 0; i < 5; i += 1) await commit(store, put("b", i));
    clock.advance(5);
    await compactAll(engine, { revisions: 1 });
    expect(await engine.sweep(namespace, 10)).toBe(1);
    expect((await allRows(store, { recorded: {} })).map((row) => [row.key, row.op, row.version])).toEqual([["a", "expire", 1]]);
    expect(await commit(store, put("a"))).toMatchObject({ writes: [{ version: 2, existed: false }] });
  });

  test("compacting everything leaves the live entries and the counting as they were", async () => {
    const { store, engine } = await openFixture(open);
    await commit(store, [put("a"), put("b")]);
    await commit(store, [put("a", 2), del("b")]);
    await compactAll(engine, { revisions: 0, tombstones: 0 });
    expect(await store.read(everything)).toMatchObject({ revision: 2, entries: [{ key: "a", value: 2, version: 2, revision: 2 }] });
    expect(await commit(store, [put("a"), put("b")])).toMatchObject({ revision: 3, writes: [{ version: 3 }, { version: 2 }] });
    expect((await allRows(store, { after: 2 })).map((row) => row.key)).toEqual(["a", "b"]);
  });
}
