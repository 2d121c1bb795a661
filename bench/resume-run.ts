import { LineClient } from "./line-client.ts";
import type { Figure } from "./report.ts";
import { quantile } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";

const steps = 10_000;
const calls = 300;

/** The wait of a worker that takes over a long run: for the default answer, for one from the middle on, and for one with a limit. */
export async function measureResume({ product, progress }: Surroundings): Promise<Figure[]> {
  const client = await LineClient.open(product("resume.db"));
  try {
    const runId = "long-run";
    await client.call("workflow_create", { name: "migrate the archive", run_id: runId });
    // One at a time: each step follows the previous one, as a worker's do.
    await client.burst({
      inFlight: 1,
      calls: steps,
      tool: "workflow_checkpoint",
      argumentsOf: (n) => ({ run_id: runId, step: n + 1, output: { file: `part-${n}.csv`, rows: n * 7, warnings: [] } }),
      onAnswer: (answered) => {
        if (answered % 500 === 0) progress(`resume: ${answered} of ${steps} steps written`);
      },
    });
    const { last_step: lastStep } = await client.call("workflow_resume", { run_id: runId });
    if (lastStep !== steps) throw new Error(`The run should be at step ${steps}, not at ${lastStep}.`);
    const figure = async (what: string, args: object, budgetMs?: number): Promise<Figure> => {
      const takenMs = await latencies(client, args);
      const p95 = quantile(takenMs, 0.95);
      return { what, unit: "ms", value: { median: p95, min: Math.min(...takenMs), max: Math.max(...takenMs) }, budget: budgetMs === undefined ? undefined : { atMost: budgetMs } };
    };
    return [
      await figure("resume of a 10,000-step run over stdio, p95", { run_id: runId }, 10),
      await figure("resume with steps_after in its middle, p95", { run_id: runId, steps_after: steps / 2 }, 10),
      await figure("resume with the 100 newest steps, p95", { run_id: runId, limit: 100 }),
    ];
  } finally {
    await client.close();
  }
}

async function latencies(client: LineClient, args: object): Promise<number[]> {
  const takenMs: number[] = [];
  let lastMs = performance.now();
  await client.burst({
    inFlight: 1,
    calls,
    tool: "workflow_resume",
    argumentsOf: () => args,
    onAnswer: () => {
      const nowMs = performance.now();
      takenMs.push(nowMs - lastMs);
      lastMs = nowMs;
    },
  });
  return takenMs.slice(calls / 10);
}
