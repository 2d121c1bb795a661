import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localDay } from "../../src/domain/journal/local-time.ts";
import { parseTimeRange } from "../../src/domain/journal/time-range.ts";

const before = process.env.TZ;
beforeAll(() => {
  process.env.TZ = "Europe/Berlin";
});
afterAll(() => {
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

const iso = (text: string): number => Date.parse(text);
/** A Tuesday afternoon, two days after the clocks went forward in Berlin. */
const now = iso("2026-03-31T14:30:00+02:00");
const fromOf = (text: string): number => parseTimeRange("range", text, now).fromMs;

describe("a range of time", () => {
  test.each([
    ["30m", "2026-03-31T14:00:00+02:00"],
    ["24h", "2026-03-30T14:30:00+02:00"],
    ["7d", "2026-03-24T12:30:00Z"],
    ["1w", "2026-03-24T12:30:00Z"],
    ["2weeks", "2026-03-17T12:30:00Z"],
    ["2 weeks", "2026-03-17T12:30:00Z"],
    [" 1 Week ", "2026-03-24T12:30:00Z"],
    ["1 month", "2026-02-28T14:30:00+01:00"],
    ["13 months", "2025-02-28T14:30:00+01:00"],
    ["1y", "2025-03-31T14:30:00+02:00"],
    ["today", "2026-03-31T00:00:00+02:00"],
    ["Yesterday", "2026-03-30T00:00:00+02:00"],
    ["2026-03-29", "2026-03-29T00:00:00+01:00"],
    ["2026-03-29T12:00", "2026-03-29T12:00:00+02:00"],
    ["2026-03-29 12:00:30.5", "2026-03-29T12:00:30.500+02:00"],
    ["2026-03-29T12:00:00Z", "2026-03-29T12:00:00Z"],
    ["2026-03-29T12:00:00-0530", "2026-03-29T12:00:00-05:30"],
  ])("%j begins at %s", (text, expected) => {
    expect(new Date(fromOf(text)).toISOString()).toBe(new Date(iso(expected)).toISOString());
  });

  test("yesterday ends with the day, also where the day has 23 hours; everything else goes up to now", () => {
    const monday = parseTimeRange("range", "yesterday", iso("2026-03-30T08:00:00+02:00"));
    expect([monday.fromMs, monday.untilMs].map((ms) => new Date(ms as number).toISOString())).toEqual(["2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"]);
    expect(parseTimeRange("range", "7d", now).untilMs).toBeUndefined();
  });

  test("more than there ever was begins at the beginning", () => {
    for (const text of ["99999w", "99999y", "99999 months"]) expect(fromOf(text), text).toBe(0);
  });

  test.each(["", "7", "d", "0d", "-3d", "7 fortnights", "last week", "2026-02-30", "2026-13-01", "2026-1-1", "2026-03-29T25:00", "1e3d", "999999d", "7d; rm", "ſ"])(
    "%j is refused with what is accepted",
    (text) => {
      expect(() => fromOf(text)).toThrow(/^range: must be .*30m, 24h, 7d, 1w, 2weeks, 1 month.*today, yesterday.*ISO date/);
    },
  );
});

test("a day is the local one", () => {
  expect([iso("2026-03-30T23:30:00+02:00"), iso("2026-03-31T00:30:00+02:00")].map(localDay)).toEqual(["2026-03-30", "2026-03-31"]);
});
