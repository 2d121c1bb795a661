import { describe, expect, test } from "vitest";
import type { BeginInput, BegunEffect } from "../../src/domain/effects/begin-effect.ts";
import { beginEffect } from "../../src/domain/effects/begin-effect.ts";
import { BegunAttempts } from "../../src/domain/effects/begun-attempts.ts";
import type { EffectState } from "../../src/domain/effects/effect.ts";
import type { EffectPage } from "../../src/domain/effects/find-effects.ts";
import { listEffects, readEffect } from "../../src/domain/effects/find-effects.ts";
import { finishEffect, keepEffectAlive } from "../../src/domain/effects/finish-effect.ts";
import { effectId } from "../../src/domain/effects/identity.ts";
import { resolveEffect } from "../../src/domain/effects/resolve-effect.ts";
import { readActivity } from "../../src/domain/history/activity.ts";
import { readHistory } from "../../src/domain/history/history.ts";
import { workflowKeys } from "../../src/domain/keyspace.ts";
import { acquireLease, releaseLease } from "../../src/domain/leases/leases.ts";
import { claimRun } from "../../src/domain/workflows/claims.ts";
import { createRun } from "../../src/domain/workflows/workflows.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { ErrorCode } from "../../src/kernel/errors.ts";
import { HoldfastError, isHoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Store } from "../../src/store/store.ts";
import type { Scope } from "../../src/store/transact.ts";
import { engines } from "../support/engines.ts";
import { manualClock } from "../support/manual-clock.ts";
import { openScope } from "../support/scope.ts";

const pay: BeginInput = { identity: { run: "run-1", step: 3, tool: "pay", args: { to: "ann", amount: 10 } }, liveMs: 10_000 };
const named = (name: string, amount: number): BeginInput => ({ identity: { name, tool: "pay", args: { amount } }, liveMs: 10_000 });

async function begun(scope: Scope, input: BeginInput): Promise<Extract<BegunEffect, { outcome: "begun" }>> {
  const result = await beginEffect(scope, input);
  if (result.outcome !== "begun") throw new Error(`expected it to begin: ${JSON.stringify(result)}`);
  return result;
}
const done = async (scope: Scope, input: BeginInput, answer: string): Promise<string> => {
  const { id, token } = await begun(scope, input);
  await finishEffect(scope, { id, token, outcome: { state: "done", answer } });
  return id;
};
const failsWith = (promise: Promise<unknown>, code: ErrorCode) => expect(promise).rejects.toSatisfy((error) => isHoldfastError(error, code));
const stateOf = async (scope: Scope, id: string): Promise<EffectState | undefined> => (await readEffect(scope, id))?.state;
/** A scope whose commits and reads are counted. */
function counted(scope: Scope): { readonly scope: Scope; readonly calls: string[] } {
  const calls: string[] = [];
  const { store } = scope;
  const note =
    <Name extends "read" | "commit">(name: Name) =>
    (...args: Parameters<Store[Name]>): ReturnType<Store[Name]> => {
      calls.push(name);
      return (store[name] as (...given: Parameters<Store[Name]>) => ReturnType<Store[Name]>)(...args);
    };
  return { scope: { ...scope, store: { ...store, read: note("read"), commit: note("commit") } }, calls };
}

describe("an effect's identity", () => {
  const { identity } = pay;
  test("is the same however the arguments are written down", () => {
    expect(effectId(identity)).toMatch(/^fx-[0-9a-f]{20}$/);
    expect(effectId({ ...identity, ordinal: 1, scope: "", args: { amount: 10, to: "ann" } })).toBe(effectId(identity));
  });

  test.each([
    ["run", { run: "run-2" }],
    ["step", { step: 4 }],
    ["kind of step", { step: "3" }],
    ["ordinal", { ordinal: 2 }],
    ["tool", { tool: "refund" }],
    ["arguments", { args: { to: "ann", amount: 11 } }],
    ["scope", { scope: "bank" }],
    ["name", { name: "payment" }],
  ])("is another with another %s", (_, other) => {
    expect(effectId({ ...identity, ...other })).not.toBe(effectId(identity));
  });

  test("with a name is scope, run and name alone", () => {
    expect(effectId({ ...identity, name: "n", step: 9, ordinal: 4, tool: "other", args: null })).toBe(effectId({ ...identity, name: "n" }));
    expect(effectId({ ...identity, name: "n", run: "run-2" })).not.toBe(effectId({ ...identity, name: "n" }));
  });

  test.each([
    ["tool", { tool: "" }],
    ["run", { run: "a/b" }],
    ["step", { step: -1 }],
    ["ordinal", { ordinal: 0 }],
    ["name", { name: "" }],
    ["args", { args: undefined as never }],
  ])("is refused with a %s that nothing can have", async (field, wrong) => {
    const refusal = await beginEffect(openScope(), { ...pay, identity: { ...identity, ...wrong } }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "invalid_input", details: { field } });
  });
});

describe("an effect", () => {
  test("begins once, however many ask at the same time", async () => {
    const scope = openScope();
    const results = await Promise.all(Array.from({ length: 32 }, (_, i) => beginEffect({ ...scope, agent: `racer-${i}` }, pay)));
    expect(results.filter(({ outcome }) => outcome === "begun")).toHaveLength(1);
    expect(results.filter(({ outcome }) => outcome === "in_flight")).toHaveLength(31);
  });

  test("costs one commit to begin, without a read, and one to finish", async () => {
    const { scope, calls } = counted(openScope());
    const { id, token } = await begun(scope, pay);
    expect(calls).toEqual(["commit"]);
    await finishEffect(scope, { id, token, outcome: { state: "done", answer: 1 } });
    expect(calls).toEqual(["commit", "read", "commit"]);
    await keepEffectAlive(scope, { ...(await begun(scope, named("other", 1))), liveMs: 5_000 });
    expect(calls.slice(3)).toEqual(["commit", "commit"]);
  });

  test("that is done answers every repeat with what came back", async () => {
    const scope = openScope();
    const id = await done(scope, pay, "receipt 7");
    scope.clock.advance(60_000);
    expect(await beginEffect(scope, pay)).toEqual({ outcome: "done", id, answer: "receipt 7", answerKept: true, doneAtMs: scope.clock.nowMs() - 60_000, attempts: 1 });
    expect(await readEffect(scope, id)).toMatchObject({
      id,
      state: "done",
      tool: "pay",
      run: "run-1",
      step: 3,
      args: '{"amount":10,"to":"ann"}',
      answer: "receipt 7",
      attempts: 1,
    });
  });

  test("that failed may be begun again, and counts its attempts", async () => {
    const scope = openScope();
    const first = await begun(scope, pay);
    await finishEffect(scope, { ...first, outcome: { state: "failed", error: "no money" } });
    expect(await readEffect(scope, first.id)).toMatchObject({ state: "failed", answer: "no money" });
    const second = await begun(scope, pay);
    expect(second).toMatchObject({ id: first.id, attempt: 2 });
    expect(second.token).toBeGreaterThan(first.token);
    expect((await readEffect(scope, first.id))?.answer).toBeUndefined();
    expect((await listEffects(scope, { limit: 10 })).effects).toHaveLength(1);
  });

  test("of a live owner is in flight; heartbeats keep it so", async () => {
    const scope = openScope();
    const { id, token } = await begun({ ...scope, agent: "ann" }, pay);
    const sinceMs = scope.clock.nowMs();
    scope.clock.advance(9_999);
    expect(await beginEffect(scope, pay)).toEqual({ outcome: "in_flight", id, agent: "ann", sinceMs, liveUntilMs: sinceMs + 10_000, attempts: 1 });
    expect(await keepEffectAlive(scope, { id, token, liveMs: 20_000 })).toEqual({ liveUntilMs: scope.clock.nowMs() + 20_000 });
    scope.clock.advance(19_999);
    expect(await stateOf(scope, id)).toBe("intended");
    scope.clock.advance(1);
    expect(await stateOf(scope, id)).toBe("unknown");
  });

  test("under a name refuses other arguments, whatever its state, and returns no other effect's answer", async () => {
    const scope = openScope();
    await begun(scope, named("invoice-7", 10));
    await failsWith(beginEffect(scope, named("invoice-7", 11)), "conflict");
    scope.clock.advance(10_000);
    await failsWith(beginEffect(scope, { ...named("invoice-7", 11), policy: "retry" }), "conflict");
    await done(scope, named("invoice-8", 1), "paid 1");
    await failsWith(beginEffect(scope, named("invoice-8", 2)), "conflict");
  });

  test("is done even if its answer cannot be stored; the record says why there is none", async () => {
    const scope = openScope();
    for (const [name, answer] of [
      ["large", "x".repeat(2_000_000)],
      ["undefined", undefined],
      ["strange", new Date(0)],
    ] as const) {
      const attempt = await begun(scope, named(name, 1));
      await finishEffect(scope, { ...attempt, outcome: { state: "done", answer: answer as never } });
      expect(await beginEffect(scope, named(name, 1))).toMatchObject({ outcome: "done", answerKept: false, answer: { answer_not_kept: expect.stringMatching(/^answer: /) } });
    }
  });

  test("is forgotten when its time is over, and not before; what has not ended stays", async () => {
    const scope = openScope();
    const id = await done(scope, { ...pay, keepMs: 60_000 }, "first");
    const { id: open } = await begun(scope, named("open", 1));
    scope.clock.advance(59_999);
    expect(await beginEffect(scope, pay)).toMatchObject({ outcome: "done" });
    scope.clock.advance(1);
    expect(await readEffect(scope, id)).toBeUndefined();
    expect((await listEffects(scope, { limit: 10 })).effects.map((effect) => effect.id)).toEqual([open]);
    scope.clock.advance(5 * 365 * 86_400_000);
    expect(await stateOf(scope, open)).toBe("unknown");
  });

  test("cannot be ended by a late report of an earlier life", async () => {
    const scope = openScope();
    const first = await begun(scope, { ...pay, keepMs: 1_000 });
    await finishEffect(scope, { ...first, outcome: { state: "failed", error: 1 } });
    scope.clock.advance(1_000);
    const second = await begun(scope, pay);
    expect(second.attempt).toBe(1);
    await failsWith(finishEffect(scope, { ...first, outcome: { state: "done", answer: 1 } }), "conflict");
    await failsWith(keepEffectAlive(scope, { ...first, liveMs: 1_000 }), "conflict");
    expect(await stateOf(scope, first.id)).toBe("intended");
  });

  test("is recorded in history, with its name", async () => {
    const scope = openScope();
    const { id, token } = await begun(scope, named("invoice-7", 10));
    scope.clock.advance(10_000);
    await finishEffect(scope, { id, token, outcome: { state: "done", answer: 1 } });
    expect((await readHistory(scope, { name: id, kind: "effect", limit: 10 })).entries.map(({ op }) => op).sort()).toEqual(["begin", "finish", "unknown"]);
    expect((await readHistory(scope, { prefix: id.slice(0, 9), limit: 10 })).entries).toHaveLength(3);
    expect((await readActivity(scope, { limit: 10 })).items.map(({ kind, operation, title }) => [kind, operation, title])).toEqual([
      ["effect", "done", "invoice-7"],
      ["effect", "outcome unknown", "invoice-7"],
      ["effect", "begun", "invoice-7"],
    ]);
  });

  test("shows only the arguments that it was given to show", async () => {
    const scope = openScope();
    const { id } = await begun(scope, { ...pay, shownArgs: { card: "[redacted]" } });
    expect((await readEffect(scope, id))?.args).toBe('{"card":"[redacted]"}');
    const long = await begun(scope, { identity: { tool: "t", args: "ä".repeat(5_000) }, liveMs: 1_000 });
    expect((await readEffect(scope, long.id))?.args).toHaveLength(2_001);
    const { entries } = await scope.store.read(everything);
    expect(JSON.stringify(entries)).not.toContain('"to"');
  });
});

describe("an attempt that this process began", () => {
  test("is reported in one commit without a read, and stored as if its record had been read", async () => {
    const stored = async (remembers: boolean) => {
      const { scope, calls } = counted({ ...openScope(), agent: "ann" });
      const attempts = remembers ? new BegunAttempts() : undefined;
      const { id, token } = (await beginEffect(scope, pay, attempts)) as { readonly id: string; readonly token: number };
      await keepEffectAlive(scope, { id, token, liveMs: 20_000 });
      (scope.clock as ReturnType<typeof manualClock>).advance(3_000);
      calls.length = 0;
      await finishEffect({ ...scope, agent: "bob" }, { id, token, outcome: { state: "done", answer: { receipt: 7 } } }, attempts);
      const made = [...calls];
      const { entries } = await scope.store.read(everything);
      // The nonce differs between any two calls.
      return { made, entries: entries.map(({ value, ...entry }) => ({ ...entry, value: { ...(value as object), nonce: undefined } })) };
    };
    const [reading, remembering] = [await stored(false), await stored(true)];
    expect(reading.made).toEqual(["read", "commit"]);
    expect(remembering.made).toEqual(["commit"]);
    expect(remembering.entries).toEqual(reading.entries);
  });

  test("is not reported over what others have said since", async () => {
    const scope = openScope();
    for (const as of ["done", "failed", "begun again"] as const) {
      const attempts = new BegunAttempts();
      const input = named(as, 1);
      const { id, token } = (await beginEffect(scope, input, attempts)) as { readonly id: string; readonly token: number };
      scope.clock.advance(10_000);
      if (as === "begun again") await begun(scope, { ...input, policy: "retry" });
      else await resolveEffect(scope, { id, as });
      const before = await readEffect(scope, id);
      await failsWith(finishEffect(scope, { id, token, outcome: { state: "done", answer: "late" } }, attempts), "conflict");
      expect(await readEffect(scope, id)).toEqual(before);
    }
  });

  test("may report again, and only the same", async () => {
    const scope = openScope();
    const attempts = new BegunAttempts();
    const { id, token } = (await beginEffect(scope, pay, attempts)) as { readonly id: string; readonly token: number };
    const report = (answer: string) => finishEffect(scope, { id, token, outcome: { state: "done", answer } }, attempts);
    await report("first");
    expect(await report("first")).toEqual({ id, state: "done" });
    await failsWith(report("second"), "conflict");
  });

  test("is forgotten when there are a thousand newer ones; its report then reads", async () => {
    const { scope, calls } = counted(openScope());
    const attempts = new BegunAttempts();
    const all: { readonly id: string; readonly token: number }[] = [];
    for (let i = 0; i <= 1_000; i += 1) all.push((await beginEffect(scope, named(`n${i}`, i), attempts)) as { readonly id: string; readonly token: number });
    for (const [n, expected] of [
      [0, ["read", "commit"]],
      [1, ["commit"]],
      [1_000, ["commit"]],
    ] as const) {
      calls.length = 0;
      await finishEffect(scope, { ...(all[n] as (typeof all)[number]), outcome: { state: "done", answer: n } }, attempts);
      expect(calls).toEqual(expected);
    }
  });
});

describe("an effect whose outcome is unknown", () => {
  async function lost(input: BeginInput = pay) {
    const scope = openScope();
    const attempt = await begun({ ...scope, agent: "ann" }, input);
    const sinceMs = scope.clock.nowMs();
    scope.clock.advance(10_000);
    return { scope, attempt, id: attempt.id, sinceMs };
  }

  test("is never begun again unless the caller says so", async () => {
    const { scope, id, attempt, sinceMs } = await lost();
    for (let i = 0; i < 3; i += 1) expect(await beginEffect(scope, pay)).toEqual({ outcome: "unknown", id, token: attempt.token, agent: "ann", sinceMs, attempts: 1 });
    expect(await beginEffect(scope, { ...pay, policy: "retry" })).toMatchObject({ outcome: "begun", attempt: 2 });
    expect(await beginEffect(scope, { ...pay, policy: "retry" })).toMatchObject({ outcome: "in_flight", attempts: 2 });
  });

  test("counts as done by that policy, and the record says so", async () => {
    const { scope, id } = await lost();
    const assumed = { outcome: "done", id, answer: null, answerKept: true, resolved: "policy", doneAtMs: scope.clock.nowMs(), attempts: 1 };
    expect(await beginEffect(scope, { ...pay, policy: "assume-done" })).toEqual(assumed);
    expect(await beginEffect(scope, pay)).toEqual(assumed);
    expect(await readEffect(scope, id)).toMatchObject({ state: "done", resolved: "policy", agent: "ann" });
  });

  test("is resolved by a caller, as done or as failed", async () => {
    const one = await lost();
    expect(await resolveEffect({ ...one.scope, agent: "eve" }, { id: one.id, as: "done", answer: "receipt 9", reason: "seen at the bank" })).toEqual({ id: one.id, state: "done" });
    expect(await beginEffect(one.scope, pay)).toMatchObject({ outcome: "done", answer: "receipt 9", resolved: "caller" });
    expect(await readEffect(one.scope, one.id)).toMatchObject({ reason: "seen at the bank", agent: "ann", writer: "tester" });
    const two = await lost();
    await resolveEffect(two.scope, { id: two.id, as: "failed" });
    expect(await beginEffect(two.scope, pay)).toMatchObject({ outcome: "begun", attempt: 2 });
  });

  test("is resolved once: the same word again changes nothing, another is refused", async () => {
    const { scope, id } = await lost();
    await resolveEffect(scope, { id, as: "done" });
    const { revision } = await scope.store.position();
    expect(await resolveEffect(scope, { id, as: "done" })).toEqual({ id, state: "done" });
    await failsWith(resolveEffect(scope, { id, as: "failed" }), "conflict");
    expect((await scope.store.position()).revision).toBe(revision);
  });

  test("is resolved only as the attempt that was looked at", async () => {
    const { scope, id, attempt } = await lost();
    const looked = (await readEffect(scope, id))?.token as number;
    expect(looked).toBe(attempt.token);
    // Somebody finds out that nothing was paid. Before the word is given, the effect is begun again, and that attempt pays and is lost.
    const second = await begun(scope, { ...pay, policy: "retry" });
    scope.clock.advance(10_000);
    await failsWith(resolveEffect(scope, { id, token: looked, as: "failed" }), "conflict");
    expect(await readEffect(scope, id)).toMatchObject({ state: "unknown", token: second.token, attempts: 2 });
    expect(await resolveEffect(scope, { id, token: second.token, as: "done" })).toEqual({ id, state: "done" });
    expect(await resolveEffect(scope, { id, token: second.token, as: "done" })).toEqual({ id, state: "done" });
    await failsWith(resolveEffect(scope, { id, token: looked, as: "done" }), "conflict");
    await failsWith(resolveEffect(scope, { id, token: 1.5, as: "done" }), "invalid_input");
  });

  test("may still be reported by its owner, who knows better, until it is resolved or begun again", async () => {
    const reported = await lost();
    expect(await finishEffect(reported.scope, { ...reported.attempt, outcome: { state: "done", answer: 5 } })).toEqual({ id: reported.id, state: "done" });
    const resolved = await lost();
    await resolveEffect(resolved.scope, { id: resolved.id, as: "failed", reason: "not at the bank" });
    await failsWith(finishEffect(resolved.scope, { ...resolved.attempt, outcome: { state: "done", answer: 5 } }), "conflict");
    expect(await readEffect(resolved.scope, resolved.id)).toMatchObject({ state: "failed", reason: "not at the bank" });
    const again = await lost();
    await beginEffect(again.scope, { ...pay, policy: "retry" });
    await failsWith(finishEffect(again.scope, { ...again.attempt, outcome: { state: "done", answer: 5 } }), "conflict");
    expect(await stateOf(again.scope, again.id)).toBe("intended");
  });

  test("comes back to life with a sign of its owner, unless it was resolved", async () => {
    const { scope, attempt, id } = await lost();
    await keepEffectAlive(scope, { ...attempt, liveMs: 5_000 });
    expect(await stateOf(scope, id)).toBe("intended");
    scope.clock.advance(5_000);
    await resolveEffect(scope, { id, as: "done" });
    await failsWith(keepEffectAlive(scope, { ...attempt, liveMs: 5_000 }), "conflict");
  });

  test("is unknown at once when its owner says so, and can still be reported", async () => {
    const scope = openScope();
    const attempt = await begun(scope, pay);
    const unknown = { ...attempt, outcome: { state: "unknown", reason: "the connection broke" } } as const;
    await finishEffect(scope, unknown);
    await finishEffect(scope, unknown);
    expect(await beginEffect(scope, pay)).toMatchObject({ outcome: "unknown", reason: "the connection broke" });
    await failsWith(keepEffectAlive(scope, { ...attempt, liveMs: 5_000 }), "conflict");
    await finishEffect(scope, { ...attempt, outcome: { state: "done", answer: 1 } });
    expect(await readEffect(scope, attempt.id)).toMatchObject({ state: "done", reason: undefined });
  });

  test("of an owner who is alive cannot be resolved", async () => {
    const scope = openScope();
    const { id, token } = await begun(scope, pay);
    await failsWith(resolveEffect(scope, { id, as: "done" }), "conflict");
    await finishEffect(scope, { id, token, outcome: { state: "done", answer: "mine" } });
    await failsWith(resolveEffect(scope, { id, as: "done", answer: "yours" }), "conflict");
    expect((await readEffect(scope, id))?.answer).toBe("mine");
    await failsWith(resolveEffect(scope, { id: effectId({ tool: "never", args: null }), as: "done" }), "not_found");
  });
});

describe("a report", () => {
  test("given twice changes nothing; one that says otherwise is refused", async () => {
    const scope = openScope();
    const attempt = await begun(scope, pay);
    await finishEffect(scope, { ...attempt, outcome: { state: "done", answer: { b: 1, a: 2 } } });
    const { revision } = await scope.store.position();
    expect(await finishEffect(scope, { ...attempt, outcome: { state: "done", answer: { a: 2, b: 1 } } })).toEqual({ id: attempt.id, state: "done" });
    await failsWith(finishEffect(scope, { ...attempt, outcome: { state: "done", answer: "other" } }), "conflict");
    await failsWith(finishEffect(scope, { ...attempt, outcome: { state: "failed", error: "no" } }), "conflict");
    await failsWith(finishEffect(scope, { ...attempt, outcome: { state: "unknown", reason: "?" } }), "conflict");
    await failsWith(finishEffect(scope, { ...attempt, token: attempt.token + 1, outcome: { state: "done", answer: 1 } }), "conflict");
    expect((await scope.store.position()).revision).toBe(revision);
  });
});

describe("a guarded effect", () => {
  test("begins only under the current token of a live lease, and writes nothing otherwise", async () => {
    const scope = openScope();
    const lease = await acquireLease(scope, { resource: "bank", holder: "a", ttlMs: 10_000 });
    const token = lease.ok ? lease.token : 0;
    const under = (name: string, given: number): BeginInput => ({ ...named(name, 1), guard: { resource: "bank", token: given } });
    expect(await beginEffect(scope, under("one", token))).toMatchObject({ outcome: "begun" });
    await failsWith(beginEffect(scope, under("two", token + 1)), "lease_lost");
    await releaseLease(scope, { resource: "bank", holder: "a" });
    await acquireLease(scope, { resource: "bank", holder: "b", ttlMs: 10_000 });
    const { revision } = await scope.store.position();
    await failsWith(beginEffect(scope, under("two", token)), "lease_lost");
    expect((await scope.store.position()).revision).toBe(revision);
    expect((await listEffects(scope, { limit: 10 })).effects).toHaveLength(1);
  });

  test("of a run begins only for the worker who has the claim", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "run-1" });
    const tokenOf = async (agentId: string): Promise<number> => {
      const claim = await claimRun(scope, { runId: "run-1", agentId, ttlMs: 10_000 });
      return claim.ok ? claim.token : 0;
    };
    const resource = workflowKeys.resource("run-1");
    const first = { resource, token: await tokenOf("a") };
    await failsWith(beginEffect(scope, { ...pay, guard: { resource, token: first.token + 7 } }), "claim_lost");
    scope.clock.advance(10_000);
    await failsWith(beginEffect(scope, { ...pay, guard: first }), "claim_lost");
    const second = { resource, token: await tokenOf("b") };
    await failsWith(beginEffect(scope, { ...pay, guard: first }), "claim_lost");
    const { id, token } = await begun(scope, { ...pay, guard: second });
    // What is there already is told to anybody: nothing begins by it.
    expect(await beginEffect(scope, { ...pay, guard: first })).toMatchObject({ outcome: "in_flight" });
    // Reporting needs no claim: it has happened.
    scope.clock.advance(10_000);
    await failsWith(beginEffect(scope, { ...pay, guard: second, policy: "retry" }), "claim_lost");
    await failsWith(beginEffect(scope, { ...pay, guard: second, policy: "assume-done" }), "claim_lost");
    await finishEffect(scope, { id, token, outcome: { state: "done", answer: 1 } });
    expect(await beginEffect(scope, { ...pay, guard: first })).toMatchObject({ outcome: "done" });
  });
});

describe("when the answer of a commit is lost", () => {
  /** The next commit lands or not, and nobody is told. */
  function openUnsure() {
    const scope = openScope();
    const { store } = scope;
    const next: ("lands" | "is lost")[] = [];
    const commit: Store["commit"] = async (given) => {
      const fate = next.shift();
      if (fate === undefined) return store.commit(given);
      if (fate === "lands") await store.commit(given);
      throw new HoldfastError("outcome_unknown", "the answer was lost");
    };
    return { scope: { ...scope, store: { ...store, commit } }, next };
  }

  test.each(["lands", "is lost"] as const)("begin is answered truly if it %s: begun, once", async (fate) => {
    const { scope, next } = openUnsure();
    next.push(fate);
    const attempt = await begun(scope, pay);
    expect(attempt.attempt).toBe(1);
    expect(await beginEffect(scope, pay)).toMatchObject({ outcome: "in_flight", attempts: 1 });
    next.push(fate);
    await finishEffect(scope, { ...attempt, outcome: { state: "done", answer: 1 } });
    expect(await stateOf(scope, attempt.id)).toBe("done");
  });

  test("for longer than the live time, the caller must not do it; the record is shown", async () => {
    const { scope, next } = openUnsure();
    next.push("lands");
    scope.clock.advance(1);
    const first = { ...pay, liveMs: 1 };
    // The commit lands, but before it is looked up its owner counts as lost.
    const { store } = scope;
    let reads = 0;
    const read: Store["read"] = (...args) => {
      reads += 1;
      scope.clock.advance(1);
      return store.read(...args);
    };
    expect(await beginEffect({ ...scope, store: { ...store, read } }, first)).toMatchObject({ outcome: "unknown", attempts: 1 });
    expect(reads).toBe(1);
    scope.clock.advance(1);
    expect((await listEffects(scope, { limit: 1 })).effects).toMatchObject([{ state: "unknown", attempts: 1 }]);
  });

  test("a transport that delivers one call twice gets one answer", async () => {
    const scope = openScope();
    const once = { ...pay, nonce: "of-this-call" };
    const first = await beginEffect(scope, once);
    expect(await beginEffect(scope, once)).toEqual(first);
    expect(await beginEffect(scope, { ...pay, nonce: "of-another-call" })).toMatchObject({ outcome: "in_flight" });
    await finishEffect(scope, { ...(first as { id: string; token: number }), outcome: { state: "done", answer: 1 } });
    expect(await beginEffect(scope, once)).toMatchObject({ outcome: "done" });
  });

  test("a nonce is one caller's, and only while its owner counts as alive", async () => {
    const scope = openScope();
    const once = { ...pay, nonce: "chosen-and-kept" };
    expect(await beginEffect(scope, once)).toMatchObject({ outcome: "begun" });
    for (const other of [{ writer: "somebody-else" }, { agent: "another-agent" }]) expect(await beginEffect({ ...scope, ...other }, once)).toMatchObject({ outcome: "in_flight" });
    scope.clock.advance(pay.liveMs + 1);
    expect(await beginEffect(scope, once)).toMatchObject({ outcome: "unknown", attempts: 1 });
  });

  test("a request key gives no leave to do it twice", async () => {
    const scope = { ...openScope(), request: { key: "k", fingerprint: "f" } };
    expect(await beginEffect(scope, pay)).toMatchObject({ outcome: "begun" });
    expect(await beginEffect(scope, pay)).toMatchObject({ outcome: "in_flight" });
  });
});

describe("the list", () => {
  /** Ids by a short name, in the order listed, over all pages. */
  async function listed(scope: Scope, names: ReadonlyMap<string, string>, query: Omit<Parameters<typeof listEffects>[1], "limit">, limit: number): Promise<string[]> {
    const all: string[] = [];
    let after: string | undefined;
    do {
      const page: EffectPage = await listEffects(scope, { ...query, limit, after });
      expect(page.effects.length).toBeLessThanOrEqual(limit);
      all.push(...page.effects.map(({ id }) => names.get(id) ?? id));
      after = page.next;
    } while (after !== undefined);
    return all;
  }

  async function fill(scope: ReturnType<typeof openScope>): Promise<Map<string, string>> {
    const names = new Map<string, string>();
    const note = async (name: string, run: string, liveMs: number) => {
      const attempt = await begun(scope, { identity: { name, run, tool: "t", args: null }, liveMs });
      names.set(attempt.id, name);
      scope.clock.advance(10);
      return attempt;
    };
    for (const name of ["d1", "f1", "d2"]) {
      const attempt = await note(name, name === "d2" ? "two" : "one", 1_000);
      await finishEffect(scope, { ...attempt, outcome: name.startsWith("d") ? { state: "done", answer: 1 } : { state: "failed", error: 1 } });
    }
    for (const name of ["u1", "u2", "u3"]) await note(name, name === "u2" ? "two" : "one", 100);
    for (const name of ["i1", "i2"]) await note(name, "one", 60_000);
    scope.clock.advance(1_000);
    return names;
  }

  test.each([1, 2, 3, 100])("has unknown ones first, then those in flight, then the newest, in pages of %i", async (limit) => {
    const scope = openScope();
    const names = await fill(scope);
    expect(await listed(scope, names, {}, limit)).toEqual(["u1", "u2", "u3", "i1", "i2", "d2", "f1", "d1"]);
    expect(await listed(scope, names, { state: "unknown" }, limit)).toEqual(["u1", "u2", "u3"]);
    expect(await listed(scope, names, { state: "intended" }, limit)).toEqual(["i1", "i2"]);
    expect(await listed(scope, names, { state: "failed" }, limit)).toEqual(["f1"]);
    expect(await listed(scope, names, { run: "one" }, limit)).toEqual(["u1", "u3", "i1", "i2", "f1", "d1"]);
    expect(await listed(scope, names, { run: "two", state: "done" }, limit)).toEqual(["d2"]);
  });

  test("shows every unknown one, also of many more than one read gives", async () => {
    const scope = openScope();
    const names = new Map<string, string>();
    for (let i = 0; i < 1_100; i += 100)
      await Promise.all(
        Array.from({ length: 100 }, async (_, j) => names.set((await begun(scope, { ...named(`n${i + j}`, 1), liveMs: (i + j) % 3 === 0 ? 100 : 600_000 })).id, `n${i + j}`)),
      );
    scope.clock.advance(1_000);
    const unknown = await listed(scope, names, { state: "unknown" }, 250);
    expect(new Set(unknown).size).toBe(unknown.length);
    expect(unknown.toSorted()).toEqual([...names.values()].filter((name) => Number(name.slice(1)) % 3 === 0).toSorted());
    expect((await listed(scope, names, {}, 1_000)).slice(0, unknown.length)).toEqual(unknown);
  });

  test("refuses a position that no page gave", async () => {
    for (const after of ["", "x", "unknown", "ended//x/y"]) await failsWith(listEffects(openScope(), { limit: 1, after }), "invalid_input");
  });
});

/** The same story on every engine: what comes back may not depend on it. */
async function story(store: Store, clock: ReturnType<typeof manualClock>): Promise<unknown[]> {
  const scope: Scope = { store, clock, writer: "tester", agent: "ann" };
  const told: unknown[] = [];
  const tell = async (answer: Promise<unknown>) => told.push(await answer.catch((error: unknown) => (error instanceof HoldfastError ? error.code : error)));
  await acquireLease(scope, { resource: "bank", holder: "ann", ttlMs: 30_000 });
  const guard = { resource: "bank", token: 1 };
  const attempt = await begun(scope, { ...pay, guard });
  await tell(beginEffect(scope, pay));
  await tell(keepEffectAlive(scope, { ...attempt, liveMs: 20_000 }));
  clock.advance(20_000);
  for (const policy of ["ask", "retry"] as const) await tell(beginEffect(scope, { ...pay, guard, policy }));
  await tell(finishEffect(scope, { ...attempt, outcome: { state: "done", answer: "late" } }));
  clock.advance(10_000);
  await tell(beginEffect(scope, { ...pay, guard, policy: "retry" }));
  await tell(resolveEffect(scope, { id: attempt.id, as: "failed", reason: "looked" }));
  await tell(beginEffect(scope, { ...pay, guard }));
  const again = await begun(scope, { ...pay, keepMs: 5_000 });
  await tell(finishEffect(scope, { ...again, outcome: { state: "done", answer: { receipt: 9 } } }));
  await tell(beginEffect(scope, pay));
  await tell(beginEffect(scope, named("n", 1)));
  await tell(beginEffect(scope, named("n", 2)));
  await tell(listEffects(scope, { limit: 10 }));
  clock.advance(10_000);
  await tell(beginEffect(scope, { ...named("n", 1), policy: "assume-done" }));
  await tell(listEffects(scope, { limit: 10 }));
  await tell(readHistory(scope, { kind: "effect", limit: 50 }));
  return told.map((answer) => JSON.parse(JSON.stringify(answer, (name, value: unknown) => (name === "nonce" ? "by chance" : value))) as unknown);
}

test.each(engines)("effects give the same answers on $name", async (on) => {
  const model = manualClock();
  const expected = await story(openNamespaceStore(new MemoryEngine(model), "effects", model), model);
  const clock = manualClock();
  await using engine = await on.openOnClock(await on.freshUrl(), clock);
  expect(await story(openNamespaceStore(engine, "effects", clock), clock)).toEqual(expected);
});
