import { rangeAfter, rangeBefore } from "../../store/ranges.ts";
import type { Entry } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { answerTextMax } from "../answer-text.ts";
import { workflowKeys } from "../keyspace.ts";

export interface StoredStep {
  readonly step: number;
  readonly atMs: number;
  readonly output: Entry["value"];
  readonly writer: string;
  readonly agent?: string;
}

export interface StepQuery {
  readonly limit: number;
  /** Only steps before this one. */
  readonly before?: number;
  /** Only steps after this one, earliest first; without it, the newest steps. */
  readonly after?: number;
}

/** Steps per read. Outputs may be long and a run may have many steps, so reading stops once the response is full. */
const readAtOnce = 50;

/** Steps with their outputs, in ascending order. `more`: further steps were left out, because of the limit or the length of the outputs. */
export async function readSteps(
  { store }: Pick<Scope, "store">,
  runId: string,
  { limit, before, after }: StepQuery,
): Promise<{ readonly steps: readonly StoredStep[]; readonly more: boolean }> {
  const steps: StoredStep[] = [];
  const reverse = after === undefined;
  const answer = (more: boolean) => ({ steps: reverse ? steps.reverse() : steps, more });
  let range = workflowKeys.steps(runId);
  if (before !== undefined) range = rangeBefore(range, workflowKeys.step(runId, before));
  if (after !== undefined) range = rangeAfter(range, workflowKeys.step(runId, after));
  let left: number = answerTextMax;
  for (;;) {
    const page = await store.read(range, { limit: Math.min(readAtOnce, limit - steps.length), reverse, charactersMax: left });
    for (const entry of page.entries) {
      left -= JSON.stringify(entry.value).length;
      if (left < 0 && steps.length > 0) return answer(true);
      steps.push({ step: workflowKeys.stepOf(entry.key), atMs: entry.updatedAtMs, output: entry.value, writer: entry.writer, agent: entry.agent });
    }
    const last = page.entries.at(-1);
    const more = page.more || page.rest !== undefined;
    if (!more || last === undefined || steps.length >= limit || left <= 0) return answer(more);
    range = reverse ? rangeBefore(range, last.key) : rangeAfter(range, last.key);
  }
}
