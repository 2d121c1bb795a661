import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { shows, untilFound } from "./campaign.ts";
import { onceWithin, timed } from "./in-time.ts";

/** Keeps this process from doing anything else, as a busy machine does. */
function stall(ms: number): void {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; );
}

test("a limit that one of the tries keeps is kept; one that none keeps is not, and each is told", async () => {
  const took = [900, 300, 40];
  await onceWithin(50, async () => took.shift() as number);
  expect(took).toEqual([]);
  let tries = 0;
  const slow = onceWithin(50, async () => {
    tries += 1;
    return 100 + tries;
  });
  await expect(slow).rejects.toThrow(/101, 102, 103, 104, 105 ms/);
});

test("what a call waits for counts, and the time for which nobody in this process could run does not", async () => {
  let { ms } = await timed(delay(400));
  for (let tries = 1; tries < 5 && ms <= 300; tries += 1) ({ ms } = await timed(delay(400)));
  expect(ms).toBeGreaterThan(300);
  const stalled = timed(delay(20));
  stall(500);
  expect((await stalled).ms).toBeLessThan(300);
  expect((await timed(Promise.reject(new Error("no")))).result).toMatchObject({ status: "rejected" });
});

test("campaigns follow each other until one has shown the fault, and not for ever", async () => {
  const result = (...faults: string[]) => ({ figures: {}, violations: faults.map((fault) => ({ guarantee: "G1", fault, detail: "" }) as const) });
  expect(await untilFound(async (attempt) => (attempt < 2 ? result("other") : result("other", "wanted")), shows("wanted"))).toEqual(["other", "wanted"]);
  let campaigns = 0;
  const never = async () => {
    campaigns += 1;
    return result("other");
  };
  expect(await untilFound(never, shows("wanted"))).toEqual(["other"]);
  expect(campaigns).toBe(6);
});
