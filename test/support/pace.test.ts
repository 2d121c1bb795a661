import { expect, onTestFinished, test, vi } from "vitest";
import { atPace, PaceSampler, runnableIn } from "./pace.ts";

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

test("what is merely waited for counts in full: on a quiet machine its pace is 1, however long it takes, and on a slower one that machine's", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const wait = () => vi.advanceTimersByTimeAsync(60_050);
  expect(await atPace(wait, () => 1)).toMatchObject({ ms: 60_050, pace: 1 });
  expect(await atPace(wait, () => 3)).toMatchObject({ ms: 60_050, pace: 3 });
});

test("only those who want to run are competitors for the processors, not those who wait", () => {
  expect(runnableIn("0.20 0.18 0.12 3/812 11206\n")).toBe(3);
});
