import { expect, test } from "vitest";
import { everything } from "../../../src/store/ranges.ts";
import type { OpenEngine } from "./fixture.ts";
import { allRows, commit, compactAll, del, openFixture, put, sweepAll } from "./fixture.ts";

export function versionCases(open: OpenEngine): void {
  test("revisions are 1, 2, 3 without gaps, versions count per key", async () => {
    const { store } = await openFixture(open);
    expect(await commit(store, [put("a"), put("b")])).toMatchObject({
      revision: 1,
      writes: [
        { version: 1, existed: false },
        { version: 1, existed: false },
      ],
    });
    expect(await commit(store, put("a"))).toMatchObject({ revision: 2, writes: [{ version: 2, existed: true }] });
    expect(await commit(store, put("b"))).toMatchObject({ revision: 3, writes: [{ version: 2, existed: true }] });
  });

  test("a version is never given twice: not after a delete", async () => {
    const { store } = await openFixture(open);
    await commit(store, put("a"));
    await commit(store, put("a"));
    expect(await commit(store, del("a"))).toMatchObject({ writes: [{ version: 2, existed: true }] });
    expect(await commit(store, put("a"))).toMatchObject({ writes: [{ version: 3, existed: false }] });
    expect(await commit(store, del("a"))).toMatchObject({ writes: [{ version: 3, existed: true }] });
    expect(await commit(store, put("a"))).toMatchObject({ writes: [{ version: 4, existed: false }] });
  });

  test("a version is never given twice: not after an expiry, swept or not", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, [put("swept", 1, { ttlMs: 10 }), put("met", 1, { ttlMs: 10 })]);
    clock.advance(10);
    expect(await commit(store, put("met"))).toMatchObject({ writes: [{ version: 2, existed: false }] });
    expect(await sweepAll(engine)).toBe(1);
    expect(await commit(store, put("swept"))).toMatchObject({ writes: [{ version: 2, existed: false }] });
  });

  test("a version is never given twice: not when the deleted keys' own memory is compacted away", async () => {
    const { store, engine } = await openFixture(open);
    for (let i = 0; i < 5; i += 1) await commit(store, put("old"));
    await commit(store, put("young"));
    await commit(store, put("kept"));
    await commit(store, del("old"));
    await commit(store, del("young"));
    await commit(store, del("kept"));
    await commit(store, put("last"));
    await compactAll(engine, { revisions: 1, tombstones: 1 });
    // "kept" is the youngest tombstone and remembered by itself; the others share one floor, the highest version among them.
    expect(await commit(store, put("kept"))).toMatchObject({ writes: [{ version: 2 }] });
    expect(await commit(store, put("old"))).toMatchObject({ writes: [{ version: 6 }] });
    expect(await commit(store, put("young"))).toMatchObject({ writes: [{ version: 6 }] });
    expect(await commit(store, put("new"))).toMatchObject({ writes: [{ version: 6, existed: false }] });
    expect(await commit(store, put("last"))).toMatchObject({ writes: [{ version: 2, existed: true }] });
  });

  test("tombstones are kept while the log still shows the deletion", async () => {
    const { store, engine } = await openFixture(open);
    for (let i = 0; i < 3; i += 1) await commit(store, put("a"));
    await commit(store, del("a"));
    await compactAll(engine, { tombstones: 0 });
    expect(await commit(store, put("b"))).toMatchObject({ writes: [{ version: 1 }] });
    expect(await commit(store, put("a"))).toMatchObject({ writes: [{ version: 4 }] });
  });

  test("a commit that changes nothing takes no revision and leaves no row", async () => {
    const { store } = await openFixture(open);
    await commit(store, put("a"));
    expect(await commit(store, [del("x"), del("y")])).toMatchObject({
      revision: 1,
      writes: [
        { version: 0, existed: false },
        { version: 0, existed: false },
      ],
    });
    expect(await commit(store, [])).toMatchObject({ revision: 1, writes: [] });
    expect(await commit(store, [], { checks: [{ key: "a", is: "present" }] })).toMatchObject({ revision: 1 });
    expect(await commit(store, [del("x"), put("b")])).toMatchObject({
      revision: 2,
      writes: [
        { version: 0, existed: false },
        { version: 1, existed: false },
      ],
    });
    expect(await allRows(store)).toHaveLength(2);
  });

  test("writing the same value again is a change with a version and a revision of its own", async () => {
    const { store } = await openFixture(open);
    await commit(store, put("a", 1));
    expect(await commit(store, put("a", 1))).toMatchObject({ revision: 2, writes: [{ version: 2, existed: true }] });
  });

  test("a refused commit, a sweep with nothing to do and a compaction take no revision", async () => {
    const { store, engine } = await openFixture(open);
    await commit(store, put("a"));
    await store.commit({ writer: "tester", writes: [put("a")], checks: [{ key: "a", version: 9 }] });
    await sweepAll(engine);
    await compactAll(engine, { revisions: 1 });
    expect((await store.read(everything)).revision).toBe(1);
  });

  test("the creation time stays through updates and is new after a delete", async () => {
    const { store, clock } = await openFixture(open);
    const bornMs = clock.nowMs();
    await commit(store, put("a"));
    clock.advance(7);
    await commit(store, put("a"));
    expect((await store.read(everything)).entries[0]).toMatchObject({ createdAtMs: bornMs, updatedAtMs: bornMs + 7 });
    await commit(store, del("a"));
    clock.advance(7);
    await commit(store, put("a"));
    expect((await store.read(everything)).entries[0]).toMatchObject({ createdAtMs: bornMs + 14, updatedAtMs: bornMs + 14 });
  });
}
