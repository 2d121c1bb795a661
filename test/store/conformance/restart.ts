import { expect, test } from "vitest";
import { everything } from "../../../src/store/ranges.ts";
import type { OpenEngine } from "./fixture.ts";
import { allRows, commit, compactAll, compactedRevision, del, openFixture, put, sweepAll } from "./fixture.ts";

export function restartCases(open: OpenEngine): void {
  test("entries, log, times and the past are the same after opening again", async () => {
    const fixture = await openFixture(open);
    for (let i = 0; i < 20; i += 1) {
      await commit(fixture.store, [put(`k${i % 4}`, { i }, i % 3 === 0 ? { ttlMs: 100 } : {}), del(`k${(i + 1) % 4}`)], { agent: `agent ${i}` });
      fixture.clock.advance(3);
    }
    const ask = async ({ store }: typeof fixture) => [await store.read(everything), await store.read(everything, { at: 11 }), await allRows(store), await store.count(everything)];
    const before = await ask(fixture);
    expect(await ask(await fixture.reopen())).toEqual(before);
  });

  test("revisions, versions, tombstones and the version floor continue where they were", async () => {
    const fixture = await openFixture(open);
    for (let i = 0; i < 3; i += 1) await commit(fixture.store, put("floor"));
    await commit(fixture.store, put("tomb"));
    await commit(fixture.store, del("floor"));
    await commit(fixture.store, del("tomb"));
    await commit(fixture.store, put("live"));
    await compactAll(fixture.engine, { revisions: 1, tombstones: 1 });
    const compacted = await compactedRevision(fixture.engine);
    const { store, engine } = await fixture.reopen();
    expect(await compactedRevision(engine)).toBe(compacted);
    expect(await commit(store, [put("floor"), put("tomb"), put("live"), put("new")])).toMatchObject({
      revision: 8,
      writes: [{ version: 4 }, { version: 2 }, { version: 2 }, { version: 4 }],
    });
  });

  test("request keys are known after opening again", async () => {
    const fixture = await openFixture(open);
    const request = { key: "r1", fingerprint: "f1", note: { said: "hello" } };
    const first = await commit(fixture.store, put("a"), { request });
    const { store } = await fixture.reopen();
    expect(await commit(store, put("a"), { request })).toEqual({ ...first, replayed: true });
    expect(await store.commit({ writer: "tester", writes: [put("a")], request: { ...request, fingerprint: "f2" } })).toMatchObject({ ok: false, reason: "request_key_reused" });
  });

  test("the clock of the last commit is kept: a host clock set back before opening again revives nothing", async () => {
    const fixture = await openFixture(open);
    await commit(fixture.store, put("a", 1, { ttlMs: 10, lapse: { kind: "state", op: "expire", subject: "a" } }));
    fixture.clock.advance(10);
    const { atMs } = await commit(fixture.store, put("b"));
    fixture.clock.advance(-3_600_000);
    const { store, engine } = await fixture.reopen();
    expect(await store.read(everything)).toMatchObject({ nowMs: atMs, entries: [{ key: "b" }] });
    expect(await sweepAll(engine)).toBe(1);
    expect((await allRows(store, { recorded: {} })).map((row) => row.op)).toEqual(["expire"]);
  });

  test("a watcher continues from the revision it had", async () => {
    const fixture = await openFixture(open);
    for (let i = 0; i < 5; i += 1) await commit(fixture.store, put("a", i));
    const { store } = await fixture.reopen();
    await commit(store, put("a", 5));
    const controller = new AbortController();
    const seen: number[] = [];
    for await (const change of store.watch(everything, 3, controller.signal)) {
      seen.push(change.revision);
      if (change.revision === 6) break;
    }
    expect(seen).toEqual([4, 5, 6]);
  });
}
