import { expect, test } from "vitest";
import { limits } from "../../../src/store/limits.ts";
import { everything, keyRange, prefixRange } from "../../../src/store/ranges.ts";
import type { LogQuery, LogRow } from "../../../src/store/store.ts";
import { systemWriter } from "../../../src/store/store.ts";
import type { OpenEngine } from "./fixture.ts";
import { allRows, codeOf, commit, compactAll, del, openFixture, put, sweepAll } from "./fixture.ts";

const record = (kind: string, op: string, subject: string) => ({ kind, op, subject });

export function logCases(open: OpenEngine): void {
  test("each change is one row that says what changed, when, by whom and why", async () => {
    const { store, clock } = await openFixture(open);
    const atMs = clock.nowMs();
    await commit(store, [put("a", { x: 1 }, { ttlMs: 50, record: record("state", "set", "a") }), put("b")], { writer: "ann", agent: "planner" });
    clock.advance(1);
    await commit(store, del("a", { record: record("state", "delete", "a") }), { writer: "bob" });
    expect(await allRows(store)).toEqual([
      { revision: 1, seq: 0, key: "a", op: "put", version: 1, value: { x: 1 }, expiresAtMs: atMs + 50, atMs, writer: "ann", agent: "planner", record: record("state", "set", "a") },
      { revision: 1, seq: 1, key: "b", op: "put", version: 1, value: "b", atMs, writer: "ann", agent: "planner" },
      { revision: 2, seq: 0, key: "a", op: "delete", version: 1, value: null, atMs: atMs + 1, writer: "bob", record: record("state", "delete", "a") },
    ]);
  });

  test("a row has the value that its key had before, where that is requested", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, [put("a", 1), put("b", { of: "b" })]);
    await commit(store, [put("a", 2, { ttlMs: 5 }), del("b")]);
    clock.advance(5);
    // The put meets what has expired, and comes after its expiry.
    await commit(store, [put("b", "again"), put("a", [3])]);
    await commit(store, put("c", null, { ttlMs: 5 }));
    clock.advance(5);
    await sweepAll(engine);
    const told = (rows: readonly LogRow[]) => rows.map(({ key, op, value, previous }) => [key, op, value, previous]);
    const expected = [
      ["a", "put", 1, null],
      ["b", "put", { of: "b" }, null],
      ["a", "put", 2, 1],
      ["b", "delete", null, { of: "b" }],
      ["b", "put", "again", null],
      ["a", "expire", null, 2],
      ["a", "put", [3], null],
      ["c", "put", null, null],
      ["c", "expire", null, null],
    ];
    const rows = await allRows(store, { previous: true });
    expect(told(rows)).toEqual(expected);
    expect(told(await allRows(store, { previous: true, reverse: true, limit: 1 }))).toEqual(expected.toReversed());
    for (const key of ["a", "b", "c"]) expect(await allRows(store, { previous: true, ranges: [keyRange(key)], narrow: true })).toEqual(rows.filter((row) => row.key === key));
    for (const query of [{}, { values: false }, { previous: true, values: false }]) for (const row of await allRows(store, query)) expect(row).not.toHaveProperty("previous");
  });

  test("the value before is gone with its row, and with nothing else", async () => {
    const { store, engine } = await openFixture(open);
    for (const value of [1, 2, 3]) await commit(store, put("a", value));
    await commit(store, put("b", 1));
    await compactAll(engine, { revisions: 2 });
    const rows = await allRows(store, { previous: true, lenient: true });
    expect(rows.map(({ key, value, previous }) => [key, value, previous])).toEqual([
      ["a", 2, null],
      ["a", 3, 2],
      ["b", 1, null],
    ]);
  });

  test("values end with the row that reaches the bytes allowed; the rows after it are marked as unread", async () => {
    const { store } = await openFixture(open);
    // Ten bytes of JSON each, in UTF-8.
    for (const key of ["a", "b", "a", "b"]) await commit(store, put(key, "é".repeat(4)));
    const unread = async (query: Partial<LogQuery>) => (await allRows(store, query)).map((row) => (row.unread ? [row.key, row.value, "previous" in row] : row.key));
    expect(await unread({ valuesBytesMax: 21 })).toEqual(["a", "b", "a", ["b", null, false]]);
    expect(await unread({ valuesBytesMax: 20 })).toEqual(["a", "b", ["a", null, false], ["b", null, false]]);
    expect(await unread({ valuesBytesMax: 20, previous: true, reverse: true })).toEqual(["b", ["a", null, false], ["b", null, false], ["a", null, false]]);
    expect(await unread({ valuesBytesMax: 21, previous: true, reverse: true })).toEqual(["b", "a", ["b", null, false], ["a", null, false]]);
    expect(await unread({ valuesBytesMax: 1, values: false })).toEqual(["a", "b", "a", "b"]);
    expect(await unread({ valuesBytesMax: 10, narrow: true, ranges: [keyRange("b")] })).toEqual(["b", ["b", null, false]]);
  });

  test("every mutation has exactly one row, in order, and the rows add up to the state", async () => {
    const { store, engine, clock } = await openFixture(open);
    let changes = 0;
    for (let i = 0; i < 60; i += 1) {
      const writes = [put(`k${i % 7}`, i, i % 3 === 0 ? { ttlMs: 4 } : {}), del(`k${(i + 3) % 7}`)];
      const result = await commit(store, writes);
      changes += 1 + Number(result.writes[1]?.existed);
      clock.advance(1);
    }
    await sweepAll(engine);
    const rows = await allRows(store);
    expect(rows.filter((row) => row.op !== "expire")).toHaveLength(changes);
    expect(rows.map((row) => row.revision)).toEqual(rows.map((row) => row.revision).toSorted((a, b) => a - b));
    const state = new Map<string, unknown>();
    for (const row of rows) {
      if (row.op === "put") state.set(row.key, [row.value, row.version, row.revision]);
      else expect(state.delete(row.key)).toBe(true);
    }
    const { entries } = await store.read(everything);
    expect(Object.fromEntries(entries.map((entry) => [entry.key, [entry.value, entry.version, entry.revision]]))).toEqual(Object.fromEntries(state));
  });

  test("after and before bound the revisions, both exclusive", async () => {
    const { store } = await openFixture(open);
    for (let i = 1; i <= 5; i += 1) await commit(store, put("a", i));
    const revisions = async (query: Partial<LogQuery>): Promise<number[]> => (await allRows(store, query)).map((row) => row.revision);
    expect(await revisions({ after: 2 })).toEqual([3, 4, 5]);
    expect(await revisions({ before: 3 })).toEqual([1, 2]);
    expect(await revisions({ after: 1, before: 4 })).toEqual([2, 3]);
    expect(await revisions({ after: 1, before: 4, reverse: true })).toEqual([3, 2]);
    expect(await revisions({ after: 5 })).toEqual([]);
    expect(await revisions({ after: 0, before: 1 })).toEqual([]);
  });

  test("newest first turns the whole order around", async () => {
    const { store } = await openFixture(open);
    await commit(store, [put("a"), put("b"), put("c")]);
    await commit(store, [put("b"), del("c")]);
    expect(await allRows(store, { reverse: true })).toEqual((await allRows(store)).toReversed());
  });

  test("a page never cuts a revision in two and says how far it looked", async () => {
    const { store } = await openFixture(open);
    for (let i = 0; i < 4; i += 1) await commit(store, [put("a", i), put("b", i), put("c", i)]);
    const page = await store.log({ ranges: [everything], limit: 4 });
    expect(page.rows.map((row) => row.revision)).toEqual([1, 1, 1]);
    expect(page).toMatchObject({ through: 1, done: false, revision: 4 });
    const wide = await store.log({ ranges: [everything], limit: 6, after: 1 });
    expect(wide.rows.map((row) => row.revision)).toEqual([2, 2, 2, 3, 3, 3]);
    expect(wide).toMatchObject({ through: 3, done: false });
    expect(await store.log({ ranges: [everything], after: 3, limit: 3 })).toMatchObject({ through: 4, done: true, rows: [{}, {}, {}] });
  });

  test("a revision longer than the limit comes whole", async () => {
    const { store } = await openFixture(open);
    await commit(
      store,
      Array.from({ length: limits.commitWritesMax }, (_, i) => put(`k${i}`)),
    );
    await commit(store, put("a"));
    const page = await store.log({ ranges: [everything], limit: 1 });
    expect(page.rows).toHaveLength(limits.commitWritesMax);
    expect(page).toMatchObject({ through: 1, done: false });
    const back = await store.log({ ranges: [everything], limit: 1, reverse: true, before: 2 });
    expect(back.rows).toHaveLength(limits.commitWritesMax);
    expect(back.done).toBe(true);
  });

  test("the longest revision (every write meets an expired entry) comes whole", async () => {
    const { store, clock } = await openFixture(open);
    const keys = Array.from({ length: limits.commitWritesMax }, (_, i) => `k${String(i).padStart(3, "0")}`);
    await commit(
      store,
      keys.map((key) => put(key, 1, { ttlMs: 1 })),
    );
    clock.advance(1);
    await commit(
      store,
      keys.map((key) => put(key)),
    );
    await commit(store, put("after"));
    const page = await store.log({ ranges: [everything], after: 1, limit: 1 });
    expect(page.rows).toHaveLength(limits.commitRowsMax);
    expect(page.rows.map((row) => row.seq)).toEqual(Array.from({ length: limits.commitRowsMax }, (_, i) => i));
    expect(page).toMatchObject({ through: 2, done: false });
  });

  test("pages of every size, forward and backward, put together, are the whole log", async () => {
    const { store } = await openFixture(open);
    for (let i = 0; i < 12; i += 1)
      await commit(
        store,
        Array.from({ length: (i % 4) + 1 }, (_, n) => put(`k${n}`, i)),
      );
    const whole = await allRows(store);
    expect(whole).toHaveLength(30);
    for (const limit of [1, 2, 3, 5, 29, 30, 31]) {
      expect(await allRows(store, { limit })).toEqual(whole);
      expect(await allRows(store, { limit, reverse: true })).toEqual(whole.toReversed());
      expect(await allRows(store, { limit, narrow: true })).toEqual(whole);
    }
  });

  test("ranges choose the rows; revisions without one are passed over, and `through` still reaches the end", async () => {
    const { store } = await openFixture(open);
    await commit(store, [put("a1"), put("b1")]);
    await commit(store, put("b2"));
    await commit(store, put("a2"));
    await commit(store, put("c"));
    const page = await store.log({ ranges: [prefixRange("a")] });
    expect(page.rows.map((row) => row.key)).toEqual(["a1", "a2"]);
    expect(page).toMatchObject({ through: 4, done: true, revision: 4 });
    expect((await allRows(store, { ranges: [keyRange("c"), prefixRange("a")] })).map((row) => row.key)).toEqual(["a1", "a2", "c"]);
    expect(await allRows(store, { ranges: [] })).toEqual([]);
    expect(await store.log({ ranges: [prefixRange("a")], before: 3 })).toMatchObject({ through: 2, done: true });
    expect(await store.log({ ranges: [prefixRange("zz")], reverse: true })).toMatchObject({ rows: [], through: 0, done: true });
  });

  test("the narrow way finds the same rows in the same order", async () => {
    const { store, clock } = await openFixture(open);
    for (let i = 0; i < 40; i += 1) {
      await commit(store, [put(`a${i % 3}`, i, i % 5 === 0 ? { ttlMs: 2 } : {}), put(`b${i % 4}`, i), del(`a${(i + 1) % 3}`)]);
      clock.advance(1);
    }
    const queries: Partial<LogQuery>[] = [{}, { after: 7, before: 30 }, { reverse: true }, { limit: 2 }, { limit: 2, reverse: true, before: 33 }];
    for (const query of queries)
      for (const ranges of [[keyRange("a1")], [keyRange("b2"), keyRange("a0")], [prefixRange("a"), keyRange("b1")]])
        expect(await store.log({ ...query, ranges, narrow: true })).toEqual(await store.log({ ...query, ranges }));
  });

  test("the narrow way says as truly whether something is left, also behind a put that met what had expired", async () => {
    const { store, clock } = await openFixture(open);
    for (let i = 0; i < 4; i += 1) {
      await commit(store, [put("a", i, { ttlMs: 1 }), put("b", i)]);
      clock.advance(1);
    }
    for (const limit of [1, 2, 3])
      for (const range of [keyRange("a"), prefixRange("")])
        for (let edge = 1; edge <= 5; edge += 1)
          for (const query of [{ before: edge, reverse: true }, { after: edge - 1 }])
            expect(await store.log({ ...query, limit, ranges: [range], narrow: true })).toEqual(await store.log({ ...query, limit, ranges: [range] }));
  });

  test("only recorded rows, of some kinds, by a writer or by an agent", async () => {
    const { store, engine, clock } = await openFixture(open);
    await commit(store, [put("a", 1, { record: record("state", "set", "a") }), put("hidden")], { writer: "ann" });
    await commit(store, put("b", 1, { ttlMs: 5, record: record("lease", "acquire", "b"), lapse: record("lease", "lapse", "b") }), { writer: "bob", agent: "ann" });
    await commit(store, put("c", 1, { record: record("workflow", "create", "c") }), { writer: "bob" });
    clock.advance(5);
    await sweepAll(engine);
    const subjects = async (recorded: LogQuery["recorded"], rest: Partial<LogQuery> = {}): Promise<string[]> =>
      (await allRows(store, { recorded, ...rest })).map((row) => `${row.record?.op} ${row.record?.subject}`);
    expect(await subjects({})).toEqual(["set a", "acquire b", "create c", "lapse b"]);
    expect(await subjects({ kinds: ["lease", "workflow"] })).toEqual(["acquire b", "create c", "lapse b"]);
    expect(await subjects({ kinds: [] })).toEqual([]);
    expect(await subjects({ writer: "ann" })).toEqual(["set a", "acquire b"]);
    expect(await subjects({ writer: systemWriter })).toEqual(["lapse b"]);
    expect(await subjects({ kinds: ["lease"], writer: "bob" }, { reverse: true })).toEqual(["acquire b"]);
    expect(await subjects({ kinds: ["state"] }, { narrow: true, ranges: [keyRange("a"), keyRange("b")] })).toEqual(["set a"]);
    const page = await store.log({ ranges: [everything], recorded: { writer: "nobody" }, limit: 1 });
    expect(page).toMatchObject({ rows: [], done: true, through: 4 });
  });

  test("without values every row is there but its value", async () => {
    const { store } = await openFixture(open);
    await commit(store, [put("a", { big: 1 }), put("b")]);
    expect(await allRows(store, { values: false })).toEqual((await allRows(store)).map((row) => ({ ...row, value: null })));
  });

  test("a limit outside its bounds is refused", async () => {
    const { store } = await openFixture(open);
    for (const limit of [0, -3, 0.5, limits.logRowsMax + 1]) expect(await codeOf(store.log({ ranges: [everything], limit }))).toBe("invalid_input");
  });
}
