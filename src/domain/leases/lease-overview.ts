import { keyRange, rangeAfter } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Entry, Range, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { leaseKeys } from "../keyspace.ts";

export interface LeaseOverview {
  readonly resource: string;
  readonly holder: string;
  /** The fencing token. */
  readonly token: Revision;
  /** When this holder took it; renewals do not change it. */
  readonly heldSinceMs: number;
  readonly expiresAtMs: number;
  /** Who waits in line for it, first come first; no more than `waitersMax`. */
  readonly waiters: readonly string[];
}

export interface LeasePage {
  readonly leases: readonly LeaseOverview[];
  readonly more: boolean;
  readonly nowMs: number;
  readonly revision: Revision;
}

const waitersMax = 50;
/** Leases looked up with one read: three keys each. */
const readAtOnce = 300;

/** Live leases in the order of their names, with their age and who waits, for a person who asks what is stuck. */
export const readLeaseOverview = (scope: Pick<Scope, "store">, limit: number, after?: string): Promise<LeasePage> =>
  readTogether(scope.store, (store) => readPage({ store }, limit, after));

async function readPage({ store }: Pick<Scope, "store">, limit: number, after?: string): Promise<LeasePage> {
  const range = after === undefined ? leaseKeys.deadlines : rangeAfter(leaseKeys.deadlines, leaseKeys.deadline(after));
  const { entries: deadlines, more, nowMs, revision } = await store.read(range, { limit });
  const leases: LeaseOverview[] = [];
  for (let start = 0; start < deadlines.length; start += readAtOnce) leases.push(...(await describe({ store }, deadlines.slice(start, start + readAtOnce))));
  return { leases, more, nowMs, revision };
}

async function describe({ store }: Pick<Scope, "store">, deadlines: readonly Entry[]): Promise<LeaseOverview[]> {
  const resources = deadlines.map((entry) => leaseKeys.resourceOf(entry.key));
  const { entries } = await store.read(resources.flatMap((resource): Range[] => [keyRange(leaseKeys.holder(resource)), keyRange(leaseKeys.waiting(resource))]));
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const awaited = resources.filter((resource) => byKey.has(leaseKeys.waiting(resource)));
  const waiters = new Map(await Promise.all(awaited.map(async (resource) => [resource, await readWaiters({ store }, resource)] as const)));
  return deadlines.map((deadline, i) => {
    const resource = resources[i] as string;
    const holder = byKey.get(leaseKeys.holder(resource));
    return {
      resource,
      holder: holderIn(deadline),
      token: holder?.revision ?? deadline.revision,
      heldSinceMs: holder?.updatedAtMs ?? deadline.updatedAtMs,
      expiresAtMs: deadline.expiresAtMs as number,
      waiters: waiters.get(resource) ?? [],
    };
  });
}

async function readWaiters({ store }: Pick<Scope, "store">, resource: string): Promise<readonly string[]> {
  const { entries } = await store.read(leaseKeys.queue(resource), { limit: waitersMax });
  return entries.map(holderIn);
}

const holderIn = (entry: Entry): string => (entry.value as { readonly holder: string }).holder;
