import { expect, test } from "vitest";
import { limits } from "../../../src/store/limits.ts";
import { everything } from "../../../src/store/ranges.ts";
import type { OpenEngine } from "./fixture.ts";
import { allRows, codeOf, commit, commitBatch, commitOf, del, keysOf, liveKeys, openFixture, put } from "./fixture.ts";

export function atomicityCases(open: OpenEngine): void {
  test("all writes of a commit take effect at one revision", async () => {
    const { store } = await openFixture(open);
    await commit(store, [put("a"), put("b")]);
    const result = await commit(store, [put("a", 2), del("b"), put("c", 2)]);
    expect(result).toMatchObject({
      revision: 2,
      writes: [
        { version: 2, existed: true },
        { version: 1, existed: true },
        { version: 1, existed: false },
      ],
    });
    const { entries } = await store.read(everything);
    expect(entries.map((entry) => [entry.key, entry.revision])).toEqual([
      ["a", 2],
      ["c", 2],
    ]);
  });

  test("one failed check keeps every write out", async () => {
    const { store } = await openFixture(open);
    await commit(store, put("a"));
    const checks = [
      { key: "a", version: 1 },
      { key: "b", is: "present" },
    ] as const;
    expect(await store.commit(commitOf([put("a", 2), put("c"), del("a2")], { checks }))).toMatchObject({ ok: false, revision: 1 });
    expect(await liveKeys(store)).toEqual(["a"]);
    expect(await allRows(store)).toHaveLength(1);
  });

  test("the commits of a batch apply in order, each with its own checks, revision and answer", async () => {
    const { store, engine, clock } = await openFixture(open);
    const results = await commitBatch(engine, [
      commitOf(put("a", 1)),
      commitOf(put("a", 2), { checks: [{ key: "a", version: 1 }] }),
      commitOf(put("a", 3), { checks: [{ key: "a", version: 1 }] }),
      commitOf(del("nothing")),
      commitOf([del("a"), put("b")], { writer: "ann" }),
      commitOf(put("a", 4), { checks: [{ key: "a", is: "absent" }] }),
      commitOf(put("c"), { checks: [{ key: "b", revision: 3 }] }),
    ]);
    const atMs = clock.nowMs();
    expect(results).toMatchObject([
      { ok: true, revision: 1, writes: [{ version: 1, existed: false }], replayed: false, atMs },
      { ok: true, revision: 2, writes: [{ version: 2, existed: true }] },
      { ok: false, reason: "checks", revision: 2, atMs, failed: [{ check: { key: "a", version: 1 }, entry: { key: "a", version: 2, value: null, revision: 2 } }] },
      { ok: true, revision: 2, writes: [{ version: 0, existed: false }] },
      {
        ok: true,
        revision: 3,
        writes: [
          { version: 2, existed: true },
          { version: 1, existed: false },
        ],
      },
      { ok: true, revision: 4, writes: [{ version: 3, existed: false }] },
      { ok: true, revision: 5, writes: [{ version: 1, existed: false }] },
    ]);
    expect(await store.read(everything)).toMatchObject({ revision: 5, entries: [{ key: "a", value: 4, version: 3 }, { key: "b", writer: "ann" }, { key: "c" }] });
    expect(keysOf(await allRows(store))).toEqual(["a", "a", "a", "b", "a", "c"]);
  });

  test("a batch of which nothing changes the store leaves it as it was", async () => {
    const { store, engine } = await openFixture(open);
    await commit(store, put("a"));
    expect(await commitBatch(engine, [commitOf(del("x")), commitOf(put("a"), { checks: [{ key: "a", is: "absent" }] })])).toMatchObject([
      { ok: true, revision: 1 },
      { ok: false, revision: 1 },
    ]);
    expect(await commitBatch(engine, [])).toEqual([]);
    expect(await store.read(everything)).toMatchObject({ revision: 1 });
  });

  test("what an answer or an earlier snapshot said does not change with later commits", async () => {
    const { store } = await openFixture(open);
    await commit(store, put("a", { list: [1] }));
    const before = await store.read(everything);
    const copy = structuredClone(before);
    await commit(store, put("a", { list: [2] }));
    await commit(store, del("a"));
    expect(before).toEqual(copy);
  });

  test("a value is copied on its way in and on its way out", async () => {
    const { store } = await openFixture(open);
    const value = { list: [1] };
    await commit(store, put("a", value));
    value.list.push(2);
    const [first] = (await store.read(everything)).entries as unknown as [{ value: { list: number[] } }];
    expect(first.value).toEqual({ list: [1] });
    first.value.list.push(3);
    expect((await store.read(everything)).entries[0]?.value).toEqual({ list: [1] });
  });

  test("commits sent together each get a revision of their own, none lost, none shared", async () => {
    const { store } = await openFixture(open);
    const results = await Promise.all(Array.from({ length: 600 }, (_, i) => commit(store, [put(`k${i}`), put("shared", i)])));
    expect(results.map((result) => result.revision)).toEqual(Array.from({ length: 600 }, (_, i) => i + 1));
    expect(await store.count(everything)).toBe(601);
    expect((await store.read({ start: "shared" })).entries[0]).toMatchObject({ version: 600, value: 599 });
  });

  test("a commit may carry as many writes and checks as the limits say, and no more", async () => {
    const { store } = await openFixture(open);
    const writes = Array.from({ length: limits.commitWritesMax }, (_, i) => put(`k${i}`));
    const checks = Array.from({ length: limits.commitChecksMax }, (_, i) => ({ key: `k${i}`, is: "absent" }) as const);
    expect(await commit(store, writes, { checks })).toMatchObject({ revision: 1 });
    expect(await codeOf(store.commit(commitOf([...writes, put("one-more")])))).toBe("limit_exceeded");
    expect(await codeOf(store.commit(commitOf([], { checks: [...checks, { key: "one-more", is: "absent" }] })))).toBe("limit_exceeded");
    expect(await codeOf(store.commit(commitOf([put("twice"), del("twice")])))).toBe("invalid_input");
    expect((await store.read(everything)).revision).toBe(1);
  });
}
