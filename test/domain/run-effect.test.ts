import { expect, test } from "vitest";
import type { BeginInput } from "../../src/domain/effects/begin-effect.ts";
import { readEffect } from "../../src/domain/effects/find-effects.ts";
import type { EffectReport } from "../../src/domain/effects/finish-effect.ts";
import { effectId } from "../../src/domain/effects/identity.ts";
import type { RunningAttempt } from "../../src/domain/effects/perform-effect.ts";
import { resolveEffect } from "../../src/domain/effects/resolve-effect.ts";
import { runEffect } from "../../src/domain/effects/run-effect.ts";
import { HoldfastError } from "../../src/kernel/errors.ts";
import type { Store } from "../../src/store/store.ts";
import { openScope, passTime, settle } from "../support/scope.ts";

const input: BeginInput = { identity: { name: "mail", tool: "send", args: { to: "ann" } }, liveMs: 3_000 };
const id = effectId(input.identity);

/** Something that is done when the test says so. */
function openWork() {
  let resolve: (report: EffectReport) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<EffectReport>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => undefined);
  const attempts: RunningAttempt[] = [];
  const perform = (attempt: RunningAttempt): Promise<EffectReport> => {
    attempts.push(attempt);
    return promise;
  };
  return { resolve, reject, attempts, perform };
}

test("an effect is performed once; its answer is what a repeat gets", async () => {
  const scope = openScope();
  const { perform, resolve, attempts } = openWork();
  resolve({ state: "done", answer: "sent" });
  expect(await runEffect(scope, input, perform)).toEqual({ outcome: "performed", id, attempt: 1, report: { state: "done", answer: "sent" } });
  expect(await runEffect(scope, input, perform)).toMatchObject({ outcome: "done", answer: "sent" });
  expect(attempts).toHaveLength(1);
});

test("the record lives as long as the work does, and others get the answer that it is in flight", async () => {
  const scope = openScope();
  const { perform, resolve, attempts } = openWork();
  const running = runEffect(scope, input, perform);
  await passTime(scope.clock, 60_000);
  expect(await runEffect(scope, input, perform)).toMatchObject({ outcome: "in_flight" });
  expect(attempts).toHaveLength(1);
  resolve({ state: "failed", error: "no such address" });
  expect(await running).toMatchObject({ outcome: "performed", report: { state: "failed" } });
  expect(await runEffect(scope, input, perform)).toMatchObject({ outcome: "performed", attempt: 2 });
});

test("an error leaves the outcome unknown: it may have taken place before", async () => {
  const scope = openScope();
  const { perform, reject, attempts } = openWork();
  reject(new Error("the connection broke"));
  await expect(runEffect(scope, input, perform)).rejects.toThrow("the connection broke");
  expect(await runEffect(scope, input, perform)).toMatchObject({ outcome: "unknown", reason: "the connection broke" });
  expect(attempts).toHaveLength(1);
});

test("work whose record is lost is notified, and its late report is refused", async () => {
  const scope = openScope();
  const { store } = scope;
  const { perform, resolve, attempts } = openWork();
  let isCutOff = false;
  const commit: Store["commit"] = (given) => (isCutOff ? Promise.reject(new HoldfastError("unavailable", "cut off")) : store.commit(given));
  const running = runEffect({ ...scope, store: { ...store, commit } }, input, perform);
  await settle();
  isCutOff = true;
  await passTime(scope.clock, 6_000);
  expect(attempts[0]?.signal.aborted).toBe(false);
  await resolveEffect(scope, { id, as: "failed" });
  isCutOff = false;
  await passTime(scope.clock, 2_000);
  expect(attempts[0]?.signal.aborted).toBe(true);
  resolve({ state: "done", answer: "sent after all" });
  await expect(running).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining("ended as done, which could not be recorded") });
  expect(await readEffect(scope, id)).toMatchObject({ state: "failed", resolved: "caller" });
});

test("a report is sent again while the store cannot be reached, and not for ever", async () => {
  const scope = openScope();
  const { store } = scope;
  let refusals = 0;
  const commit: Store["commit"] = (given) => {
    if (refusals === 0) return store.commit(given);
    refusals -= 1;
    return Promise.reject(new HoldfastError("unavailable", "cut off"));
  };
  const cutOff = { ...scope, store: { ...store, commit } };
  const perform = (outages: number) => async (): Promise<EffectReport> => {
    refusals = outages;
    return { state: "done", answer: 1 };
  };
  const passing = runEffect(cutOff, { ...input, liveMs: 600_000 }, perform(5));
  await passTime(scope.clock, 10_000);
  expect(await passing).toMatchObject({ outcome: "performed" });
  const other = { ...input, identity: { ...input.identity, name: "another" }, liveMs: 600_000 };
  const failing = expect(runEffect(cutOff, other, perform(99))).rejects.toMatchObject({ code: "unavailable", details: { state: "done" } });
  await passTime(scope.clock, 10_000);
  await failing;
});
