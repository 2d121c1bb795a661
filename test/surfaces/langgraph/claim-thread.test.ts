import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Holdfast } from "../../../src/index.ts";
import { HoldfastSaver } from "../../../src/langgraph.ts";
import { openManual } from "../../library/manual-library.ts";
import { soon } from "../../support/soon.ts";

const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
const ttlMs = 10_000;

const putOn = (saver: HoldfastSaver, thread = "t") =>
  saver.put({ configurable: { thread_id: thread } }, { ...emptyCheckpoint(), id: uuid6(0) }, { source: "loop", step: 0, parents: {} }, {});

/** A gate that the test opens, to hold work in the middle. */
function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

function openWorkers(): { readonly clock: ReturnType<typeof openManual>["clock"]; readonly holdfast: Holdfast; readonly stale: HoldfastSaver; readonly next: HoldfastSaver } {
  const { clock, holdfast } = openManual();
  onTestFinished(() => holdfast.close());
  return { clock, holdfast, stale: new HoldfastSaver(holdfast, { agent: "first" }), next: new HoldfastSaver(holdfast, { agent: "second" }) };
}

describe("a claimed thread", () => {
  test("is written by its owner, and by any worker after its release", async () => {
    const { holdfast, stale, next, clock } = openWorkers();
    const result = await stale.claimThread("t", { ttlMs, clock }, async () => (await putOn(stale)).configurable?.checkpoint_id);
    expect(result).toMatchObject({ ok: true, value: expect.any(String) });
    await putOn(next);
    expect((await holdfast.leases.list()).leases).toEqual([]);
  });

  test("is not claimed a second time while its owner lives, and refuses writers without a claim, who are told who has it", async () => {
    const { stale, next, clock } = openWorkers();
    await stale.claimThread("t", { ttlMs, clock }, async () => {
      expect(await next.claimThread("t", { ttlMs, clock }, () => undefined)).toMatchObject({ ok: false, heldBy: expect.stringMatching(/^first-[0-9a-f]{8}$/) });
    });
    const { opened, open } = gate();
    const working = stale.claimThread("t", { ttlMs, clock }, () => opened);
    await soon(async () => {
      await expect(putOn(next)).rejects.toMatchObject({ code: "claim_held", message: expect.stringMatching(/^Thread "t" is claimed by "first-/) });
    });
    await putOn(next, "other");
    open();
    await working;
  });

  test("refuses the put and the writes of an owner that was replaced, in the same commit, with an error that says so", async () => {
    const { clock, stale, next } = openWorkers();
    const { opened, open } = gate();
    const inNode = gate();
    const outcomes: unknown[] = [];
    const working = stale.claimThread("t", { ttlMs, clock: frozen }, async () => {
      const put = await putOn(stale);
      inNode.open();
      await opened;
      outcomes.push(await putOn(stale).catch((error: unknown) => error));
      outcomes.push(await stale.putWrites(put, [["a", "stale"]], "task").catch((error: unknown) => error));
      outcomes.push(await stale.deleteThread("t").catch((error: unknown) => error));
    });
    await inNode.opened;
    clock.advance(ttlMs + 1);
    await next.claimThread("t", { ttlMs, clock }, async () => {
      await putOn(next);
      open();
      await working;
    });
    const lost = { code: "lease_lost", message: expect.stringMatching(/^This worker's claim on thread "t" has ended/), details: { thread_id: "t" } };
    expect(outcomes).toMatchObject([lost, lost, lost]);
    expect((await next.getTuple(config))?.pendingWrites).toEqual([]);
  });

  test("stays refused to an owner that was replaced, while the next one works and after it is done, if both are one saver in one process", async () => {
    const { clock, stale } = openWorkers();
    const [inNode, duringNext, afterNext] = [gate(), gate(), gate()];
    const tried = gate();
    const late: unknown[] = [];
    const working = stale.claimThread("t", { ttlMs, clock: frozen }, async () => {
      inNode.open();
      await duringNext.opened;
      late.push(await putOn(stale).catch((error: unknown) => error));
      tried.open();
      await afterNext.opened;
      late.push(await putOn(stale).catch((error: unknown) => error));
    });
    await inNode.opened;
    clock.advance(ttlMs + 1);
    let kept: unknown;
    await stale.claimThread("t", { ttlMs, clock }, async () => {
      kept = (await putOn(stale)).configurable?.checkpoint_id;
      duringNext.open();
      await tried.opened;
    });
    afterNext.open();
    await working;
    expect(late).toMatchObject([{ code: "lease_lost" }, { code: "lease_lost" }]);
    expect((await stale.getTuple(config))?.checkpoint.id).toBe(kept);
  });

  test("stays closed to writers without a claim after its owner died, until a worker claims it", async () => {
    const { clock, holdfast, stale, next } = openWorkers();
    // What a worker that dies in its work leaves behind.
    const dying = new HoldfastSaver({
      ...holdfast,
      leases: { ...holdfast.leases, release: () => Promise.reject(new Error("dead")) },
      state: { ...holdfast.state, delete: () => Promise.reject(new Error("dead")) },
    });
    await dying.claimThread("t", { ttlMs, clock }, () => undefined);
    clock.advance(ttlMs + 1);
    await expect(putOn(next)).rejects.toMatchObject({ code: "claim_held" });
    await stale.claimThread("t", { ttlMs, clock }, () => putOn(stale));
    await putOn(next);
  });
});

/** The clock of a process that is stopped: it does not notice that its claim expires. */
const frozen = { nowMs: () => 0, sleep: (_ms: number, signal?: AbortSignal) => new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true })) };
