import type { Holdfast } from "../../src/index.ts";
import { openHoldfast, startWorkflow } from "../../src/index.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { PaceSampler } from "../support/pace.ts";
import { seededRandom } from "../support/seeded-random.ts";
import type { Worker } from "../support/spawn-worker.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import type { WorkflowWorkerArguments } from "../workers/workflow-worker.ts";

export interface PoolOptions {
  readonly url: string;
  readonly items: number;
  readonly steps: number;
  readonly workers: number;
  readonly kills: number;
  readonly fault?: WorkflowWorkerArguments["fault"];
}

export interface PoolResult {
  readonly kills: number;
  readonly effects: number;
  /** Effects whose outcome a death left open; each was listed, and resolved by what the test had seen. */
  readonly unknown: number;
  readonly doubled: readonly string[];
  readonly skipped: readonly string[];
  readonly notDone: readonly string[];
  /** From a worker's death until another had its run, longest first: in milliseconds, and the pace of the machine meanwhile. */
  readonly takeOvers: readonly { readonly ms: number; readonly pace: number }[];
}

type Message =
  | { readonly is: "claim" | "end"; readonly runId: string; readonly pid: number }
  | { readonly is: "effect"; readonly runId: string; readonly step: string }
  | { readonly is: "error"; readonly problem: string };

export const claimMs = 2_000;
export const idleMs = 100;

/** Workers of one workflow, some of which are killed and replaced, until every item is done. A person resolves what a dead worker left unknown, by what was really done. */
export async function runPool({ url, items, steps, workers: count, kills, fault }: PoolOptions): Promise<PoolResult> {
  await using holdfast = await openHoldfast({ store: url });
  using pace = new PaceSampler();
  const runIds = Array.from({ length: items }, (_, i) => `item-${i}`);
  await Promise.all(runIds.map((runId) => startWorkflow(holdfast, { name: "item", runId, input: null })));
  const spawn = (): Worker<Message> => spawnWorker<Message>("workflow-worker", { url, steps, ttlMs: claimMs, idleMs, fault } satisfies WorkflowWorkerArguments);
  const random = seededRandom(items);
  const pool = Array.from({ length: count }, spawn);
  const dead = new Map<number, number>();
  const done = new Map<string, number>();
  const holder = new Map<string, number>();
  const takeOvers: { ms: number; pace: number }[] = [];
  const ended = new Set<string>();
  const resolved = new Set<string>();

  const hear = (message: Message): void => {
    if (message.is === "error") return;
    if (message.is === "effect") {
      const name = `${message.runId}/${message.step}`;
      done.set(name, (done.get(name) ?? 0) + 1);
      return;
    }
    const { runId, pid } = message;
    if (message.is === "end") ended.add(runId);
    const before = holder.get(runId);
    const diedAtMs = before === undefined || before === pid ? undefined : dead.get(before);
    if (diedAtMs !== undefined && message.is === "claim") takeOvers.push({ ms: performance.now() - diedAtMs, pace: pace.since(diedAtMs) });
    holder.set(runId, pid);
  };

  let killed = 0;
  for (;;) {
    for (const worker of pool) for (const message of worker.taken()) hear(message);
    if (ended.size === items && (await isAllDone(holdfast, runIds))) break;
    // Only those that have something in hand: who dies before it has begun shows nothing.
    const busy = pool.filter(({ pid }) => [...holder].some(([runId, by]) => by === pid && !ended.has(runId)));
    const victim = busy[random(Math.max(1, busy.length))];
    if (victim !== undefined && killed < kills && random(3) === 0) {
      await victim.kill();
      dead.set(victim.pid, performance.now());
      for (const message of victim.taken()) hear(message);
      pool[pool.indexOf(victim)] = spawn();
      killed += 1;
    }
    // Workers that retry by themselves are not to be helped by somebody who was faster.
    if (fault !== "retry what is unknown") await resolveUnknown(holdfast, dead, done, resolved);
    await systemClock.sleep(50 + random(50));
  }
  await Promise.all(pool.map((worker) => worker.kill()));
  for (const worker of pool) for (const message of worker.taken()) hear(message);
  const names = runIds.flatMap((runId) => Array.from({ length: steps }, (_, i) => `${runId}/step ${i + 1}`));
  const views = await Promise.all(runIds.map((runId) => holdfast.workflows.get(runId)));
  return {
    kills: killed,
    effects: [...done.values()].reduce((sum, times) => sum + times, 0),
    unknown: resolved.size,
    doubled: names.filter((name) => (done.get(name) ?? 0) > 1),
    skipped: names.filter((name) => !done.has(name)),
    notDone: views.filter(({ status, result }) => status !== "done" || result !== steps).map(({ runId }) => runId),
    takeOvers: takeOvers.sort((a, b) => b.ms / b.pace - a.ms / a.pace),
  };
}

/** Those of dead workers alone: one that is only slow will still report what it did. */
async function resolveUnknown({ effects, workflows }: Holdfast, dead: ReadonlyMap<number, number>, done: ReadonlyMap<string, number>, resolved: Set<string>): Promise<void> {
  for (const { id, run, name, agent, attempts } of (await effects.list({ state: "unknown", limit: 100 })).effects) {
    if (!dead.has(Number(agent?.split("-")[1]))) continue;
    await effects.resolve({ id, as: done.has(`${run}/${name}`) ? "done" : "failed" });
    resolved.add(`${id}/${attempts}`);
    await workflows.wake(run as string);
  }
}

async function isAllDone({ workflows }: Holdfast, runIds: readonly string[]): Promise<boolean> {
  const views = await Promise.all(runIds.map((runId) => workflows.get(runId)));
  return views.every(({ status }) => status === "done");
}
