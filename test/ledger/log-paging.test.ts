import { describe, expect, test } from "vitest";
import { LogPaging, revisionsPerCall } from "../../src/ledger/log-paging.ts";
import { everything } from "../../src/store/ranges.ts";
import type { LogQuery, LogRow } from "../../src/store/store.ts";

const row = (revision: number, seq = 0): LogRow => ({ revision, seq, key: "k", op: "put", version: 1, value: null, atMs: 1, writer: "w" });
const pagingOf = (query: Partial<LogQuery>, facts: { revision?: number; compacted?: number; gaps?: [number, number][] } = {}): LogPaging =>
  new LogPaging({ ranges: [everything], ...query }, { revision: 100_000, compacted: 0, gaps: [], ...facts });

describe("a page of the log", () => {
  test("ends at the newest revision, or below `before`, when all was examined", () => {
    expect(pagingOf({ after: 5 }).page([row(6)])).toMatchObject({ through: 100_000, done: true, revision: 100_000 });
    expect(pagingOf({ after: 5, before: 10 }).page([])).toMatchObject({ through: 9, done: true });
    expect(pagingOf({ after: 50, before: 10 }).page([])).toMatchObject({ through: 50, done: true });
    expect(pagingOf({ after: 5, before: 10, reverse: true }).page([])).toMatchObject({ through: 5, done: true });
  });

  test("is cut between revisions by its limit, and continues from the last whole one", () => {
    const rows = [row(6), row(7), row(7, 1)];
    expect(pagingOf({ limit: 2 }).page(rows)).toMatchObject({ rows: [row(6)], through: 6, done: false });
  });

  test("continues after the examined rows if those are not all", () => {
    const paging = pagingOf({ after: 5 });
    const span = paging.spanFrom(10);
    expect(span).toEqual({ from: 10, to: 10 + revisionsPerCall - 1 });
    expect(paging.page([], span)).toMatchObject({ through: span.to, done: false });
    expect(paging.page([], paging.spanFrom(100_000 - 3))).toMatchObject({ through: 100_000, done: true });
    const back = pagingOf({ reverse: true });
    expect(back.page([], back.spanFrom(90_000))).toMatchObject({ through: 90_000 - revisionsPerCall + 1, done: false });
    expect(back.page([], back.spanFrom(revisionsPerCall))).toMatchObject({ through: 0, done: true });
  });

  test("never ends inside a gap: no caller could continue from there", () => {
    const paging = pagingOf({}, { revision: 5_000_000_010, gaps: [[15, 5_000_000_000]] });
    expect(paging.page([row(10)], paging.spanFrom(10))).toMatchObject({ through: 15, done: false });
  });

  test("is refused before what is kept, unless what is left will do", () => {
    expect(() => pagingOf({ after: 3 }, { compacted: 5 })).toThrow("Revision 3 is no longer kept");
    expect(pagingOf({ after: 3, lenient: true }, { compacted: 5 }).after).toBe(3);
    expect(() => pagingOf({ after: 20 }, { gaps: [[15, 50]] })).toThrow("not part of this history");
  });
});
