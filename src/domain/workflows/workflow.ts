import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { LeaseRecord } from "../leases/lease.ts";
import { anyJson, arrayOf, either, enumOf, mapOf, number, object, optional, storedAs, string } from "../stored-record.ts";

/** What a run is and may become, without a store: every function here is pure. */

export const runStatuses = ["created", "claimed", "running", "done", "failed", "cancelled"] as const;
export type RunStatus = (typeof runStatuses)[number];

/** As stored. Input and step outputs have keys of their own, so that a checkpoint does not write them again. */
export interface Run {
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The id of the workspace it was created in; absent where that was not known. */
  readonly workspace?: string;
  readonly priority: number;
  readonly status: RunStatus;
  /** The highest step checkpointed; never falls. 0 before the first. */
  readonly lastStep: number;
  /** How many times a worker has taken the run. */
  readonly attempts: number;
  readonly createdAtMs: number;
  /** When the first worker took it. */
  readonly startedAtMs?: number;
  /** Among all runs, by age; see keyspace. */
  readonly place: string;
  /** Who ended it. */
  readonly endedBy?: { readonly agentId: string; readonly token: number };
  /** Agents that held the run before the present or last one, newest last, the last few. */
  readonly formerAgents: readonly string[];
  /** Where the run stands in the index; absent once it has ended. */
  readonly indexed?: { readonly zone: "ready" } | { readonly zone: "claimed"; readonly lookAtMs: number };
  readonly result?: Json;
  readonly error?: Json;
}

export const runForm = object<Run>({
  name: string,
  tags: mapOf(string),
  workspace: optional(string),
  priority: number,
  status: enumOf(runStatuses),
  lastStep: number,
  attempts: number,
  createdAtMs: number,
  startedAtMs: optional(number),
  place: string,
  endedBy: optional(object({ agentId: string, token: number })),
  formerAgents: arrayOf(string),
  indexed: optional(either(object({ zone: enumOf(["ready"]) }), object({ zone: enumOf(["claimed"]), lookAtMs: number }))),
  result: optional(anyJson),
  error: optional(anyJson),
});

export const toRun = storedAs(runForm);

/** The tags that stand beside an unclaimed run's place in line. */
export const toTags = storedAs(mapOf(string));

const formerAgentsMax = 64;

export const isFinished = (run: Run): boolean => run.status === "done" || run.status === "failed" || run.status === "cancelled";

/** A claim that lapsed or was given back leaves the run waiting: what was only claimed is `created` again, what had begun stays `running`. */
export const shownStatus = (run: Run, claim: LeaseRecord): RunStatus => (run.status === "claimed" && claim.live === undefined ? "created" : run.status);

/** Who reports progress: by name, by token, or nobody (single-agent use). */
export interface Reporter {
  readonly agentId?: string;
  readonly token?: number;
}

/**
 * May this caller change the run now? Answers the agent whose claim the change extends (undefined: the run is unclaimed),
 * or throws `workflow_finished`, `claim_lost` or `claim_held`.
 */
export function requireMayReport(runId: string, run: Run, claim: LeaseRecord, { agentId, token }: Reporter): string | undefined {
  requireUnfinished(runId, run);
  const named = agentId !== undefined || token !== undefined;
  const { last, live } = claim;
  const isLast = last !== undefined && (agentId === undefined || agentId === last.holder) && (token === undefined || token === last.token);
  // A holder whose claim lapsed but was not taken may go on: it is still the last one.
  if (named && isLast) return last.holder;
  if (named && (run.formerAgents.includes(agentId ?? "") || (token !== undefined && token !== last?.token))) throw claimLost(runId, live?.holder ?? last?.holder);
  if (live !== undefined) throw claimHeld(runId, live.holder);
  if (named && last !== undefined) throw claimHeld(runId, last.holder);
  return undefined;
}

export function requireUnfinished(runId: string, run: Run): void {
  if (isFinished(run))
    throw new HoldfastError("workflow_finished", `Run ${runId} is ${run.status}; it accepts no more claims or steps.`, { details: { run_id: runId, status: run.status } });
}

export const claimLost = (runId: string, successor: string | undefined): HoldfastError =>
  new HoldfastError(
    "claim_lost",
    successor === undefined
      ? `The claim on run ${runId} was given back; nothing was changed.`
      : `Run ${runId} was taken over by ${JSON.stringify(successor)}; nothing was changed.`,
    {
      hint: "Stop working on this run, or claim it again.",
      details: { run_id: runId, successor: successor ?? null },
    },
  );

const claimHeld = (runId: string, holder: string): HoldfastError =>
  new HoldfastError("claim_held", `Run ${runId} is claimed by ${JSON.stringify(holder)}; nothing was changed.`, {
    hint: "Claim the run first, and give agent_id or token with each checkpoint.",
    details: { run_id: runId, agent_id: holder },
  });

const withFormer = (run: Run, agent: string | undefined): readonly string[] =>
  agent === undefined ? run.formerAgents : [...run.formerAgents.filter((other) => other !== agent), agent].slice(-formerAgentsMax);

/** Someone took the run. `previous`: the holder before, if it was another one. */
export const claimed = (run: Run, previous: string | undefined, atMs: number): Run => ({
  ...run,
  status: "claimed",
  attempts: run.attempts + 1,
  startedAtMs: run.startedAtMs ?? atMs,
  formerAgents: withFormer(run, previous),
});

export const stepDone = (run: Run, step: number): Run => ({ ...run, status: "running", lastStep: Math.max(run.lastStep, step) });

/** Given back by its holder: claimable again, steps kept. */
export const givenBack = (run: Run, holder: string): Run => ({
  ...run,
  formerAgents: withFormer(run, holder),
  status: run.status === "claimed" ? "created" : run.status,
});

export type Ending =
  | { readonly status: "done"; readonly result?: Json }
  | { readonly status: "failed"; readonly error?: Json; readonly retry: boolean }
  | { readonly status: "cancelled"; readonly error?: Json };

/** `holder`: whose claim it was, if there was one. */
export function ended(run: Run, ending: Ending, holder: { readonly holder: string; readonly token: number } | undefined): Run {
  const endedBy = holder && { agentId: holder.holder, token: holder.token };
  if (ending.status === "done") return { ...run, status: "done", result: ending.result, error: undefined, endedBy };
  if (ending.status === "failed" && ending.retry) return { ...run, status: "created", error: ending.error, formerAgents: withFormer(run, holder?.holder) };
  return { ...run, status: ending.status, error: ending.error, endedBy };
}
