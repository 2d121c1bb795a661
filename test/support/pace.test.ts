import { expect, test } from "vitest";
import { atPace, PaceSampler } from "./pace.ts";

/** Keeps this process from doing anything else, as a busy machine does. */
function stall(ms: number): void {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; );
}

test("a span in which this process could not run has a slower pace, and no span a quicker one than a quiet machine's", () => {
  using sampler = new PaceSampler();
  const fromMs = performance.now();
  stall(1_000);
  expect(sampler.since(fromMs)).toBeGreaterThan(2);
  expect(sampler.since(performance.now())).toBeGreaterThanOrEqual(1);
});

test("what is measured at its pace gives its own value and failure", async () => {
  const { value, ms, pace } = await atPace(async () => {
    stall(1_000);
    return "done";
  });
  expect(value).toBe("done");
  expect(ms).toBeGreaterThanOrEqual(1_000);
  expect(pace).toBeGreaterThan(2);
  await expect(atPace(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
});
