import { expect, test } from "vitest";
import { logPositionOf } from "../../src/ledger/log-position.ts";
import { judgedAtMs, nextInChain, pastBound } from "../../src/ledger/past.ts";

test("a past that has not happened, was compacted or was lost is refused; any other ends before the next revision", () => {
  const space = { revision: 60, compacted: 5, gaps: [[15, 50]] } as const;
  expect(pastBound(10, space)).toBe(logPositionOf(11));
  expect(() => pastBound(61, space)).toThrow("61 has not happened yet");
  expect(() => pastBound(4, space)).toThrow("Revision 4 is no longer kept");
  expect(() => pastBound(20, space)).toThrow("not part of this history");
});

test("expiry is judged by the time of the revision, which is not before the compacted one's, or by the time asked for", () => {
  const space = { compactedAtMs: 100 };
  expect(judgedAtMs({}, space, 120)).toBe(120);
  // Compaction let go of newer rows that only said that a key is gone.
  expect(judgedAtMs({}, space, 80)).toBe(100);
  expect(judgedAtMs({}, space, undefined)).toBe(100);
  expect(judgedAtMs({ liveAtMs: 500 }, space, 120)).toBe(500);
});

test("a jump is taken as long as it does not lead past what is looked for", () => {
  expect(nextInChain(90, 50, 50)).toBe(50);
  expect(nextInChain(90, 49, 50)).toBe(90);
  expect(nextInChain(90, null, 50)).toBe(90);
  expect(nextInChain(null, null, 50)).toBe(null);
});
