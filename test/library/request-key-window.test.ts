import { expect, test } from "vitest";
import { RemoteCalls } from "../../src/surfaces/client/remote-calls.ts";

const hourMs = 3_600_000;

/** A server whose answers are all lost, and a client that sleeps for so long between two attempts. */
function losing(sleepMs: number) {
  let nowMs = 1_800_000_000_000;
  const sentAtMs: number[] = [];
  const calls = new RemoteCalls(new URL("http://127.0.0.1:1/"), {
    retryForMs: 10 * 24 * hourMs,
    clock: {
      nowMs: () => nowMs,
      sleep: async () => {
        nowMs += sleepMs;
      },
    },
    fetch: async () => {
      sentAtMs.push(nowMs - 1_800_000_000_000);
      throw new TypeError("cut off");
    },
  });
  return { calls, sentAtMs };
}

test.each([25 * hourMs, 7 * hourMs])("a request key is not sent again once the server may have forgotten it, with pauses of %i ms", async (sleepMs) => {
  const { calls, sentAtMs } = losing(sleepMs);
  const call = calls.call("state.set", { key: "k", value: 1, requestKey: "key-1" }, {});
  await expect(call).rejects.toMatchObject({ code: "outcome_unknown", details: { requestKey: "key-1" }, hint: expect.stringContaining("within 24 hours of the first attempt") });
  expect(sentAtMs).toEqual(sleepMs > 24 * hourMs ? [0] : [0, 7 * hourMs, 14 * hourMs, 21 * hourMs]);
});

test("a read has no key, and is tried as long as the caller wants", async () => {
  const { calls, sentAtMs } = losing(25 * hourMs);
  await expect(calls.call("state.get", { key: "k" }, {})).rejects.toMatchObject({ code: "unavailable" });
  expect(sentAtMs.length).toBeGreaterThan(5);
});
