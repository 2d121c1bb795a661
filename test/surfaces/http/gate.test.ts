import { expect, test } from "vitest";
import { Gate } from "../../../src/surfaces/http/gate.ts";
import { httpLimits } from "../../../src/surfaces/http/http-limits.ts";

function openGate(ratePerSecond: number, limits = {}) {
  let nowMs = 1_000;
  const gate = new Gate({ ...httpLimits, ...limits }, ratePerSecond, () => nowMs);
  const tryEnter = (key: string): boolean => {
    try {
      gate.leavePrincipal(gate.enterPrincipal(key));
      return true;
    } catch {
      return false;
    }
  };
  const taken = (key: string): number => {
    let count = 0;
    while (tryEnter(key)) count += 1;
    return count;
  };
  return { gate, taken, pass: (ms: number) => (nowMs += ms) };
}

test("a second's worth may come at once, and then as many as time has passed", () => {
  const { taken, pass } = openGate(10);
  expect(taken("a")).toBe(10);
  pass(300);
  expect(taken("a")).toBe(3);
  pass(60_000);
  expect(taken("a")).toBe(10);
});

test("time that goes back gives nothing", () => {
  const { taken, pass } = openGate(10);
  taken("a");
  pass(-500);
  expect(taken("a")).toBe(0);
});

test("each principal has its own pace, and a refusal costs nothing", () => {
  const { taken, pass } = openGate(4);
  expect([taken("a"), taken("b")]).toEqual([4, 4]);
  for (let i = 0; i < 100; i += 1) taken("a");
  pass(250);
  expect(taken("a")).toBe(1);
});

test("the refusal says when the next request may come", () => {
  const { gate } = openGate(1);
  gate.enterPrincipal("a");
  expect(() => gate.enterPrincipal("a")).toThrow(expect.objectContaining({ status: 429, headers: { "retry-after": "1" } }));
});

test("as many principals are remembered as the limit says, and never is one forgotten that is being served", () => {
  const { gate, taken } = openGate(1, { principalsMax: 3 });
  const busy = gate.enterPrincipal("busy");
  for (let i = 0; i < 100; i += 1) taken(`p${i}`);
  expect(gate.principals).toBeLessThanOrEqual(3);
  expect(taken("busy")).toBe(0);
  gate.leavePrincipal(busy);
});
