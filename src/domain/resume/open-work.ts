import { limits } from "../../store/limits.ts";
import { keyRange, rangeAfter } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Entry, Range, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { leaseKeys, workflowKeys } from "../keyspace.ts";
import type { Lease } from "../leases/lease.ts";
import { toHold } from "../leases/lease.ts";
import type { Run } from "../workflows/workflow.ts";
import { isFinished, toRun } from "../workflows/workflow.ts";
import type { RunView } from "../workflows/workflows.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { noWorkspaceId } from "../workspace/workspace.ts";

export interface OpenRun extends Pick<RunView, "runId" | "name" | "lastStep">, Pick<Lease, "holder" | "token"> {
  /** Absent if the claim has expired and no agent has taken the run since. */
  readonly expiresAtMs?: number;
  readonly revision: Revision;
}
export interface OpenLease extends Pick<Lease, "resource" | "holder" | "token" | "expiresAtMs"> {
  readonly revision: Revision;
}
export interface OpenWork {
  readonly runs: readonly OpenRun[];
  readonly leases: readonly OpenLease[];
  /** True if there may be more work than was read. */
  readonly more: boolean;
}

const holdersScannedMax = 4 * limits.readEntriesMax;
const heldMax = 100;

/**
 * Reads the claimed runs and held leases of one holder or of all. With a holder, it also returns runs whose claim expired and that no other agent
 * took, so that the holder can claim them again. Work of other workspaces is left out.
 */
export const readOpenWork = (scope: Pick<Scope, "store">, query: { readonly holder?: string; readonly workspace?: Workspace }): Promise<OpenWork> =>
  readTogether(scope.store, (store) => lookForOpenWork({ store }, query));

async function lookForOpenWork({ store }: Pick<Scope, "store">, { holder, workspace }: { readonly holder?: string; readonly workspace?: Workspace }): Promise<OpenWork> {
  const { holders, more } = await findHolders({ store }, holder);
  if (holders.length === 0) return { runs: [], leases: [], more };
  const resources = holders.map((entry) => leaseKeys.resourceOfHolder(entry.key));
  const { entries } = await store.read(
    resources.flatMap((resource): Range[] => {
      const runId = workflowKeys.runOfResource(resource);
      return [keyRange(leaseKeys.deadline(resource)), ...(runId === undefined ? [] : [keyRange(workflowKeys.run(runId))])];
    }),
  );
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const runs: OpenRun[] = [];
  const leases: OpenLease[] = [];
  for (const [i, resource] of resources.entries()) {
    const hold = holders[i] as Entry;
    const { holder: name, workspace: where } = toHold(hold);
    const held = { holder: name, token: hold.revision };
    const deadline = byKey.get(leaseKeys.deadline(resource));
    const runId = workflowKeys.runOfResource(resource);
    const runEntry = runId === undefined ? undefined : byKey.get(workflowKeys.run(runId));
    if (runId !== undefined && runEntry !== undefined) {
      const run = toRun(runEntry);
      if (isFinished(run) || isElsewhere(run, workspace) || (deadline === undefined && holder === undefined)) continue;
      const revision = Math.max(runEntry.revision, deadline?.revision ?? 0);
      runs.push({ runId, name: run.name, lastStep: run.lastStep, ...held, expiresAtMs: deadline?.expiresAtMs, revision });
    } else if (deadline !== undefined && !isElsewhere({ tags: {}, workspace: where }, workspace))
      leases.push({ resource, ...held, expiresAtMs: deadline.expiresAtMs as number, revision: deadline.revision });
  }
  // Newest first, because callers may show only the first few.
  const newestFirst = (a: OpenRun | OpenLease, b: OpenRun | OpenLease): number => b.revision - a.revision;
  return { runs: runs.sort(newestFirst), leases: leases.sort(newestFirst), more };
}

async function findHolders({ store }: Pick<Scope, "store">, holder: string | undefined): Promise<{ readonly holders: readonly Entry[]; readonly more: boolean }> {
  const holders: Entry[] = [];
  let range = leaseKeys.holders;
  for (let scanned = 0; scanned < holdersScannedMax; scanned += limits.readEntriesMax) {
    const page = await store.read(range);
    holders.push(...page.entries.filter((entry) => holder === undefined || holderOf(entry) === holder));
    const last = page.entries.at(-1);
    if (holders.length > heldMax) return { holders: holders.slice(0, heldMax), more: true };
    if (!page.more || last === undefined) return { holders, more: false };
    range = rangeAfter(range, last.key);
  }
  return { holders, more: true };
}

const holderOf = (entry: Entry): string => toHold(entry).holder;

/** True if the work belongs to another workspace, by its tag or else by where it was created. Work without a workspace belongs to all. */
export function isElsewhere({ tags, workspace: recorded }: Pick<Run, "tags" | "workspace">, workspace: Workspace | undefined): boolean {
  if (workspace === undefined || workspace.id === noWorkspaceId) return false;
  const names = [workspace.id, ...workspace.formerIds];
  if (tags.workspace !== undefined) return tags.workspace !== workspace.name && !names.includes(tags.workspace);
  return recorded !== undefined && !names.includes(recorded);
}
