import type { Scope } from "../../store/transact.ts";
import { leaseKeys } from "../keyspace.ts";

export interface LeaseOverview {
  readonly resource: string;
  readonly holder: string;
  /** When this holder took it; renewals do not change it. */
  readonly heldSinceMs: number;
  readonly expiresAtMs: number;
  /** Somebody waits in line for it. */
  readonly awaited: boolean;
}

/** Live leases with their age and whether others wait, for a person who asks what is stuck. Two reads, so a moment's change may show in one only. */
export async function readLeaseOverview(
  { store }: Pick<Scope, "store">,
  limit: number,
): Promise<{ readonly leases: readonly LeaseOverview[]; readonly more: boolean; readonly nowMs: number }> {
  const deadlines = await store.read(leaseKeys.deadlines, { limit });
  const resources = deadlines.entries.map((entry) => leaseKeys.resourceOf(entry.key));
  const [first, final] = [resources[0], resources.at(-1)];
  if (first === undefined || final === undefined) return { leases: [], more: false, nowMs: deadlines.nowMs };
  const others = await store.read([
    { start: leaseKeys.holder(first), end: `${leaseKeys.holder(final)}\0` },
    { start: leaseKeys.waiting(first), end: `${leaseKeys.waiting(final)}\0` },
  ]);
  const byKey = new Map(others.entries.map((entry) => [entry.key, entry]));
  const leases = deadlines.entries.map((deadline, i) => {
    const resource = resources[i] as string;
    return {
      resource,
      holder: (deadline.value as { holder: string }).holder,
      heldSinceMs: byKey.get(leaseKeys.holder(resource))?.updatedAtMs ?? deadline.updatedAtMs,
      expiresAtMs: deadline.expiresAtMs as number,
      awaited: byKey.has(leaseKeys.waiting(resource)),
    };
  });
  return { leases, more: deadlines.more, nowMs: deadlines.nowMs };
}
