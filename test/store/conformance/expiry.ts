import { expect, test } from "vitest";
import { limits } from "../../../src/store/limits.ts";
import { everything } from "../../../src/store/ranges.ts";
import { systemWriter } from "../../../src/store/store.ts";
import type { OpenEngine } from "./fixture.ts";
import { allRows, codeOf, commit, commitOf, del, liveKeys, namespace, openFixture, put, sweepAll } from "./fixture.ts";

const lapse = { kind: "state", op: "expire", subject: "a" };

export function expiryCases(open: OpenEngine): void {
  test("an entry is there until the last millisecond of its time and gone with the next", async () => {
    const { store, clock } = await openFixture(open);
    const result = await commit(store, put("a", 1, { ttlMs: 100 }));
    const expiresAtMs = clock.nowMs() + 100;
    expect(result.writes[0]?.expiresAtMs).toBe(expiresAtMs);
    clock.advance(99);
    expect((await store.read(everything)).entries).toMatchObject([{ key: "a", expiresAtMs }]);
    expect(await store.count(everything)).toBe(1);
    clock.advance(1);
    expect((await store.read(everything)).entries).toEqual([]);
    expect(await store.count(everything)).toBe(0);
  });

  test("a fraction of a millisecond is rounded up: never gone before its time", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 1.25 }));
    clock.advance(1);
    expect(await liveKeys(store)).toEqual(["a"]);
    clock.advance(1);
    expect(await liveKeys(store)).toEqual([]);
  });

  test("a write without a time to live clears the earlier one, a write with one starts again", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, [put("a", 1, { ttlMs: 10 }), put("b", 1, { ttlMs: 10 })]);
    clock.advance(5);
    await commit(store, [put("a", 2), put("b", 2, { ttlMs: 10 })]);
    clock.advance(9);
    expect(await liveKeys(store)).toEqual(["a", "b"]);
    clock.advance(1);
    expect((await store.read(everything)).entries).toMatchObject([{ key: "a" }]);
    expect((await store.read(everything)).entries[0]?.expiresAtMs).toBeUndefined();
  });

  test("a write that meets an expired entry first logs its expiry, by the system, in the same revision", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 10, lapse, record: { ...lapse, op: "set" } }), { agent: "planner" });
    clock.advance(11);
    const result = await commit(store, [put("z"), put("a", 2)]);
    expect(result).toMatchObject({ revision: 2, writes: [{ version: 1 }, { version: 2, existed: false }] });
    const rows = (await allRows(store)).filter((row) => row.revision === 2);
    expect(rows).toEqual([
      { revision: 2, seq: 0, key: "z", op: "put", version: 1, value: "z", atMs: clock.nowMs(), writer: "tester" },
      { revision: 2, seq: 1, key: "a", op: "expire", version: 1, value: null, atMs: clock.nowMs(), writer: systemWriter, record: lapse },
      { revision: 2, seq: 2, key: "a", op: "put", version: 2, value: 2, atMs: clock.nowMs(), writer: "tester" },
    ]);
  });

  test("a delete that meets an expired entry removes nothing live, and the expiry still takes a revision", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 10 }));
    clock.advance(10);
    expect(await commit(store, del("a"))).toMatchObject({ revision: 2, writes: [{ version: 0, existed: false }] });
    expect((await allRows(store)).map((row) => [row.revision, row.op])).toEqual([
      [1, "put"],
      [2, "expire"],
    ]);
    expect(await commit(store, del("a"))).toMatchObject({ revision: 2 });
  });

  test("a refused commit does not log the expiries that its writes would have met", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 10 }));
    clock.advance(10);
    await store.commit(commitOf(put("a"), { checks: [{ key: "a", is: "present" }] }));
    expect(await allRows(store)).toHaveLength(1);
  });

  test("the sweep logs what has expired, oldest expiry first, in one revision, with what the lapse should say", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, [put("a", 1, { ttlMs: 20, lapse }), put("b", 1, { ttlMs: 10 }), put("c", 1, { ttlMs: 20 }), put("d", 1, { ttlMs: 1_000 }), put("e")]);
    expect(await engine.sweep(namespace, 100)).toBe(0);
    clock.advance(20);
    expect(await engine.sweep(namespace, 100)).toBe(3);
    expect((await allRows(store)).filter((row) => row.revision > 1)).toEqual(
      ["b", "a", "c"].map((key, seq) => ({
        revision: 2,
        seq,
        key,
        op: "expire",
        version: 1,
        value: null,
        atMs: clock.nowMs(),
        writer: systemWriter,
        ...(key === "a" && { record: lapse }),
      })),
    );
    expect(await engine.sweep(namespace, 100)).toBe(0);
    expect(await liveKeys(store)).toEqual(["d", "e"]);
  });

  test("a sweep takes at most its limit, the rest stays invisible and comes with the next", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(
      store,
      Array.from({ length: 5 }, (_, i) => put(`k${i}`, 1, { ttlMs: 10 })),
    );
    clock.advance(10);
    expect(await engine.sweep(namespace, 2)).toBe(2);
    expect(await liveKeys(store)).toEqual([]);
    expect(await engine.sweep(namespace, 2)).toBe(2);
    expect(await engine.sweep(namespace, 2)).toBe(1);
    expect((await allRows(store)).filter((row) => row.op === "expire").map((row) => row.revision)).toEqual([2, 2, 3, 3, 4]);
  });

  test("every expiry is logged once, whether swept or met", async () => {
    const { store, engine, clock } = await openFixture(open);
    for (let round = 0; round < 6; round += 1) {
      await commit(store, [put("a", round, { ttlMs: 10 }), put("b", round, { ttlMs: 10 })]);
      clock.advance(10);
      if (round % 2 === 0) await sweepAll(engine);
    }
    await sweepAll(engine);
    const ended = (await allRows(store)).filter((row) => row.op === "expire").map((row) => `${row.key}${row.version}`);
    expect(ended.toSorted()).toEqual(["a1", "a2", "a3", "a4", "a5", "a6", "b1", "b2", "b3", "b4", "b5", "b6"]);
  });

  test("a host clock set back brings nothing expired back and makes no time run twice", async () => {
    const { store, engine, clock } = await openFixture(open);
    const start = clock.nowMs();
    await commit(store, put("a", 1, { ttlMs: 10 }));
    clock.advance(10);
    const { atMs } = await commit(store, put("b"));
    clock.set(start - 60_000);
    expect(await store.read(everything)).toMatchObject({ nowMs: atMs, entries: [{ key: "b" }] });
    const late = await commit(store, put("c", 1, { ttlMs: 5 }));
    expect(late).toMatchObject({ atMs, writes: [{ expiresAtMs: atMs + 5 }] });
    expect(await sweepAll(engine)).toBe(1);
    clock.set(atMs + 4);
    expect(await liveKeys(store)).toEqual(["b", "c"]);
    clock.set(atMs + 5);
    expect(await liveKeys(store)).toEqual(["b"]);
  });

  test("the clock that a reader has seen does not go back either, with no commit between", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 10 }));
    clock.advance(10);
    const seen = await store.read(everything);
    expect(seen.entries).toEqual([]);
    clock.advance(-10);
    expect(await store.read(everything)).toEqual(seen);
    expect(await store.count(everything)).toBe(0);
    expect(await store.commit(commitOf(put("a"), { checks: [{ key: "a", is: "absent" }] }))).toMatchObject({ ok: true, atMs: seen.nowMs });
  });

  test("a time to live outside its limits is refused", async () => {
    const { store } = await openFixture(open);
    for (const ttlMs of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, limits.ttlMsMax + 1])
      expect(await codeOf(store.commit(commitOf(put("a", 1, { ttlMs }))))).toBe("invalid_input");
    await commit(store, put("a", 1, { ttlMs: limits.ttlMsMax }));
    expect((await store.read(everything)).revision).toBe(1);
  });
}
