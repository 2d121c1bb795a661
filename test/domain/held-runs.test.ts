import { describe, expect, test } from "vitest";
import { claimNextRun, claimRun } from "../../src/domain/workflows/claims.ts";
import { HeldRuns } from "../../src/domain/workflows/held-runs.ts";
import { checkpointRun, createRun, finishRun, giveBackRun, renewClaim } from "../../src/domain/workflows/workflows.ts";
import type { ErrorCode } from "../../src/kernel/errors.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Store } from "../../src/store/store.ts";
import { openScope } from "../support/scope.ts";

const ttlMs = 10_000;
const failsWith = (promise: Promise<unknown>, code: ErrorCode) => expect(promise).rejects.toSatisfy((error) => isHoldfastError(error, code));

/** Runs are numbered in the order of their arrival in this process. */
const placeless = <Rows>(rows: Rows): Rows => JSON.parse(JSON.stringify(rows).replace(/\b\d{32}\b/g, "place")) as Rows;

/** A run that a worker has claimed, and what its calls ask of the store. */
async function open({ remembers = true, next = false }: { readonly remembers?: boolean; readonly next?: boolean } = {}) {
  const plain = openScope();
  const calls: string[] = [];
  const { store } = plain;
  const read: Store["read"] = (...args) => {
    calls.push("read");
    return store.read(...args);
  };
  const commit: Store["commit"] = (...args) => {
    calls.push("commit");
    return store.commit(...args);
  };
  const scope = { ...plain, store: { ...store, read, commit }, agent: "ann" };
  const held = remembers ? new HeldRuns() : undefined;
  await createRun(plain, { name: "job", runId: "r" });
  const claim = next ? await claimNextRun(scope, { tags: [], agentId: "ann", ttlMs }, held) : await claimRun(scope, { runId: "r", agentId: "ann", ttlMs }, held);
  if (!claim.ok) throw new Error("It was not claimed.");
  const { token } = claim;
  const during = async <T>(work: () => Promise<T>): Promise<readonly string[]> => {
    calls.length = 0;
    await work();
    return [...calls];
  };
  return {
    plain,
    clock: plain.clock,
    token,
    during,
    step: (number: number, output: string | number = number) => checkpointRun(scope, { runId: "r", step: number, output, agentId: "ann", token }, held),
    finish: () => finishRun(scope, { runId: "r", ending: { status: "done", result: "ok" }, agentId: "ann", token }, held),
    stored: async () => placeless((await store.read(everything)).entries),
    log: async () => placeless((await store.log({ ranges: [everything] })).rows),
  };
}

describe("a worker that holds a run", () => {
  test.each([false, true])("reports steps and the end in one commit each, and stores what it would have stored after reading (next: %s)", async (next) => {
    const work = async (remembers: boolean) => {
      const run = await open({ remembers, next });
      const calls: (readonly string[])[] = [];
      for (const number of [1, 2, 4, 3]) {
        run.clock.advance(1_000);
        calls.push(await run.during(() => run.step(number)));
      }
      const held = await run.stored();
      calls.push(await run.during(run.finish));
      return { calls, held, ended: await run.stored(), log: await run.log() };
    };
    const [reading, remembering] = [await work(false), await work(true)];
    expect(reading.calls).toEqual(Array.from({ length: 5 }, () => ["read", "commit"]));
    expect(remembering.calls).toEqual(Array.from({ length: 5 }, () => ["commit"]));
    const { calls: _, ...stored } = remembering;
    expect(stored).toEqual({ held: reading.held, ended: reading.ended, log: reading.log });
  });

  const losses = {
    "was replaced": { code: "claim_lost", lose: ({ plain }) => claimRun(plain, { runId: "r", agentId: "bob", ttlMs }), afterMs: ttlMs },
    "gave it back": { code: "claim_lost", lose: ({ plain, token }) => giveBackRun(plain, { runId: "r", agentId: "ann", token }), afterMs: 0 },
    "gave it back, and another has it": {
      code: "claim_lost",
      lose: async ({ plain, token }) => {
        await giveBackRun(plain, { runId: "r", agentId: "ann", token });
        await claimRun(plain, { runId: "r", agentId: "bob", ttlMs });
      },
      afterMs: 0,
    },
    "worked on a run that was cancelled": {
      code: "workflow_finished",
      lose: ({ plain }) => finishRun(plain, { runId: "r", ending: { status: "cancelled" } }),
      afterMs: 0,
    },
  } as const satisfies Record<string, { readonly code: ErrorCode; readonly lose: (run: Awaited<ReturnType<typeof open>>) => Promise<unknown>; readonly afterMs: number }>;

  describe.each(Object.entries(losses))("that %s", (_, { code, lose, afterMs }) => {
    test.each(["step", "finish"] as const)("can report nothing: %s", async (report) => {
      const run = await open();
      await run.step(1);
      run.clock.advance(afterMs);
      await lose(run);
      const before = await run.stored();
      await failsWith(report === "step" ? run.step(2) : run.finish(), code);
      expect(await run.stored()).toEqual(before);
    });
  });

  test("whose run was put off in the index by another worker leaves it where a third finds it", async () => {
    const run = await open();
    run.clock.advance(ttlMs / 2);
    await run.step(1);
    run.clock.advance(ttlMs / 2);
    expect(await claimNextRun(run.plain, { tags: [], agentId: "bob", ttlMs })).toEqual({ ok: false });
    expect(await run.during(() => run.step(2))).toEqual(["commit", "read", "commit"]);
    run.clock.advance(ttlMs);
    expect(await claimNextRun(run.plain, { tags: [], agentId: "eve", ttlMs })).toMatchObject({ ok: true, runId: "r" });
  });

  test("does not shorten its claim that was renewed for longer meanwhile, and reads nothing after that", async () => {
    const run = await open();
    await run.step(1);
    await renewClaim(run.plain, { runId: "r", agentId: "ann", token: run.token, ttlMs: 100_000 });
    expect(await run.during(() => run.step(2))).toEqual(["commit", "read", "commit"]);
    run.clock.advance(99_999);
    expect(await claimRun(run.plain, { runId: "r", agentId: "bob", ttlMs })).toMatchObject({ ok: false, heldBy: "ann" });
    expect(await run.during(() => run.step(3))).toEqual(["commit"]);
  });

  test("whose claim has lapsed continues while no other worker has claimed it, and holds it again", async () => {
    const run = await open();
    await run.step(1);
    run.clock.advance(ttlMs);
    expect(await run.during(() => run.step(2))).toEqual(["commit", "read", "commit"]);
    expect(await claimRun(run.plain, { runId: "r", agentId: "bob", ttlMs })).toMatchObject({ ok: false, heldBy: "ann" });
  });

  test("reports a step again, or with another output, as before", async () => {
    const run = await open();
    await run.step(1, "a");
    expect(await run.step(1, "a")).toMatchObject({ lastStep: 1 });
    expect((await run.stored()).find(({ value }) => value === "a")?.version).toBe(1);
    await run.step(1, "b");
    expect((await run.stored()).filter(({ value }) => value === "b")).toHaveLength(1);
    expect(await run.step(2)).toMatchObject({ lastStep: 2 });
  });

  test("with another name or token is not taken for the holder", async () => {
    const run = await open();
    await run.step(1);
    const held = new HeldRuns();
    held.note("r", { run: {} as never, revision: 1, holder: "ann", token: 7, ttlMs });
    expect([held.take("r", { agentId: "bob", token: 7 }), held.take("r", { agentId: "ann", token: 8 }), held.take("r", { agentId: "ann" })]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(held.take("r", { token: 7 })).toMatchObject({ holder: "ann" });
    expect(held.take("r", { token: 7 })).toBeUndefined();
  });
});
