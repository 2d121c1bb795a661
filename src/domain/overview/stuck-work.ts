import { keyRange } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Range } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import type { EffectView } from "../effects/find-effects.ts";
import { listEffects } from "../effects/find-effects.ts";
import { leaseKeys, workflowKeys } from "../keyspace.ts";
import { toHold } from "../leases/lease.ts";
import type { LeaseOverview } from "../leases/lease-overview.ts";
import { isFinished, toRun } from "../workflows/workflow.ts";
import type { RunView } from "../workflows/workflows.ts";

/** An unfinished run whose claim lapsed and that has no holder now. */
export interface AbandonedRun extends Pick<RunView, "runId" | "name" | "lastStep"> {
  /** The agent whose claim lapsed. */
  readonly holder: string;
  /** The token of that claim. */
  readonly token: number;
  /** The last change to the run, as the best record of when its holder was last active. */
  readonly sinceMs: number;
}

export interface StuckWork {
  readonly abandoned: readonly AbandonedRun[];
  readonly longHeld: readonly LeaseOverview[];
  readonly awaited: readonly LeaseOverview[];
  /** The first effects whose outcome is unknown. */
  readonly unknown: readonly EffectView[];
}

const longHeldMs = 3_600_000;
const claimsScannedMax = 500;
const unknownMax = 50;

/** Work that may be stuck: lapsed claims, effects with an unknown outcome, leases held for a long time, and leases with waiters. `leases`: the live leases. */
export async function findStuckWork({ store }: Pick<Scope, "store">, leases: readonly LeaseOverview[], nowMs: number): Promise<StuckWork> {
  return {
    abandoned: await readTogether(store, (together) => findAbandoned({ store: together })),
    longHeld: leases.filter((lease) => nowMs - lease.heldSinceMs > longHeldMs),
    awaited: leases.filter((lease) => lease.waiters.length > 0),
    unknown: (await listEffects({ store }, { state: "unknown", limit: unknownMax })).effects,
  };
}

/** The last holder of a run stays on record until someone else takes the run. A holder without a deadline means that the claim has lapsed. */
async function findAbandoned({ store }: Pick<Scope, "store">): Promise<AbandonedRun[]> {
  const { entries: holders } = await store.read(leaseKeys.claimHolders, { limit: claimsScannedMax });
  if (holders.length === 0) return [];
  const runIds = holders.map(({ key }) => workflowKeys.runOfResource(leaseKeys.resourceOfHolder(key)) as string);
  const deadlines = await store.read(
    runIds.map((runId) => keyRange(leaseKeys.deadline(workflowKeys.resource(runId)))),
    { values: false },
  );
  const live = new Set(deadlines.entries.map(({ key }) => key));
  const lapsed = holders.flatMap((holder, i) => {
    const runId = runIds[i] as string;
    return live.has(leaseKeys.deadline(workflowKeys.resource(runId))) ? [] : [{ runId, holder: toHold(holder).holder, token: holder.revision }];
  });
  if (lapsed.length === 0) return [];
  const runs = await store.read(lapsed.map(({ runId }): Range => keyRange(workflowKeys.run(runId))));
  const byKey = new Map(runs.entries.map((entry) => [entry.key, entry]));
  return lapsed.flatMap(({ runId, holder, token }) => {
    const entry = byKey.get(workflowKeys.run(runId));
    if (entry === undefined) return [];
    const run = toRun(entry);
    return isFinished(run) ? [] : [{ runId, name: run.name, lastStep: run.lastStep, holder, token, sinceMs: entry.updatedAtMs }];
  });
}
