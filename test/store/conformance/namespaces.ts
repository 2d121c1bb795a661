import { expect, test } from "vitest";
import { limits } from "../../../src/store/limits.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { everything } from "../../../src/store/ranges.ts";
import type { OpenEngine } from "./fixture.ts";
import { allRows, commit, namespace, openFixture, put } from "./fixture.ts";

export function namespaceCases(open: OpenEngine): void {
  test("each namespace has its own entries, revisions, log and request keys", async () => {
    const { store, engine, clock } = await openFixture(open);
    const other = openNamespaceStore(engine, "other", clock);
    const request = { key: "r", fingerprint: "f", note: null };
    await commit(store, put("a", "here"), { request });
    await commit(store, put("a", "here"));
    expect(await commit(other, put("a", "there"), { request })).toMatchObject({ revision: 1, replayed: false, writes: [{ version: 1 }] });
    expect((await store.read(everything)).entries).toMatchObject([{ value: "here", version: 2 }]);
    expect((await other.read(everything)).entries).toMatchObject([{ value: "there", version: 1 }]);
    expect(await allRows(other)).toHaveLength(1);
    expect(await other.count(everything)).toBe(1);
  });

  test("a sweep, a compaction and a change signal stay within their namespace", async () => {
    const { store, engine, clock } = await openFixture(open);
    const other = openNamespaceStore(engine, "other", clock);
    let notifications = 0;
    const stop = engine.onChange("other", () => {
      notifications += 1;
    });
    await commit(other, put("a", 1, { ttlMs: 5 }));
    await commit(other, put("b"));
    const heard = notifications;
    expect(heard).toBeGreaterThan(0);
    await commit(store, put("a", 1, { ttlMs: 5 }));
    clock.advance(5);
    expect(await engine.sweep(namespace, 10)).toBe(1);
    await engine.compact(namespace, { ageMs: 0, revisions: 0, tombstones: 0 }, 100);
    expect(await allRows(other)).toHaveLength(2);
    expect(await engine.sweep("other", 10)).toBe(1);
    stop();
  });

  test("the list names every namespace that has a history, in byte order", async () => {
    const { engine, clock } = await openFixture(open);
    expect(await engine.namespaces()).toEqual([]);
    for (const name of ["b", "a/b", "é", "a", "Z"]) await commit(openNamespaceStore(engine, name, clock), put("k"));
    await openNamespaceStore(engine, "only read", clock).read(everything);
    expect(await engine.namespaces()).toEqual(["Z", "a", "a/b", "b", "é"]);
  });

  test("a name that could be mistaken or is too long is refused", async () => {
    const { engine, clock } = await openFixture(open);
    for (const bad of ["", " a", "-a", "/a", "a\0", "a\nb", "a%", "a'b", "\ud800", "x".repeat(limits.namespaceBytesMax + 1)])
      expect(() => openNamespaceStore(engine, bad, clock)).toThrowError(/namespace/);
    const longest = openNamespaceStore(engine, "x".repeat(limits.namespaceBytesMax), clock);
    await commit(longest, put("a"));
    expect(await longest.count(everything)).toBe(1);
  });

  test("health says the engine, what an acknowledged write survives, and plain facts", async () => {
    const { store, engine } = await openFixture(open);
    await commit(store, put("a"));
    const health = await engine.health(namespace);
    expect(health.engine).toBe(engine.name);
    expect(health.durability.length).toBeGreaterThan(10);
    expect(health.facts).toMatchObject({ revision: 1, compacted_revision: 0 });
    expect(JSON.parse(JSON.stringify(health))).toEqual(health);
  });
}
