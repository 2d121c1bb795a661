import { describe, expect, onTestFinished, test } from "vitest";
import type { Engine, Write } from "../../src/store/store.ts";
import type { EngineUnderTest } from "../support/engines.ts";
import { engines } from "../support/engines.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import type { TestTools } from "./open-tools.ts";
import { openTools } from "./open-tools.ts";

interface Interleaved {
  readonly clock: ManualClock;
  readonly call: TestTools["call"];
  /** Somebody else on the same store. */
  readonly other: TestTools;
  /** Done after each read of `call`, before the next. */
  between(change: () => Promise<unknown>): void;
  /** How often something was changed so. */
  changes(): number;
}

/** The tools on an engine, and somebody who changes things between any two reads of one call. */
async function openInterleaved({ openOnClock, freshUrl }: EngineUnderTest): Promise<Interleaved> {
  const clock = manualClock();
  const engine = await openOnClock(await freshUrl(), clock);
  onTestFinished(() => engine[Symbol.asyncDispose]());
  let change: (() => Promise<unknown>) | undefined;
  let changes = 0;
  let changing = Promise.resolve();
  const interleaved = new Proxy(engine, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (name !== "read" && name !== "position") return member.bind(target);
      return async (...args: Parameters<Engine["read"]>) => {
        const snapshot = await member.apply(target, args);
        // One after another: several reads may be on their way at once.
        changing = changing.then(async () => {
          if (change === undefined) return;
          changes += 1;
          await change();
        });
        await changing;
        return snapshot;
      };
    },
  });
  return {
    clock,
    call: openTools({ engine: interleaved, clock }).call,
    other: openTools({ engine, clock }),
    between: (next) => {
      change = next;
    },
    changes: () => changes,
  };
}

const put = (key: string, value: number, ttlMs?: number): Write => ({ op: "put", key: `state/${key}`, value, ttlMs });
const keysOf = (listed: readonly { readonly key: string }[]): string[] => listed.map(({ key }) => key);

describe.each(engines)("an answer is of one moment on $name", (engine) => {
  test("state_list with values: what moves from key to key is counted once", async () => {
    const { call, other, between, changes } = await openInterleaved(engine);
    const names = Array.from({ length: 100 }, (_, i) => `account/${String(i).padStart(3, "0")}`);
    await other.base.store.commit({ writer: "bank", writes: names.map((name) => put(name, 100)) });
    between(() => other.base.store.commit({ writer: "bank", writes: [put("account/000", 100 - changes()), put("account/099", 100 + changes())] }));
    const { entries } = await call("state_list", { prefix: "account/", values: true });
    expect(changes()).toBeGreaterThan(1);
    expect(entries).toHaveLength(100);
    expect(entries.reduce((sum: number, { value }: { value: number }) => sum + value, 0)).toBe(10_000);
  });

  test("state_list with values: keys with one deadline expire together", async () => {
    const { call, other, between, clock } = await openInterleaved(engine);
    const names = Array.from({ length: 100 }, (_, i) => `k/${String(i).padStart(3, "0")}`);
    await other.base.store.commit({ writer: "w", writes: names.map((name) => put(name, 1, 1_000)) });
    between(async () => clock.advance(1_000));
    expect((await call("state_list", { prefix: "k/", values: true })).entries).toHaveLength(100);
    expect((await call("state_list", { prefix: "k/", values: true })).entries).toHaveLength(0);
  });

  test("list_state: a key that moves behind those already read is not listed twice", async () => {
    const { call, other, between, changes } = await openInterleaved(engine);
    for (let start = 0; start < 1_100; start += 100)
      await other.base.store.commit({ writer: "w", writes: Array.from({ length: 100 }, (_, i) => put(`k${String(start + i).padStart(4, "0")}`, 1)) });
    between(() => other.base.store.commit({ writer: "w", writes: [{ op: "delete", key: "state/k0007" }, put("k9997", 1)] }));
    const { keys } = await call("list_state", { pattern: "%7" });
    expect(changes()).toBeGreaterThan(1);
    expect(keysOf(keys)).toHaveLength(110);
    expect(keysOf(keys)).toContain("k0007");
    expect(keysOf(keys)).not.toContain("k9997");
  });

  test("workflow_resume: last_step is the last of the steps", async () => {
    const { call, other, between, changes } = await openInterleaved(engine);
    await other.call("workflow_create", { name: "job", run_id: "r" });
    await other.call("workflow_claim", { run_id: "r", agent_id: "a" });
    await other.call("workflow_checkpoint", { run_id: "r", step: 1, output: "done", agent_id: "a" });
    between(() => other.call("workflow_checkpoint", { run_id: "r", step: changes() + 1, output: "done", agent_id: "a" }));
    const { step_outputs, last_step, meta } = await call("workflow_resume", { run_id: "r" });
    expect(changes()).toBeGreaterThan(0);
    expect([Object.keys(step_outputs).map(Number), meta.last_step]).toEqual([[last_step], last_step]);
  });

  test("checkpoint, restoring: the highlights are those that its session had with that entry", async () => {
    const { call, other, between, changes } = await openInterleaved(engine);
    const save = (n: number) => other.call("checkpoint", { description: `entry ${n}`, highlights: [`highlight ${n}`], sessionId: "s", workspace: "w" });
    await save(0);
    between(() => save(changes()));
    const { data, meta } = await call("checkpoint", { workspace: "w" });
    expect(changes()).toBeGreaterThan(1);
    const newest = Number(data.checkpoints[0].description.slice("entry ".length));
    expect(data.highlights).toEqual(Array.from({ length: newest + 1 }, (_, n) => `highlight ${n}`));
    expect(meta.revision).toBe(
      (await other.call("history_log", { kind: "checkpoint", n: 200 })).entries.find(({ key }: { key: string }) => key === data.checkpoints[0].checkpointId).revision,
    );
  });

  test("workflow_list: an agent that goes from one run to another is not shown with both", async () => {
    const { call, other, between, changes } = await openInterleaved(engine);
    const runIds = Array.from({ length: 120 }, (_, i) => `r${String(i).padStart(3, "0")}`);
    for (const run_id of runIds) await other.call("workflow_create", { name: "job", run_id });
    const [oldest, newest] = [runIds[0], runIds.at(-1)];
    await other.call("workflow_claim", { run_id: newest, agent_id: "a" });
    // After the newest hundred were read.
    between(async () => {
      if (changes() !== 2) return;
      await other.call("lease_release", { resource_id: `workflow/${newest}`, holder_id: "a" });
      await other.call("workflow_claim", { run_id: oldest, agent_id: "a" });
    });
    const { runs } = await call("workflow_list", { limit: 200 });
    expect(changes()).toBeGreaterThan(1);
    expect(runs).toHaveLength(120);
    expect(runs.filter(({ agent_id }: { agent_id: string | null }) => agent_id !== null)).toHaveLength(1);
  });

  test("workflow_discover: a run that is claimed and given back meanwhile is claimable all along", async () => {
    const { call, other, between, changes } = await openInterleaved(engine);
    for (const run_id of ["r1", "r2", "r3"]) await other.call("workflow_create", { name: "job", run_id });
    await other.call("workflow_claim", { run_id: "r1", agent_id: "a" });
    // Two of the three can be claimed at any moment.
    let held = 1;
    between(async () => {
      await other.call("lease_release", { resource_id: `workflow/r${held}`, holder_id: "a" });
      held = (held % 3) + 1;
      await other.call("workflow_claim", { run_id: `r${held}`, agent_id: "a" });
    });
    const { runs } = await call("workflow_discover", { claimable: true });
    expect(changes()).toBeGreaterThan(1);
    expect(runs).toHaveLength(2);
  });
});
