import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { jsonText, requireKey } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Put, Store } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import type { AdoptOptions, Landing } from "../adoption.ts";
import { adopt } from "../adoption.ts";
import { workflowKeys } from "../keyspace.ts";
import { requireTime } from "../read-fields.ts";
import { listingWrites, runWrites } from "./run-index.ts";
import type { Run } from "./workflow.ts";
import { isFinished, toRun } from "./workflow.ts";
import { requireRunId, requireTags } from "./workflows.ts";

export interface ForeignRun {
  readonly runId: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Claims are not imported: a run that was in progress waits to be claimed. */
  readonly status: Exclude<Run["status"], "claimed">;
  readonly createdAtMs: number;
  /** The run's holder in the source. */
  readonly formerAgent?: string;
  /** In ascending order, without duplicates. */
  readonly steps: readonly { readonly step: number; readonly output: Json }[];
  readonly lastStep: number;
}

const batch = { writesMax: 100, charactersMax: 1_000_000 } as const;

/**
 * Imports a run with its steps. The steps may not fit into one commit, so they are written first and the run last.
 * No agent can claim an incomplete run, and an interrupted import resumes where it stopped.
 */
export async function adoptRun(scope: Scope, foreign: ForeignRun, options: AdoptOptions): Promise<Landing> {
  const { runId, name, tags, status, createdAtMs, formerAgent, lastStep, steps } = foreign;
  requireRunId(runId);
  requireKey(name, "name");
  requireTags(tags);
  if (formerAgent !== undefined) requireKey(formerAgent, "agent_id");
  requireTime(createdAtMs, "created_at");
  if (!Number.isSafeInteger(lastStep) || lastStep < 0) throw invalidInput("last_step", "must be a whole number, 0 or more");
  for (const { step, output } of steps) {
    if (!Number.isSafeInteger(step) || step < 0) throw invalidInput("step", "must be a whole number, 0 or more");
    jsonText(output, `output of step ${step}`);
  }
  const runKey = workflowKeys.run(runId);
  const run: Run = {
    name,
    tags,
    priority: 0,
    status,
    lastStep,
    attempts: formerAgent === undefined ? 0 : 1,
    createdAtMs,
    // Imported runs are older than every run created here and keep their original order.
    place: workflowKeys.listPosition(0, createdAtMs),
    formerAgents: formerAgent === undefined ? [] : [formerAgent],
  };
  const whole: Run = isFinished(run) ? run : { ...run, indexed: { zone: "ready" } };
  return adopt(scope, options, async () => {
    const [entry] = (await scope.store.read(keyRange(runKey))).entries;
    const here = entry && toRun(entry);
    const kept = await readOutputs(scope.store, foreign);
    const missing = steps.filter(({ step, output }) => kept.get(step) !== canonicalJson(output));
    if (here !== undefined) return { landing: missing.length === 0 && isSameRun(here, whole) ? "same" : "different" };
    const absent = { key: runKey, is: "absent" } as const;
    if (!options.dryRun) {
      for (const writes of batches(missing.map((each) => stepWrite(runId, each)))) {
        const result = await scope.store.commit({ checks: [absent], writes, writer: scope.writer, agent: scope.agent });
        if (!result.ok) return { landing: "different" };
      }
    }
    return { checks: [absent], writes: [...runWrites(runId, undefined, whole, "create"), ...listingWrites(runId, whole)] };
  });
}

/** A run that made progress here after its import is still the same run. */
const isSameRun = (here: Run, there: Run): boolean =>
  here.name === there.name &&
  here.createdAtMs === there.createdAtMs &&
  canonicalJson(here.tags) === canonicalJson(there.tags) &&
  (!isFinished(there) || here.status === there.status);

const stepWrite = (runId: string, { step, output }: ForeignRun["steps"][number]): Put => ({
  op: "put",
  key: workflowKeys.step(runId, step),
  value: output,
  record: { kind: "workflow", op: "checkpoint", subject: runId },
});

async function readOutputs(store: Store, { runId, steps }: ForeignRun): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for (let start = 0; start < steps.length; start += batch.writesMax) {
    const page = steps.slice(start, start + batch.writesMax);
    const { entries } = await store.read(page.map(({ step }) => keyRange(workflowKeys.step(runId, step))));
    for (const { key, value } of entries) found.set(workflowKeys.stepOf(key), canonicalJson(value));
  }
  return found;
}

function batches(writes: readonly Put[]): Put[][] {
  const all: Put[][] = [];
  let characters = 0;
  for (const write of writes) {
    const length = JSON.stringify(write.value).length;
    const last = all.at(-1);
    if (last === undefined || last.length >= batch.writesMax || characters + length > batch.charactersMax) {
      all.push([write]);
      characters = length;
    } else {
      last.push(write);
      characters += length;
    }
  }
  return all;
}
