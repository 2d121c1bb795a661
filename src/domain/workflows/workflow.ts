import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { LeaseRecord } from "../leases/lease.ts";
import { anyJson, arrayOf, either, enumOf, mapOf, number, object, optional, storedAs, string } from "../stored-record.ts";

/** The states and transitions of a run. Every function here is pure. */

export const runStatuses = ["created", "claimed", "running", "done", "failed", "cancelled"] as const;
export type RunStatus = (typeof runStatuses)[number];

/** The stored record. Input and step outputs have separate keys, so that a checkpoint does not rewrite them. */
export interface Run {
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The id of the workspace it was created in; absent if unknown. */
  readonly workspace?: string;
  readonly priority: number;
  readonly status: RunStatus;
  /** The highest checkpointed step; never decreases. 0 before the first. */
  readonly lastStep: number;
  /** How many times the run was claimed. */
  readonly attempts: number;
  readonly createdAtMs: number;
  /** When the run was first claimed. */
  readonly startedAtMs?: number;
  /** The position among all runs, by age; see keyspace. */
  readonly place: string;
  /** The holder at the end of the run. */
  readonly endedBy?: { readonly agentId: string; readonly token: number };
  /** The most recent agents that held the run before the current or last one, newest last. */
  readonly formerAgents: readonly string[];
  /** The index that contains the run; absent once it has ended. */
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

/** The tags stored with a run's entry in the ready index. */
export const toTags = storedAs(mapOf(string));

const formerAgentsMax = 64;

export const isFinished = (run: Run): boolean => run.status === "done" || run.status === "failed" || run.status === "cancelled";

/** After a claim lapsed or was given back, a run that was only claimed is `created` again, and one that had begun stays `running`. */
export const shownStatus = (run: Run, claim: LeaseRecord): RunStatus => (run.status === "claimed" && claim.live === undefined ? "created" : run.status);

/** The caller that reports progress: identified by agent id, by token or not at all (single-agent use). */
export interface Reporter {
  readonly agentId?: string;
  readonly token?: number;
}

/**
 * Checks whether this caller may change the run now. Returns the agent whose claim the change extends (undefined: the run is unclaimed),
 * or throws `workflow_finished`, `claim_lost` or `claim_held`.
 */
export function requireMayReport(runId: string, run: Run, claim: LeaseRecord, { agentId, token }: Reporter): string | undefined {
  requireUnfinished(runId, run);
  const named = agentId !== undefined || token !== undefined;
  const { last, live } = claim;
  const isLast = last !== undefined && (agentId === undefined || agentId === last.holder) && (token === undefined || token === last.token);
  // A holder whose claim lapsed may continue as long as no other agent has claimed the run.
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
    hint: "Claim the run first, and pass agent_id or token with each checkpoint.",
    details: { run_id: runId, agent_id: holder },
  });

const withFormer = (run: Run, agent: string | undefined): readonly string[] =>
  agent === undefined ? run.formerAgents : [...run.formerAgents.filter((other) => other !== agent), agent].slice(-formerAgentsMax);

/** The run after a claim. `previous`: the former holder, if it was a different agent. */
export const claimed = (run: Run, previous: string | undefined, atMs: number): Run => ({
  ...run,
  status: "claimed",
  attempts: run.attempts + 1,
  startedAtMs: run.startedAtMs ?? atMs,
  formerAgents: withFormer(run, previous),
});

export const stepDone = (run: Run, step: number): Run => ({ ...run, status: "running", lastStep: Math.max(run.lastStep, step) });

/** The run after its holder gave it back: claimable again, with its steps. */
export const givenBack = (run: Run, holder: string): Run => ({
  ...run,
  formerAgents: withFormer(run, holder),
  status: run.status === "claimed" ? "created" : run.status,
});

export type Ending =
  | { readonly status: "done"; readonly result?: Json }
  | { readonly status: "failed"; readonly error?: Json; readonly retry: boolean }
  | { readonly status: "cancelled"; readonly error?: Json };

/** `holder`: the holder of the claim, if there was one. */
export function ended(run: Run, ending: Ending, holder: { readonly holder: string; readonly token: number } | undefined): Run {
  const endedBy = holder && { agentId: holder.holder, token: holder.token };
  if (ending.status === "done") return { ...run, status: "done", result: ending.result, error: undefined, endedBy };
  if (ending.status === "failed" && ending.retry) return { ...run, status: "created", error: ending.error, formerAgents: withFormer(run, holder?.holder) };
  return { ...run, status: ending.status, error: ending.error, endedBy };
}
