import { describe, expect, test } from "vitest";
import { claimNextRun, claimRun } from "../../src/domain/workflows/claims.ts";
import { findRuns, requireRunView, resumeRun } from "../../src/domain/workflows/find-runs.ts";
import { checkpointRun, createRun, finishRun, giveBackRun, renewClaim } from "../../src/domain/workflows/workflows.ts";
import type { ErrorCode } from "../../src/kernel/errors.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import type { TestScope } from "../support/scope.ts";
import { openScope, passTime } from "../support/scope.ts";

const ttlMs = 60_000;
const failing = (promise: Promise<unknown>, code: ErrorCode, details: object = {}) =>
  expect(
    promise.then(
      () => "no error",
      (error) => (isHoldfastError(error) ? { code: error.code, details: error.details } : error),
    ),
  ).resolves.toMatchObject({ code, details });

const claim = async (scope: TestScope, runId: string, agentId: string) => {
  const result = await claimRun(scope, { runId, agentId, ttlMs });
  if (!result.ok) throw new Error(`held by ${result.heldBy}`);
  return result;
};

describe("creating a run", () => {
  test("gives an id of its own that looks like wf- and 12 hexadecimal digits", async () => {
    expect((await createRun(openScope(), { name: "build" })).runId).toMatch(/^wf-[0-9a-f]{12}$/);
  });

  test("twice with the caller's own id returns the first", async () => {
    const scope = openScope();
    expect(await createRun(scope, { name: "first", runId: "nightly-1" })).toMatchObject({ created: true });
    expect(await createRun(scope, { name: "second", runId: "nightly-1" })).toEqual({ runId: "nightly-1", name: "first", status: "created", created: false });
  });

  test.each(["a/b", "", "é", "x".repeat(129)])("refuses the id %j", async (runId) => {
    await failing(createRun(openScope(), { name: "build", runId }), "invalid_input", { field: "run_id" });
  });
});

describe("claiming a run", () => {
  test("has exactly one winner among 32 racers", async () => {
    const scope = openScope();
    await createRun(scope, { name: "build", runId: "r" });
    const results = await Promise.all(Array.from({ length: 32 }, (_, i) => claimRun(scope, { runId: "r", agentId: `a${i}`, ttlMs })));
    const winners = results.filter((result) => result.ok);
    expect(winners).toHaveLength(1);
    const winner = winners[0];
    for (const loser of results.filter((result) => !result.ok)) expect(loser.ok || loser.heldBy).toBe(winner?.ok && winner.agentId);
  });

  test("again by its holder extends the same claim", async () => {
    const scope = openScope();
    await createRun(scope, { name: "build", runId: "r" });
    const first = await claim(scope, "r", "a");
    scope.clock.advance(30_000);
    expect(await claim(scope, "r", "a")).toMatchObject({ token: first.token, extended: true, expiresAtMs: scope.clock.nowMs() + ttlMs });
    expect(await requireRunView(scope, "r")).toMatchObject({ attempts: 1, status: "claimed" });
  });

  test("after a lapse gives a larger token and keeps the steps", async () => {
    const scope = openScope();
    await createRun(scope, { name: "build", runId: "r" });
    const first = await claim(scope, "r", "a");
    await checkpointRun(scope, { runId: "r", step: 1, output: "one", agentId: "a" });
    scope.clock.advance(ttlMs);
    const second = await claim(scope, "r", "b");
    expect(second.token).toBeGreaterThan(first.token);
    const resumed = await resumeRun(scope, "r", { limit: 10 });
    expect(resumed.steps).toEqual([{ step: 1, output: "one" }]);
    expect(resumed.view).toMatchObject({ lastStep: 1, agentId: "b", attempts: 2 });
  });

  test("of an unknown run is not_found, of a finished one workflow_finished", async () => {
    const scope = openScope();
    await failing(claimRun(scope, { runId: "none", agentId: "a", ttlMs }), "not_found");
    await createRun(scope, { name: "build", runId: "r" });
    await finishRun(scope, { runId: "r", ending: { status: "done" } });
    await failing(claimRun(scope, { runId: "r", agentId: "a", ttlMs }), "workflow_finished");
    await failing(checkpointRun(scope, { runId: "r", step: 1, output: 1 }), "workflow_finished");
  });
});

describe("claiming the next run", () => {
  test("takes the highest priority first, then the oldest", async () => {
    const scope = openScope();
    for (const [runId, priority] of [
      ["old", 0],
      ["young", 0],
      ["urgent", 5],
      ["low", -5],
    ] as const) {
      await createRun(scope, { name: "job", runId, priority });
      scope.clock.advance(1);
    }
    const taken = [];
    for (let i = 0; i < 5; i += 1) taken.push((await claimNextRun(scope, { agentId: `w${i}`, ttlMs, tags: [] })).runId);
    expect(taken).toEqual(["urgent", "old", "young", "low", undefined]);
  });

  test("takes only runs that carry all the tags", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "gpu", tags: { kind: "gpu" } });
    await createRun(scope, { name: "job", runId: "gpu-eu", tags: { kind: "gpu", region: "eu" } });
    expect(
      await claimNextRun(scope, {
        agentId: "w",
        ttlMs,
        tags: [
          ["kind", "gpu"],
          ["region", "eu"],
        ],
      }),
    ).toMatchObject({ ok: true, runId: "gpu-eu" });
    expect(await claimNextRun(scope, { agentId: "w", ttlMs, tags: [["region", "us"]] })).toEqual({ ok: false });
    expect(await claimNextRun(scope, { agentId: "w", ttlMs, tags: [["toString", "x"]] })).toEqual({ ok: false });
  });

  test("finds a lapsed run again, but not one whose claim was renewed", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "renewed" });
    await createRun(scope, { name: "job", runId: "lapsed" });
    await claim(scope, "renewed", "a");
    await claim(scope, "lapsed", "b");
    scope.clock.advance(ttlMs - 1);
    await renewClaim(scope, { runId: "renewed", agentId: "a", ttlMs });
    scope.clock.advance(1);
    expect(await claimNextRun(scope, { agentId: "c", ttlMs, tags: [] })).toMatchObject({ ok: true, runId: "lapsed" });
    expect(await claimNextRun(scope, { agentId: "d", ttlMs, tags: [] })).toEqual({ ok: false });
    scope.clock.advance(ttlMs);
    expect(await claimNextRun(scope, { agentId: "d", ttlMs, tags: [] })).toMatchObject({ ok: true });
  });

  test("gives 20 workers 20 different runs", async () => {
    const scope = openScope();
    for (let i = 0; i < 20; i += 1) await createRun(scope, { name: "job", runId: `r${i}` });
    const working = Promise.all(Array.from({ length: 20 }, (_, i) => claimNextRun(scope, { agentId: `w${i}`, ttlMs, tags: [] })));
    await passTime(scope.clock, 400, 10);
    const claims = await working;
    expect(new Set(claims.map((result) => result.runId)).size).toBe(20);
  });

  test("takes the oldest first also when many were created at once and the clock stood still", async () => {
    const scope = openScope();
    const names = ["z", "y", "x", "w", "v"];
    await Promise.all(names.map((runId) => createRun(scope, { name: "job", runId })));
    const taken = [];
    for (const name of names) taken.push((await claimNextRun(scope, { agentId: name, ttlMs, tags: [] })).runId);
    expect(taken).toEqual(names);
    expect((await findRuns(scope, { tags: [], claimable: false, limit: 10 })).runs.map((run) => run.runId)).toEqual(names.toReversed());
  });

  test("with a request key gives the same run again, not another one", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r1" });
    await createRun(scope, { name: "job", runId: "r2" });
    const asked = { ...scope, request: { key: "once", fingerprint: "f" } };
    const first = await claimNextRun(asked, { agentId: "w", ttlMs, tags: [] });
    expect(await claimNextRun(asked, { agentId: "w", ttlMs, tags: [] })).toEqual(first);
    expect((await findRuns(scope, { tags: [], claimable: true, limit: 10 })).runs.map((run) => run.runId)).toEqual(["r2"]);
  });
});

describe("checkpointing", () => {
  test("without a name works on an unclaimed run and leaves it claimable", async () => {
    const scope = openScope();
    await createRun(scope, { name: "solo", runId: "r" });
    expect(await checkpointRun(scope, { runId: "r", step: 3, output: { a: 1 } })).toEqual({ runId: "r", step: 3, lastStep: 3 });
    expect(await requireRunView(scope, "r")).toMatchObject({ status: "running", agentId: undefined });
    expect(await claimRun(scope, { runId: "r", agentId: "a", ttlMs })).toMatchObject({ ok: true });
  });

  test("never lets last_step fall; a step given again with another output replaces it", async () => {
    const scope = openScope();
    await createRun(scope, { name: "solo", runId: "r" });
    await checkpointRun(scope, { runId: "r", step: 5, output: "five" });
    expect(await checkpointRun(scope, { runId: "r", step: 2, output: "two" })).toMatchObject({ lastStep: 5 });
    await checkpointRun(scope, { runId: "r", step: 5, output: "FIVE" });
    expect((await resumeRun(scope, "r", { limit: 10 })).steps).toEqual([
      { step: 2, output: "two" },
      { step: 5, output: "FIVE" },
    ]);
  });

  test("the same step with the same output is no change at all", async () => {
    const scope = openScope();
    await createRun(scope, { name: "solo", runId: "r" });
    await checkpointRun(scope, { runId: "r", step: 1, output: { b: 1, a: 2 } });
    const before = (await scope.store.read({ start: "" }, { limit: 1 })).revision;
    await checkpointRun(scope, { runId: "r", step: 1, output: { a: 2, b: 1 } });
    expect((await scope.store.read({ start: "" }, { limit: 1 })).revision).toBe(before);
  });

  test("with a live claim must come from its holder", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    const { token } = await claim(scope, "r", "a");
    await failing(checkpointRun(scope, { runId: "r", step: 1, output: 1 }), "claim_held", { agent_id: "a" });
    await failing(checkpointRun(scope, { runId: "r", step: 1, output: 1, agentId: "stranger" }), "claim_held", { agent_id: "a" });
    await expect(checkpointRun(scope, { runId: "r", step: 1, output: 1, token })).resolves.toMatchObject({ lastStep: 1 });
    await expect(checkpointRun(scope, { runId: "r", step: 2, output: 1, agentId: "a" })).resolves.toMatchObject({ lastStep: 2 });
  });

  test("extends the claim", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    await claim(scope, "r", "a");
    scope.clock.advance(ttlMs - 1);
    await checkpointRun(scope, { runId: "r", step: 1, output: 1, agentId: "a" });
    scope.clock.advance(ttlMs - 1);
    expect(await claimRun(scope, { runId: "r", agentId: "b", ttlMs })).toMatchObject({ ok: false, heldBy: "a" });
  });

  test("a holder whose claim lapsed but was not taken continues with the same token, and holds the run again", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    const { token } = await claim(scope, "r", "a");
    scope.clock.advance(ttlMs * 3);
    // Someone looked for work meanwhile and put the run back in line.
    expect((await findRuns(scope, { tags: [], claimable: true, limit: 5 })).runs).toHaveLength(1);
    await checkpointRun(scope, { runId: "r", step: 1, output: 1, token });
    expect(await claimNextRun(scope, { agentId: "b", ttlMs, tags: [] })).toEqual({ ok: false });
    expect(await requireRunView(scope, "r")).toMatchObject({ agentId: "a", token, claimExpiresAtMs: scope.clock.nowMs() + ttlMs });
  });

  test("a replaced holder gets the name of its successor, by name and by token, and changes nothing", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    const { token } = await claim(scope, "r", "a");
    scope.clock.advance(ttlMs);
    await claim(scope, "r", "b");
    const before = (await scope.store.read({ start: "" }, { limit: 1 })).revision;
    await failing(checkpointRun(scope, { runId: "r", step: 9, output: 1, agentId: "a" }), "claim_lost", { successor: "b" });
    await failing(checkpointRun(scope, { runId: "r", step: 9, output: 1, token }), "claim_lost", { successor: "b" });
    await failing(finishRun(scope, { runId: "r", ending: { status: "done" }, token }), "claim_lost", { successor: "b" });
    expect((await scope.store.read({ start: "" }, { limit: 1 })).revision).toBe(before);
  });

  test("two holders of the same name are distinguished by token", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    const { token } = await claim(scope, "r", "a");
    scope.clock.advance(ttlMs);
    const second = await claim(scope, "r", "a");
    await failing(checkpointRun(scope, { runId: "r", step: 1, output: 1, agentId: "a", token }), "claim_lost");
    await expect(checkpointRun(scope, { runId: "r", step: 1, output: 1, agentId: "a", token: second.token })).resolves.toBeDefined();
  });
});

describe("ending a run", () => {
  test("done keeps the result and frees the claim", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    await claim(scope, "r", "a");
    expect(await finishRun(scope, { runId: "r", ending: { status: "done", result: { ok: 1 } }, agentId: "a" })).toEqual({ runId: "r", status: "done", attempts: 1 });
    expect(await requireRunView(scope, "r")).toMatchObject({ status: "done", result: { ok: 1 }, claimExpiresAtMs: undefined });
    expect(await claimNextRun(scope, { agentId: "b", ttlMs, tags: [] })).toEqual({ ok: false });
  });

  test("failed with retry makes it claimable again and counts attempts", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    await claim(scope, "r", "a");
    await finishRun(scope, { runId: "r", ending: { status: "failed", error: "boom", retry: true }, agentId: "a" });
    expect(await claimNextRun(scope, { agentId: "b", ttlMs, tags: [] })).toMatchObject({ ok: true, runId: "r" });
    expect(await requireRunView(scope, "r")).toMatchObject({ attempts: 2, error: "boom" });
  });

  test("done after a retry shows no old error, and who ended it", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    await claim(scope, "r", "a");
    await finishRun(scope, { runId: "r", ending: { status: "failed", error: "boom", retry: true }, agentId: "a" });
    const { token } = await claim(scope, "r", "b");
    await failing(checkpointRun(scope, { runId: "r", step: 1, output: 1, agentId: "a" }), "claim_lost", { successor: "b" });
    await finishRun(scope, { runId: "r", ending: { status: "done" }, agentId: "b" });
    expect(await requireRunView(scope, "r")).toMatchObject({ status: "done", error: undefined, agentId: "b", token });
  });

  test.each([[{ a: 1 }], [{ "": "x" }], [Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`t${i}`, "x"]))]])(
    "tags that are not names with texts are refused: %j",
    async (tags) => {
      await failing(createRun(openScope(), { name: "job", tags: tags as Record<string, string> }), "invalid_input", { field: "tags" });
    },
  );

  test("an ending that is none is refused", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    await failing(finishRun(scope, { runId: "r", ending: { status: "bogus" } as never }), "invalid_input", { field: "status" });
  });

  test("cancelling needs no claim, and stops the worker at its next step", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    await claim(scope, "r", "a");
    await finishRun(scope, { runId: "r", ending: { status: "cancelled" } });
    await failing(checkpointRun(scope, { runId: "r", step: 1, output: 1, agentId: "a" }), "workflow_finished", { status: "cancelled" });
  });

  test("giving back makes it claimable at once, and the giver must claim again", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    const { token } = await claim(scope, "r", "a");
    expect(await giveBackRun(scope, { runId: "r", agentId: "b" })).toEqual({ released: false });
    expect(await giveBackRun(scope, { runId: "r", agentId: "a", token })).toEqual({ released: true });
    expect(await requireRunView(scope, "r")).toMatchObject({ status: "created", agentId: undefined });
    await failing(checkpointRun(scope, { runId: "r", step: 1, output: 1, token }), "claim_lost");
    expect(await claimNextRun(scope, { agentId: "b", ttlMs, tags: [] })).toMatchObject({ ok: true, runId: "r" });
  });
});

describe("finding runs", () => {
  test("lists newest first, in pages, each run once", async () => {
    const scope = openScope();
    for (let i = 0; i < 25; i += 1) {
      await createRun(scope, { name: "job", runId: `r${i}` });
      scope.clock.advance(1);
    }
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await findRuns(scope, { tags: [], claimable: false, limit: 10, after });
      seen.push(...page.runs.map((run) => run.runId));
      after = page.next;
    } while (after !== undefined);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => `r${24 - i}`));
  });

  test("listing what is claimable changes nothing, and finds lapsed runs in their place", async () => {
    const scope = openScope();
    for (const runId of ["first", "second", "third"]) await createRun(scope, { name: "job", runId, tags: { kind: "x" } });
    await claim(scope, "second", "a");
    scope.clock.advance(ttlMs);
    const before = (await scope.store.read({ start: "" }, { limit: 1 })).revision;
    for (const tags of [[], [["kind", "x"]]] as const) {
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await findRuns(scope, { tags, claimable: true, limit: 1, after });
        seen.push(...page.runs.map((run) => run.runId));
        after = page.next;
      } while (after !== undefined);
      expect(seen).toEqual(["first", "second", "third"]);
    }
    expect((await scope.store.read({ start: "" }, { limit: 1 })).revision).toBe(before);
  });

  test("filters by status as it is shown: a lapsed claim is waiting again", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r" });
    await claim(scope, "r", "a");
    const withStatus = async (status: "created" | "claimed") => (await findRuns(scope, { tags: [], status, claimable: false, limit: 10 })).runs.length;
    expect([await withStatus("claimed"), await withStatus("created")]).toEqual([1, 0]);
    scope.clock.advance(ttlMs);
    expect([await withStatus("claimed"), await withStatus("created")]).toEqual([0, 1]);
  });

  test("resuming gives the newest steps, or those after a step", async () => {
    const scope = openScope();
    await createRun(scope, { name: "job", runId: "r", input: { url: "x" } });
    for (let step = 1; step <= 5; step += 1) await checkpointRun(scope, { runId: "r", step, output: step });
    const newest = await resumeRun(scope, "r", { limit: 2 });
    expect([newest.steps.map((entry) => entry.step), newest.more, newest.input]).toEqual([[4, 5], true, { url: "x" }]);
    const after = await resumeRun(scope, "r", { stepsAfter: 1, limit: 2 });
    expect([after.steps.map((entry) => entry.step), after.more]).toEqual([[2, 3], true]);
  });
});
