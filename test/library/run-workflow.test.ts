import { describe, expect, test } from "vitest";
import type { Holdfast, StepAttempt, WorkflowHandler } from "../../src/index.ts";
import { EffectNotDone, EffectUnknown, runWorkflow, signalWorkflow, startWorkflow, workWorkflows } from "../../src/index.ts";
import { libraries } from "./libraries.ts";
import { dyingAt, openManual } from "./manual-library.ts";

for (const { name, open } of libraries())
  describe(`runWorkflow, ${name}`, () => {
    test("runs the steps, stores their outputs, and returns the result again without running anything", async () => {
      await using holdfast = await open();
      const ran: string[] = [];
      const order = (): Promise<unknown> =>
        runWorkflow(holdfast, { name: "order", runId: "o-1", input: { id: "o-1", amount: 5 }, tags: { shop: "a" } }, async (step, { input, tags, claim }) => {
          const price = await step.run("price", () => {
            ran.push("price");
            return input.amount * 2;
          });
          const paid = await step.run("charge", ({ effectId }) => ({ charged: price, key: effectId?.slice(0, 3) ?? null }), { effect: true, args: { amount: price } });
          await step.run("log", async () => void (await holdfast.state.set("log", paid, { lease: claim })));
          await step.sleep("rest", 1);
          return { ...paid, shop: tags.shop ?? null };
        });
      const done = { status: "done", runId: "o-1", result: { charged: 10, key: "fx-", shop: "a" } };
      expect(await order()).toEqual(done);
      expect(await order()).toEqual(done);
      expect(ran).toEqual(["price"]);
      expect((await holdfast.effects.list({ run: "o-1" })).effects).toMatchObject([{ name: "charge", state: "done", attempts: 1 }]);
      expect((await holdfast.workflows.get("o-1")).status).toBe("done");
    });

    test("a worker continues after the last finished step of the one before", async () => {
      await using holdfast = await open();
      const ran: string[] = [];
      const stop = new AbortController();
      const handler: WorkflowHandler<null, number> = async (step) => {
        const one = await step.run("one", () => {
          ran.push("one");
          return 1;
        });
        const two = await step.run("two", ({ signal }) => {
          ran.push("two");
          if (!stop.signal.aborted) stop.abort();
          signal.throwIfAborted();
          return 2;
        });
        return one + two;
      };
      const options = { name: "sum", runId: "r", input: null };
      expect(await runWorkflow(holdfast, { ...options, signal: stop.signal }, handler)).toEqual({ status: "stopped", runId: "r" });
      expect(await runWorkflow(holdfast, options, handler)).toEqual({ status: "done", runId: "r", result: 3 });
      expect(ran).toEqual(["one", "two", "two"]);
      expect((await holdfast.workflows.get("r")).attempts).toBe(2);
    });

    test("workers take the runs of a workflow, each once, and a signal reaches the run that waits for it", async () => {
      await using holdfast = await open();
      for (let i = 0; i < 4; i += 1) await startWorkflow(holdfast, { name: "batch", runId: `b-${i}`, input: i });
      await startWorkflow(holdfast, { name: "other", input: null });
      const seen: number[] = [];
      await signalWorkflow(holdfast, "b-2", "approved", { by: "ann" });
      const work = { name: "batch", concurrency: 2, stopsWhenIdle: true, holdMs: 0 };
      const outcomes: unknown[] = [];
      const handler: WorkflowHandler<number, string> = async (step, { input }) => {
        await step.run("see", () => void seen.push(input));
        const approval = await step.waitFor<{ by: string }>("approved");
        return approval?.by ?? "nobody";
      };
      await workWorkflows(holdfast, { ...work, onOutcome: (outcome) => void outcomes.push(outcome.status) }, handler);
      expect(seen.sort()).toEqual([0, 1, 2, 3]);
      expect(outcomes.sort()).toEqual(["done", "parked", "parked", "parked"]);
      expect((await holdfast.workflows.get("b-2")).result).toBe("ann");
      await signalWorkflow(holdfast, "b-3", "approved", { by: "bob" });
      await workWorkflows(holdfast, work, handler);
      expect((await holdfast.workflows.get("b-3")).result).toBe("bob");
      expect(seen).toHaveLength(4);
      await expect(signalWorkflow(holdfast, "b-3", "approved")).rejects.toMatchObject({ code: "workflow_finished" });
    });

    test("an effect whose outcome is unknown parks the run until it is resolved", async () => {
      await using holdfast = await open();
      let charges = 0;
      let caught: unknown;
      const pay = () =>
        runWorkflow(holdfast, { name: "pay", runId: "p", input: null, lookAgainMs: 1 }, async (step) => {
          const charge = () => {
            charges += 1;
            throw new Error("timeout");
          };
          return step.run("charge", charge, { effect: true, retries: 5, backoffMs: 1 }).catch((error: unknown) => {
            caught = error;
            // Whatever the function does about it, the run stays parked.
            return "swallowed";
          });
        });
      const parked = await pay();
      expect(parked).toMatchObject({ status: "parked", reason: "effect_unknown", step: "charge" });
      expect(caught).toBeInstanceOf(EffectUnknown);
      expect(await pay()).toEqual(parked);
      expect(charges).toBe(1);
      const [unknown] = (await holdfast.effects.list({ state: "unknown" })).effects;
      expect(unknown).toMatchObject({ run: "p", name: "charge", reason: "timeout" });
      await holdfast.effects.resolve({ id: unknown?.id as string, as: "done", answer: "receipt" });
      expect(await pay()).toMatchObject({ status: "done", result: "receipt" });
      expect(charges).toBe(1);
    });
  });

describe("a step", () => {
  const options = { name: "w", runId: "r", input: null };
  /** Fails the first time it is tried. */
  const failingOnce =
    (tries: string[], name: string, error: Error) =>
    ({ attempt }: StepAttempt): number => {
      tries.push(name);
      if (attempt === 1) throw error;
      return attempt;
    };

  test("whose effect gave more than can be stored has no output, also for the worker that takes over", async () => {
    const { holdfast, clock } = openManual();
    let sent = 0;
    const send = (): string => {
      sent += 1;
      return "x".repeat(1_048_576);
    };
    await startWorkflow(holdfast, options);
    // The first worker died after its effect was recorded and before the step was.
    await holdfast.effects.once({ run: "r", name: "send", tool: "send", args: null }, send);
    const outcome = await runWorkflow(holdfast, { ...options, clock }, (step) => step.run("send", send, { effect: true }));
    expect(sent).toBe(1);
    expect(JSON.stringify(outcome)).not.toContain("answer_not_kept");
    expect(outcome).toMatchObject({ status: "failed" });
  });

  test("is tried again with growing pauses, up to its limit; then its error ends the run", async () => {
    const { holdfast, clock } = openManual();
    const atMs: number[] = [];
    const startMs = clock.nowMs();
    const fail = ({ attempt }: StepAttempt): number => {
      atMs.push(clock.nowMs() - startMs);
      if (attempt < 4) throw new Error(`attempt ${attempt}`);
      return attempt;
    };
    const running = runWorkflow(holdfast, { ...options, clock }, (step) => step.run("flaky", fail, { retries: 3, backoffMs: 100 }));
    await clock.advanceBy(1_000);
    expect(await running).toMatchObject({ status: "done", result: 4 });
    expect(atMs).toEqual([0, 100, 300, 700]);
    const failing = runWorkflow(holdfast, { ...options, runId: "f", clock }, (step) =>
      step.run("flaky", () => Promise.reject(new RangeError("no")), { retries: 1, backoffMs: 100 }),
    );
    await clock.advanceBy(200);
    expect(await failing).toMatchObject({ status: "failed", error: { name: "RangeError", message: "no" } });
    expect(await holdfast.workflows.get("f")).toMatchObject({ status: "failed", error: { message: "no" } });
  });

  test("that is an effect is tried again when it is certain that nothing happened, or where its policy says so", async () => {
    const { holdfast } = openManual();
    const tries: string[] = [];
    const outcome = await runWorkflow(holdfast, options, async (step) => {
      const effect = { effect: true, retries: 1, backoffMs: 0 };
      const first = await step.run("first", failingOnce(tries, "first", new EffectNotDone("refused")), effect);
      const second = await step.run("second", failingOnce(tries, "second", new Error("timeout")), { ...effect, policy: "retry" });
      const third = await step.run("third", failingOnce(tries, "third", new Error("timeout")), { ...effect, retries: 0, policy: "assume-done" });
      return [first, second, third];
    });
    expect(outcome).toMatchObject({ status: "done", result: [2, 2, null] });
    expect(tries).toEqual(["first", "first", "second", "second", "third"]);
  });

  test("needs a unique name: a second one of the same name, or of another kind, is refused", async () => {
    const { holdfast } = openManual();
    const twice = await runWorkflow(holdfast, options, async (step) => [await step.run("a", () => 1), await step.run("a", () => 2)]);
    expect(twice).toMatchObject({ status: "failed", error: { code: "invalid_input", message: expect.stringContaining('"a" was used twice') } });
    const [kept, changed] = [{ ...options, runId: "k" }, new AbortController()];
    await runWorkflow(holdfast, { ...kept, signal: changed.signal }, async (step) => {
      await step.run("a", () => 1);
      changed.abort();
      await step.run("b", () => 2);
    });
    expect(await runWorkflow(holdfast, kept, (step) => step.sleep("a", 1))).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("another kind (run, not sleep)") },
    });
    await expect(runWorkflow(holdfast, { ...options, name: "other" }, () => 1)).rejects.toMatchObject({ code: "conflict" });
  });

  test("with other arguments than the effect of its name began with is a conflict, never the other's answer", async () => {
    const { holdfast } = openManual();
    await holdfast.effects.once({ run: "r", name: "charge", tool: "charge", args: { amount: 1 } }, () => "one");
    const outcome = await runWorkflow(holdfast, options, (step) => step.run("charge", () => "two", { effect: true, args: { amount: 2 } }));
    expect(outcome).toMatchObject({ status: "failed", error: { code: "conflict" } });
  });

  test("that sleeps long gives the run back until its time, and sleeps only once", async () => {
    const { holdfast, clock } = openManual();
    const work = { name: "w", stopsWhenIdle: true, clock, ttlMs: 5_000 };
    await startWorkflow(holdfast, options);
    const handler: WorkflowHandler<null, string> = async (step) => {
      await step.sleep("night", 3_600_000);
      return "morning";
    };
    await workWorkflows(holdfast, work, handler);
    expect(await holdfast.workflows.get("r")).toMatchObject({ status: "running", claimExpiresAtMs: undefined });
    clock.advance(3_599_000);
    await workWorkflows(holdfast, work, handler);
    expect((await holdfast.workflows.get("r")).attempts).toBe(1);
    clock.advance(1_001);
    await workWorkflows(holdfast, work, handler);
    expect(await holdfast.workflows.get("r")).toMatchObject({ status: "done", result: "morning", attempts: 2 });
  });

  test("that waits for a signal gives up when its time is over, and a signal is taken once", async () => {
    const { holdfast, clock } = openManual();
    const running = runWorkflow(holdfast, { ...options, clock }, async (step) => [
      (await step.waitFor("go", { timeoutMs: 1_000 })) ?? null,
      (await step.waitFor("go", { name: "go again" })) ?? null,
      (await step.waitFor("go", { name: "and again", timeoutMs: 1_000 })) ?? null,
    ]);
    await clock.advanceBy(1_500);
    await signalWorkflow(holdfast, "r", "go", 7);
    await clock.advanceBy(2_000);
    expect(await running).toMatchObject({ status: "done", result: [null, 7, null] });
  });
});

describe("a run", () => {
  const options = { name: "w", runId: "r", input: null, ttlMs: 3_000 };
  const untilAborted = (signal: AbortSignal): Promise<string> => new Promise((resolve) => signal.addEventListener("abort", () => resolve("late"), { once: true }));

  test("that takes long is kept by heartbeats; if it is cancelled, its work is notified and nothing more is stored", async () => {
    const { holdfast, clock } = openManual();
    const running = runWorkflow(holdfast, { ...options, clock }, async (step) => {
      await step.run("long", ({ signal }) => untilAborted(signal));
      return "finished";
    });
    await clock.advanceBy(20_000);
    expect((await holdfast.workflows.claim({ runId: "r" }, { agent: "a2" })).ok).toBe(false);
    await holdfast.workflows.finish("r", { status: "cancelled" });
    await clock.advanceBy(1_000);
    expect(await running).toEqual({ status: "cancelled", runId: "r" });
    expect((await holdfast.workflows.resume("r")).steps).toEqual([]);
  });

  test("whose worker heard nothing from the store stops before another can take it, and cannot begin an effect afterwards", async () => {
    const { holdfast, clock } = openManual();
    // Frozen: its renewals hang, and its function notices nothing.
    const frozen: Holdfast = { ...holdfast, workflows: { ...holdfast.workflows, renew: () => new Promise<never>(() => {}) } };
    let stoppedAtMs = 0;
    let effects = 0;
    const addEffect = (): number => {
      effects += 1;
      return effects;
    };
    const startMs = clock.nowMs();
    const zombie = runWorkflow(frozen, { ...options, clock }, async (step, { signal }) => {
      await untilAborted(signal);
      stoppedAtMs = clock.nowMs() - startMs;
      return step.run("charge", addEffect, { effect: true });
    });
    await clock.advanceBy(2_999);
    expect(stoppedAtMs).toBe(2_700);
    expect((await holdfast.workflows.claim({ runId: "r" }, { agent: "a2" })).ok).toBe(false);
    await clock.advanceBy(1);
    expect(await runWorkflow(holdfast, { ...options, clock }, (step) => step.run("charge", addEffect, { effect: true }))).toMatchObject({ status: "done", result: 1 });
    expect(await zombie).toMatchObject({ status: "held" });
    expect(effects).toBe(1);
  });
});

describe("workers that die between any two messages", () => {
  const steps = ["reserve", "charge", "ship"] as const;

  /** One order by workers of which the first dies at its nth call; another takes over, and a person who can see the effects resolves what is unknown. */
  async function dieAt(nth: number, when: "before" | "after", fault: (holdfast: Holdfast) => Holdfast = (holdfast) => holdfast) {
    const { holdfast, clock } = openManual();
    const effects: string[] = [];
    const plain: string[] = [];
    const handler: WorkflowHandler<null, string> = async (step) => {
      for (const name of steps) {
        await step.run(`prepare ${name}`, () => void plain.push(name));
        await step.run(
          name,
          () => {
            effects.push(name);
            return "ok";
          },
          { effect: true },
        );
      }
      return "sent";
    };
    const options = { name: "order", runId: "o", input: null, ttlMs: 3_000, clock };
    await startWorkflow(holdfast, options);
    const first = dyingAt({ holdfast, clock }, nth, when);
    void runWorkflow(fault(first.holdfast), options, handler).catch(() => undefined);
    await clock.advanceBy(100);
    const hasDied = first.isDead();
    await clock.advanceBy(7_000);
    let unknown = 0;
    for (let outcome = "parked"; outcome === "parked"; ) {
      const running = runWorkflow(fault(holdfast), options, handler);
      await clock.advanceBy(4_000);
      ({ status: outcome } = await running);
      for (const { id, name } of (await holdfast.effects.list({ state: "unknown" })).effects) {
        unknown += 1;
        await holdfast.effects.resolve(effects.includes(name as string) ? { id, as: "done", answer: "ok" } : { id, as: "failed" });
      }
    }
    const doubled = effects.filter((name, i) => effects.indexOf(name) !== i);
    const skipped = steps.filter((name) => !effects.includes(name) || !plain.includes(name));
    const view = await holdfast.workflows.get("o");
    return { hasDied, unknown, doubled, skipped, plain, status: view.status };
  }

  test("do each effect once, or show it as unknown; none is skipped, and finished steps are not run again", async () => {
    let deaths = 0;
    let unknowns = 0;
    for (const when of ["before", "after"] as const)
      for (let nth = 1; ; nth += 1) {
        const result = await dieAt(nth, when);
        expect({ nth, when, ...result }).toMatchObject({ doubled: [], skipped: [], status: "done" });
        expect(result.unknown).toBeLessThanOrEqual(1);
        // A step that is no effect may run again once, if the worker died before it was on record.
        expect(result.plain.length).toBeLessThanOrEqual(steps.length + 1);
        unknowns += result.unknown;
        if (!result.hasDied) break;
        deaths += 1;
      }
    // It was killed at every call of a run, and some of those left an effect in doubt.
    expect(deaths).toBeGreaterThan(30);
    expect(unknowns).toBeGreaterThanOrEqual(steps.length * 2);
  });

  const planted: Readonly<Record<string, (holdfast: Holdfast) => Holdfast>> = {
    "an effect that is recorded after it was done": (holdfast) => ({
      ...holdfast,
      effects: {
        ...holdfast.effects,
        once: async (identity, perform, options) => {
          const answer = await perform({ id: "fx", token: 1, attempt: 1, signal: new AbortController().signal });
          return holdfast.effects.once(identity, () => answer, options);
        },
      },
    }),
    "an unknown effect that is done again without asking": (holdfast) => ({
      ...holdfast,
      effects: { ...holdfast.effects, once: (identity, perform, options) => holdfast.effects.once(identity, perform, { ...options, policy: "retry" }) },
    }),
    "an unknown effect that is taken for done": (holdfast) => ({
      ...holdfast,
      effects: { ...holdfast.effects, once: (identity, perform, options) => holdfast.effects.once(identity, perform, { ...options, policy: "assume-done" }) },
    }),
    "an effect that is known by a new name for each attempt": (holdfast) => ({
      ...holdfast,
      effects: { ...holdfast.effects, once: (identity, perform, options) => holdfast.effects.once({ ...identity, name: `${identity.name}-${Math.random()}` }, perform, options) },
    }),
    "steps that are not stored": (holdfast) => ({
      ...holdfast,
      workflows: { ...holdfast.workflows, checkpoint: async (runId, step) => ({ runId, step, lastStep: step }) },
    }),
  };

  test.each(Object.entries(planted))("the check sees %s", async (_what, fault) => {
    const found: unknown[] = [];
    for (const when of ["before", "after"] as const)
      for (let nth = 1; found.length === 0; nth += 1) {
        const { hasDied, doubled, skipped, plain } = await dieAt(nth, when, fault);
        if (doubled.length + skipped.length > 0 || plain.length > steps.length + 1) found.push({ nth, when, doubled, skipped, plain });
        if (!hasDied) break;
      }
    expect(found).toHaveLength(1);
  });

  test("the check sees an effect that begins without the claim as its guard", async () => {
    // A worker that was frozen after its last look at the claim, and goes on when another has taken over.
    const attempt = async (withoutGuard: boolean): Promise<number> => {
      const { holdfast, clock } = openManual();
      let done = 0;
      const options = { name: "w", runId: "r", input: null, ttlMs: 3_000, clock };
      let thaw: () => void = () => {};
      const frozen = new Promise<void>((resolve) => {
        thaw = resolve;
      });
      const sleepy: Holdfast = {
        ...holdfast,
        effects: {
          ...holdfast.effects,
          async once(identity, perform, given) {
            await frozen;
            return holdfast.effects.once(identity, perform, withoutGuard ? { ...given, guard: undefined } : given);
          },
        },
        workflows: { ...holdfast.workflows, renew: () => new Promise<never>(() => {}) },
      };
      const charge =
        (name: string): WorkflowHandler<null, string> =>
        (step) =>
          step.run(
            name,
            () => {
              done += 1;
              return "ok";
            },
            { effect: true },
          );
      const zombie = runWorkflow(sleepy, options, charge("charge")).catch(() => undefined);
      await clock.advanceBy(4_000);
      await holdfast.workflows.claim({ runId: "r" }, { agent: "successor", ttlMs: 60_000 });
      thaw();
      await clock.advanceBy(100);
      await zombie;
      return done;
    };
    expect(await attempt(false)).toBe(0);
    expect(await attempt(true)).toBe(1);
  });
});
