import { expect, test } from "vitest";
import { limits } from "../../../src/store/limits.ts";
import { everything } from "../../../src/store/ranges.ts";
import type { OpenEngine } from "./fixture.ts";
import { allRows, codeOf, commit, commitBatch, commitOf, compactAll, del, namespace, openFixture, put, sweepAll } from "./fixture.ts";

const request = (key: string, fingerprint = "f1", note: null | { said: string } = null) => ({ key, fingerprint, note });

export function requestKeyCases(open: OpenEngine): void {
  test("the same key and arguments give the first answer again and change nothing", async () => {
    const { store, clock } = await openFixture(open);
    const first = await commit(store, [put("a", 1, { ttlMs: 500 }), del("none")], { request: request("r1", "f1", { said: "hello" }) });
    expect(first).toMatchObject({ revision: 1, replayed: false, note: { said: "hello" } });
    clock.advance(20);
    await commit(store, put("a", 2));
    const second = await commit(store, [put("a", 1, { ttlMs: 500 }), del("none")], { request: request("r1", "f1", { said: "ignored" }) });
    expect(second).toEqual({ ...first, replayed: true });
    expect(await store.read(everything)).toMatchObject({ revision: 2, entries: [{ value: 2, version: 2 }] });
  });

  test("the same key with other arguments is refused and changes nothing", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, put("a", 1), { request: request("r1", "f1") });
    expect(await store.commit(commitOf(put("a", 2), { request: request("r1", "f2") }))).toEqual({ ok: false, reason: "request_key_reused", revision: 1, atMs: clock.nowMs() });
    expect(await allRows(store)).toHaveLength(1);
  });

  test("a known key answers before any check is looked at", async () => {
    const { store } = await openFixture(open);
    const guarded = commitOf(put("a", 1), { checks: [{ key: "a", is: "absent" }], request: request("r1") });
    const first = await store.commit(guarded);
    expect(await store.commit(guarded)).toEqual({ ...first, replayed: true });
  });

  test("a refused commit does not use up its key", async () => {
    const { store } = await openFixture(open);
    const guarded = commitOf(put("a", 1), { checks: [{ key: "b", is: "present" }], request: request("r1") });
    expect(await store.commit(guarded)).toMatchObject({ ok: false, reason: "checks" });
    expect(await store.readRequest("r1")).toBeUndefined();
    await commit(store, put("b"));
    expect(await store.commit(guarded)).toMatchObject({ ok: true, revision: 2, replayed: false });
  });

  test("a commit that changes nothing keeps its key and its answer, and takes no revision", async () => {
    const { store } = await openFixture(open);
    await commit(store, put("a"));
    const first = await commit(store, [], { request: request("r1", "f1", { said: "nothing to do" }) });
    expect(first).toMatchObject({ revision: 1, writes: [], replayed: false });
    const second = await commit(store, del("absent"), { request: request("r2") });
    expect(second).toMatchObject({ revision: 1, writes: [{ version: 0, existed: false }] });
    await commit(store, put("absent"));
    expect(await commit(store, [], { request: request("r1") })).toEqual({ ...first, replayed: true });
    expect(await commit(store, del("absent"), { request: request("r2") })).toEqual({ ...second, replayed: true });
    expect(await store.read(everything)).toMatchObject({ revision: 2, entries: [{ key: "a" }, { key: "absent" }] });
  });

  test("the stored answer can be read by its key", async () => {
    const { store } = await openFixture(open);
    expect(await store.readRequest("r1")).toBeUndefined();
    const first = await commit(store, put("a"), { request: request("r1", "f1", { said: "hello" }) });
    expect(await store.readRequest("r1")).toMatchObject({ fingerprint: "f1", outcome: first });
  });

  test("within one batch the second use of a key is a replay of the first", async () => {
    const { store, engine } = await openFixture(open);
    const results = await commitBatch(engine, [
      commitOf(put("a", 1), { request: request("r1") }),
      commitOf(put("b", 1)),
      commitOf(put("a", 1), { request: request("r1") }),
      commitOf(put("a", 2), { request: request("r1", "f2") }),
    ]);
    expect(results).toMatchObject([
      { ok: true, revision: 1, replayed: false },
      { ok: true, revision: 2 },
      { ok: true, revision: 1, replayed: true },
      { ok: false, reason: "request_key_reused", revision: 2 },
    ]);
    expect(await allRows(store)).toHaveLength(2);
  });

  test("many retries sent at once have one effect", async () => {
    const { store } = await openFixture(open);
    const results = await Promise.all(Array.from({ length: 50 }, () => commit(store, put("a"), { request: request("r1") })));
    expect(results.filter((result) => !result.replayed)).toHaveLength(1);
    expect(new Set(results.map((result) => result.revision))).toEqual(new Set([1]));
    expect((await store.read(everything)).entries).toMatchObject([{ version: 1 }]);
  });

  test("a key is kept for the stated time, through sweeps and compactions, and then forgotten", async () => {
    const { store, engine, clock } = await openFixture(open);
    const first = await commit(store, put("a"), { request: request("r1") });
    clock.advance(limits.requestKeptMs - 1);
    await commit(store, put("b"));
    await sweepAll(engine);
    await compactAll(engine, { ageMs: 0, revisions: 0, tombstones: 0 });
    expect(await commit(store, put("a"), { request: request("r1") })).toEqual({ ...first, replayed: true });
    clock.advance(1);
    expect(await store.readRequest("r1")).toBeUndefined();
    expect(await commit(store, put("a"), { request: request("r1", "f2") })).toMatchObject({ revision: 3, replayed: false, writes: [{ version: 2 }] });
    clock.advance(limits.requestKeptMs);
    await engine.sweep(namespace, 100);
    expect(await store.readRequest("r1")).toBeUndefined();
  });

  test("a note and a key may hold any text, but a key must be short and well-formed", async () => {
    const { store } = await openFixture(open);
    const note = { said: "\0\ud800 \u{1F600} \u202e" };
    const key = "ключ \u{1F600} %_*[\\\"'";
    await commit(store, put("a"), { request: { key, fingerprint: "f1", note } });
    expect((await store.readRequest(key))?.outcome.note).toEqual(note);
    expect(await commit(store, put("a"), { request: { key, fingerprint: "f1", note: null } })).toMatchObject({ replayed: true, note });
    for (const bad of ["", "a\0b", "\ud800", "x".repeat(limits.requestKeyBytesMax + 1)])
      expect(await codeOf(store.commit(commitOf(put("b"), { request: request(bad) })))).toBe("invalid_input");
    await commit(store, put("c"), { request: request("x".repeat(limits.requestKeyBytesMax)) });
    expect((await store.read(everything)).entries.map((entry) => entry.key)).toEqual(["a", "c"]);
  });
}
