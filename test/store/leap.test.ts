import { expect, test } from "vitest";
import { baseAbove } from "../../src/store/engine-rules.ts";
import { limits } from "../../src/store/limits.ts";

const now = Date.UTC(2026, 10, 15);
const hourMs = 3_600_000;

test("going on again from the same past is always above everything that was given meanwhile, however much later (G4)", () => {
  const kept = 42;
  let highest = kept;
  for (const laterMs of [0, 200, 2_000, hourMs, 5 * hourMs, 24 * hourMs, 400 * 24 * hourMs]) {
    const base = baseAbove(kept, 0, now + laterMs);
    expect(base, `${laterMs} ms later`).toBeGreaterThan(highest);
    // A thousand commits a second until the next time.
    highest = base + 100;
  }
});

test("a remembered revision counts too, even if the clock is wrong", () => {
  const ahead = baseAbove(42, 42, now);
  expect(baseAbove(42, ahead + 7, now)).toBeGreaterThan(ahead + 7 + 1_000_000);
  expect(baseAbove(42, 50, 0)).toBeGreaterThan(50 + 1_000_000);
});

test("the numbers last for decades and stay exact", () => {
  const base = baseAbove(42, 42, Date.UTC(2060, 0, 1));
  expect(base).toBeLessThan(limits.revisionMax);
  expect(Number.isSafeInteger(limits.revisionMax * 256 + 255)).toBe(true);
});
