import type { Json } from "../../kernel/json.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Entry, LogRow, Range, Revision } from "../../store/store.ts";
import { leaseKeys, workflowKeys } from "../keyspace.ts";
import { toHold } from "../leases/lease.ts";
import type { Run } from "../workflows/workflow.ts";
import { isFinished, toRun } from "../workflows/workflow.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { isElsewhere } from "./open-work.ts";

export interface WorkRun {
  readonly runId: string;
  readonly run: Run;
  readonly revision: Revision;
  readonly changedAtMs: number;
  /** The current or last claim holder; absent if there is none. */
  readonly holder?: string;
  /** When the live claim expires; absent if it has expired or there is none. */
  readonly expiresAtMs?: number;
}
export interface WorkLease {
  readonly resource: string;
  readonly holder: string;
  /** Absent if the lease has expired. */
  readonly expiresAtMs?: number;
  readonly revision: Revision;
}

/** The work in a workspace as one caller sees it. Every list starts with the most urgent item. */
export interface WorkPicture {
  /** Runs that the caller holds, then those whose claim expired while it was away. */
  readonly mine: readonly WorkRun[];
  readonly leases: readonly WorkLease[];
  readonly lapsedLeases: readonly WorkLease[];
  /** Runs and leases that others hold. */
  readonly others: readonly WorkRun[];
  readonly othersLeases: readonly WorkLease[];
  /** Runs that can be claimed: those that another agent left, then those that no agent has taken yet. */
  readonly free: readonly WorkRun[];
  /** Newest first. */
  readonly finished: readonly WorkRun[];
  /** Unfinished runs of other workspaces. */
  readonly elsewhere: number;
  /** The caller's name: as given, or from its claims. */
  readonly agent?: string;
}

/** Runs and leases to read, from the indexes that list them. */
export interface WorkCandidates {
  readonly holds: readonly Entry[];
  readonly claimed: readonly string[];
  readonly ready: readonly string[];
  readonly finished: readonly string[];
}

export const workLimits = { holdsMax: 200, claimedMax: 100, readyMax: 60, finishedMax: 10 } as const;

/** Holds for which `isMine` is true come first, so that the limit does not cut them off. */
export function chooseWork(
  holders: readonly Entry[],
  claimed: readonly Entry[],
  ready: readonly Entry[],
  log: readonly LogRow[],
  isMine: (hold: Entry) => boolean,
): WorkCandidates {
  const newestFirst = holders.toSorted((a, b) => b.revision - a.revision);
  const ended = log.filter(({ record }) => record?.op === "finish").map(({ record }) => (record as { subject: string }).subject);
  return {
    holds: [...newestFirst.filter(isMine), ...newestFirst.filter((hold) => !isMine(hold))].slice(0, workLimits.holdsMax),
    claimed: claimed.map(({ key }) => workflowKeys.idOf(key)),
    ready: ready.map(({ key }) => workflowKeys.idOf(key)),
    finished: [...new Set(ended)].slice(0, workLimits.finishedMax),
  };
}

const resourceOf = ({ key }: Entry): string => leaseKeys.resourceOfHolder(key);
const runOf = (hold: Entry): string | undefined => workflowKeys.runOfResource(resourceOf(hold));

export function workRanges({ holds, claimed, ready, finished }: WorkCandidates): readonly Range[] {
  const runIds = new Set([...holds.flatMap((hold) => runOf(hold) ?? []), ...claimed, ...ready, ...finished]);
  return [...holds.map((hold) => leaseKeys.deadline(resourceOf(hold))), ...[...runIds].map(workflowKeys.run)].map(keyRange);
}

export interface WorkReader {
  readonly workspace: Workspace;
  readonly agent?: string;
  /** True for a run that was claimed on the caller's connection with this token. */
  readonly claimedHere: (runId: string, token: Revision) => boolean;
}

export function drawWork(
  { holds, claimed, ready, finished }: WorkCandidates,
  byKey: ReadonlyMap<string, Entry>,
  { workspace, agent: given, claimedHere }: WorkReader,
): WorkPicture {
  const held = holds.flatMap((hold) => {
    const runId = runOf(hold);
    const { holder } = toHold(hold);
    return runId === undefined ? [] : [{ runId, holder, token: hold.revision, expiresAtMs: byKey.get(leaseKeys.deadline(resourceOf(hold)))?.expiresAtMs }];
  });
  const agent = given ?? held.find(({ runId, token }) => claimedHere(runId, token))?.holder;
  const all = new Map<string, WorkRun>();
  for (const runId of [...held.map((hold) => hold.runId), ...claimed, ...ready, ...finished]) {
    const entry = byKey.get(workflowKeys.run(runId));
    const hold = held.find((each) => each.runId === runId);
    if (entry !== undefined)
      all.set(runId, { runId, run: toRun(entry), revision: entry.revision, changedAtMs: entry.updatedAtMs, holder: hold?.holder, expiresAtMs: hold?.expiresAtMs });
  }
  const runs = [...all.values()];
  const isOpenHere = ({ run }: WorkRun): boolean => !isFinished(run) && !isElsewhere(run, workspace);
  const isMine = ({ holder }: WorkRun): boolean => holder !== undefined && holder === agent;
  const isLive = ({ expiresAtMs }: WorkRun | WorkLease): boolean => expiresAtMs !== undefined;
  const here = runs.filter(isOpenHere);
  const newest = (some: readonly WorkRun[]): readonly WorkRun[] => some.toSorted((a, b) => b.revision - a.revision);
  const mine = newest(here.filter(isMine));
  const free = here.filter((run) => !isMine(run) && !isLive(run));
  const wasLeft = ({ runId, holder }: WorkRun): boolean => holder !== undefined || !ready.includes(runId);
  const waiting = ready.flatMap((runId) => free.filter((run) => run.runId === runId && !wasLeft(run)));
  const leases = holds.flatMap((hold): WorkLease[] => {
    const { holder, workspace: where } = toHold(hold);
    if (runOf(hold) !== undefined || isElsewhere({ tags: {}, workspace: where }, workspace)) return [];
    const deadline = byKey.get(leaseKeys.deadline(resourceOf(hold)));
    return [{ resource: resourceOf(hold), holder, expiresAtMs: deadline?.expiresAtMs, revision: deadline?.revision ?? hold.revision }];
  });
  return {
    mine: [...mine.filter(isLive), ...mine.filter((run) => !isLive(run))],
    leases: leases.filter((lease) => lease.holder === agent && isLive(lease)),
    lapsedLeases: leases.filter((lease) => lease.holder === agent && !isLive(lease)),
    others: newest(here.filter((run) => !isMine(run) && isLive(run))),
    othersLeases: leases.filter((lease) => lease.holder !== agent && isLive(lease)),
    free: [...newest(free.filter(wasLeft)), ...waiting],
    finished: finished.flatMap((runId) => runs.filter((run) => run.runId === runId && isFinished(run.run) && !isElsewhere(run.run, workspace))),
    elsewhere: runs.filter(({ run }) => !isFinished(run) && isElsewhere(run, workspace)).length,
    agent,
  };
}

/** How many of the last step outputs are read; they show what was done. */
const outputsMax = 5;

/** The ranges of each run's input and last outputs. */
export const detailRanges = (runs: readonly WorkRun[]): readonly Range[] =>
  runs.flatMap(({ runId, run: { lastStep } }) => [
    keyRange(workflowKeys.input(runId)),
    ...Array.from({ length: Math.min(outputsMax, lastStep + 1) }, (_, back) => keyRange(workflowKeys.step(runId, lastStep - back))),
  ]);

export interface RunDetails {
  /** The run's completed effects, newest first. */
  readonly effects: readonly string[];
  readonly input?: Json;
  /** Newest first. */
  readonly outputs: readonly { readonly step: number; readonly output: Json }[];
}

export function detailsOf({ runId, run: { lastStep } }: WorkRun, byKey: ReadonlyMap<string, Entry>): Omit<RunDetails, "effects"> {
  const steps = Array.from({ length: Math.min(outputsMax, lastStep + 1) }, (_, back) => lastStep - back);
  return {
    input: byKey.get(workflowKeys.input(runId))?.value,
    outputs: steps.flatMap((step) => {
      const entry = byKey.get(workflowKeys.step(runId, step));
      return entry === undefined ? [] : [{ step, output: entry.value }];
    }),
  };
}
