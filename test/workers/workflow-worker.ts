import type { Holdfast } from "../../src/index.ts";
import { openHoldfast, workWorkflows } from "../../src/index.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** A worker of a pool that is killed at random. What it does outside the store is a line to the test, which a kill cannot take back. */
export interface WorkflowWorkerArguments {
  readonly url: string;
  readonly steps: number;
  readonly ttlMs: number;
  readonly idleMs: number;
  readonly fault?: "none" | "record after the effect" | "retry what is unknown";
}

const port = openWorkerPort();
const { url, steps, ttlMs, idleMs, fault = "none" } = await port.next<WorkflowWorkerArguments>();
const holdfast = await openHoldfast({ store: url, maintain: false });

/** The time that another system takes to answer: long enough to be killed in. */
const answerMs = 12;

await workWorkflows(
  withFault(holdfast),
  { name: "item", concurrency: 4, ttlMs, idleMs, lookAgainMs: 500, agent: `w-${process.pid}`, onError: (error) => port.send({ is: "error", problem: String(error) }) },
  async (step, { runId }) => {
    port.send({ is: "claim", runId, pid: process.pid });
    for (let i = 1; i <= steps; i += 1)
      await step.run(
        `step ${i}`,
        async () => {
          port.send({ is: "effect", runId, step: `step ${i}` });
          await systemClock.sleep(answerMs);
          return i;
        },
        { effect: true },
      );
    port.send({ is: "end", runId, pid: process.pid });
    return steps;
  },
);

function withFault(whole: Holdfast): Holdfast {
  const { effects } = whole;
  if (fault === "retry what is unknown")
    return { ...whole, effects: { ...effects, once: (identity, perform, options) => effects.once(identity, perform, { ...options, policy: "retry" }) } };
  if (fault === "none") return whole;
  return {
    ...whole,
    effects: {
      ...effects,
      async once(identity, perform, options) {
        const answer = await perform({ id: "fx", token: 1, attempt: 1, signal: new AbortController().signal });
        return effects.once(identity, () => answer, options);
      },
    },
  };
}
