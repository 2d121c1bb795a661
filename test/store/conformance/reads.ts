import { expect, test } from "vitest";
import { limits } from "../../../src/store/limits.ts";
import { compareKeys, everything, keyRange, prefixRange, rangeAfter, rangeBefore } from "../../../src/store/ranges.ts";
import type { OpenEngine } from "./fixture.ts";
import { codeOf, commit, del, keysOf, openFixture, put } from "./fixture.ts";

export function readCases(open: OpenEngine): void {
  test("an empty namespace is at revision 0 and has no entries", async () => {
    const { store, clock } = await openFixture(open);
    expect(await store.read(everything)).toEqual({ revision: 0, nowMs: clock.nowMs(), entries: [], more: false });
    expect(await store.count(everything)).toBe(0);
  });

  test("the position is the revision and the time of a read, without an entry", async () => {
    const { store, clock } = await openFixture(open);
    expect(await store.position()).toEqual({ revision: 0, nowMs: clock.nowMs() });
    await commit(store, put("a"));
    clock.advance(5);
    await commit(store, [put("a"), put("b", 1, { ttlMs: 10 })]);
    clock.advance(7);
    expect(await store.position()).toEqual({ revision: 2, nowMs: clock.nowMs() });
    const { revision, nowMs } = await store.read(everything);
    expect(await store.position()).toEqual({ revision, nowMs });
  });

  test("what a position showed does not go back: neither its time, nor what had expired by it", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 10 }));
    clock.advance(10);
    const { nowMs } = await store.position();
    clock.advance(-5);
    expect((await store.position()).nowMs).toBe(nowMs);
    expect(await store.read(everything)).toMatchObject({ nowMs, entries: [] });
  });

  test("an entry says its value, version, revision, times, writer and agent", async () => {
    const { store, clock } = await openFixture(open);
    const createdAtMs = clock.nowMs();
    await commit(store, put("a", { first: true }), { writer: "ann", agent: "planner" });
    clock.advance(5);
    await commit(store, put("b"));
    clock.advance(5);
    await commit(store, put("a", [1, "two", null]), { writer: "bob" });
    const { entries, revision } = await store.read(keyRange("a"));
    expect(revision).toBe(3);
    expect(entries).toEqual([{ key: "a", value: [1, "two", null], version: 2, revision: 3, createdAtMs, updatedAtMs: createdAtMs + 10, writer: "bob" }]);
    expect((await store.read(everything, { at: 1 })).entries[0]?.agent).toBe("planner");
  });

  test("a key range holds exactly its key, a prefix range exactly the keys that begin with it", async () => {
    const { store } = await openFixture(open);
    await commit(
      store,
      ["a", "a/", "a/1", "a/2", "a0", "b", "A"].map((key) => put(key)),
    );
    expect(keysOf((await store.read(keyRange("a"))).entries)).toEqual(["a"]);
    expect(keysOf((await store.read(prefixRange("a/"))).entries)).toEqual(["a/", "a/1", "a/2"]);
    expect(keysOf((await store.read({ start: "a0" })).entries)).toEqual(["a0", "b"]);
    expect(keysOf((await store.read({ start: "a", end: "a" })).entries)).toEqual([]);
    expect(keysOf((await store.read({ start: "b", end: "a" })).entries)).toEqual([]);
  });

  test("keys stand in the order of their UTF-8 bytes, not of their UTF-16 units", async () => {
    const { store } = await openFixture(open);
    const keys = ["\u{1F600}", "\u{FF5E}", "\u{10FFFF}", "\u{E000}", "\u{D7FF}", "z", "Z", "é", "~", " ", "\u0001", "\u{1F600}a", "a\u{FF5E}", "a\u{1F600}"];
    await commit(
      store,
      keys.map((key) => put(key)),
    );
    const byBytes = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(keysOf((await store.read(everything)).entries)).toEqual(byBytes);
    expect(keysOf((await store.read(everything, { reverse: true })).entries)).toEqual(byBytes.toReversed());
    expect(keysOf((await store.read({ start: "\u{E000}", end: "\u{1F600}" })).entries)).toEqual(["\u{E000}", "\u{FF5E}"]);
    expect(keys.toSorted(compareKeys)).toEqual(byBytes);
  });

  test("the limit cuts the answer and says so; the next page continues after the last key", async () => {
    const { store } = await openFixture(open);
    await commit(
      store,
      ["a", "b", "c", "d", "e"].map((key) => put(key)),
    );
    const first = await store.read(everything, { limit: 2 });
    expect([keysOf(first.entries), first.more]).toEqual([["a", "b"], true]);
    const second = await store.read(rangeAfter(everything, "b"), { limit: 3 });
    expect([keysOf(second.entries), second.more]).toEqual([["c", "d", "e"], false]);
    const last = await store.read(everything, { limit: 2, reverse: true });
    expect([keysOf(last.entries), last.more]).toEqual([["e", "d"], true]);
    const rest = await store.read(rangeBefore(everything, "d"), { limit: 3, reverse: true });
    expect([keysOf(rest.entries), rest.more]).toEqual([["c", "b", "a"], false]);
  });

  test("an entry that has expired neither fills the limit nor makes more", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, [put("a", 1, { ttlMs: 10 }), put("b"), put("c", 1, { ttlMs: 10 })]);
    clock.advance(10);
    expect(await store.read(everything, { limit: 1 })).toMatchObject({ entries: [{ key: "b" }], more: false });
    expect(await store.read(everything, { limit: 1, reverse: true })).toMatchObject({ entries: [{ key: "b" }], more: false });
  });

  test("several ranges come in the order asked, the limit counts over all, reverse takes the last range first", async () => {
    const { store } = await openFixture(open);
    await commit(
      store,
      ["a1", "a2", "b1", "b2", "c1"].map((key) => put(key)),
    );
    const ranges = [prefixRange("b"), prefixRange("a")];
    expect(keysOf((await store.read(ranges)).entries)).toEqual(["b1", "b2", "a1", "a2"]);
    expect(await store.read(ranges, { limit: 3 })).toMatchObject({ entries: [{ key: "b1" }, { key: "b2" }, { key: "a1" }], more: true });
    expect(keysOf((await store.read(ranges, { reverse: true })).entries)).toEqual(["a2", "a1", "b2", "b1"]);
    expect(await store.read(ranges, { limit: 2 })).toMatchObject({ more: true });
    expect(await store.read([prefixRange("b"), prefixRange("x")], { limit: 2 })).toMatchObject({ more: false });
    expect((await store.read([])).entries).toEqual([]);
  });

  test("without values everything is there but the value", async () => {
    const { store } = await openFixture(open);
    await commit(store, put("a", { big: "x".repeat(1_000) }));
    const [full] = (await store.read(everything)).entries;
    expect((await store.read(everything, { values: false })).entries).toEqual([{ ...full, value: null }]);
    expect((await store.read(everything, { values: false, at: 1 })).entries).toEqual([{ ...full, value: null }]);
  });

  test("count counts the live entries of a range", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, [put("a1"), put("a2", 1, { ttlMs: 10 }), put("a3"), put("b1")]);
    await commit(store, del("a3"));
    expect(await store.count(prefixRange("a"))).toBe(2);
    expect(await store.count(everything)).toBe(3);
    clock.advance(10);
    expect(await store.count(prefixRange("a"))).toBe(1);
    expect(await store.count(keyRange("a2"))).toBe(0);
  });

  test("a read of so many characters at most, with the rest that it gives, finds everything once and in order", async () => {
    const { store } = await openFixture(open);
    for (let i = 0; i < 12; i += 1) await commit(store, put(`k${String(i).padStart(2, "0")}`, "x".repeat(i % 4 === 0 ? 1_000 : 10)));
    const ranges = [{ start: "k00", end: "k05" }, keyRange("k05"), keyRange("k08"), { start: "k09" }];
    for (const at of [undefined, 12])
      for (const reverse of [false, true]) {
        const whole = await store.read(ranges, { reverse, at });
        const found: string[] = [];
        let left: typeof whole.rest = ranges;
        while (left !== undefined) {
          const part: typeof whole = await store.read(left, { reverse, at, charactersMax: 1_100 });
          const characters = part.entries.map(({ value }) => JSON.stringify(value).length);
          // Engines elsewhere may bring everything; none stops before it has enough.
          if (part.rest !== undefined) expect(characters.slice(0, -1).reduce((sum, length) => sum + length, 0)).toBeLessThan(1_100);
          if (part.rest !== undefined) expect(characters.reduce((sum, length) => sum + length, 0)).toBeGreaterThanOrEqual(1_100);
          expect(part.more).toBe(false);
          found.push(...keysOf(part.entries));
          left = part.rest;
        }
        expect(found).toEqual(keysOf(whole.entries));
      }
    const limited = await store.read(everything, { limit: 2, charactersMax: 1 });
    if (limited.rest !== undefined) expect(keysOf(limited.entries)).toEqual(["k00"]);
  });

  test("more than the largest page is read in pages, and a limit outside its bounds is refused", async () => {
    const { store } = await openFixture(open);
    for (let from = 0; from < limits.readEntriesMax + 100; from += 100)
      await commit(
        store,
        Array.from({ length: 100 }, (_, i) => put(String(from + i).padStart(6, "0"))),
      );
    const page = await store.read(everything);
    expect([page.entries.length, page.more]).toEqual([limits.readEntriesMax, true]);
    const rest = await store.read(rangeAfter(everything, page.entries.at(-1)?.key ?? ""));
    expect([rest.entries.length, rest.more]).toEqual([100, false]);
    for (const limit of [0, -1, 1.5, Number.NaN, limits.readEntriesMax + 1]) expect(await codeOf(store.read(everything, { limit }))).toBe("invalid_input");
  });
}
