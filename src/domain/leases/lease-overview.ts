import { keyRange, rangeAfter } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Entry, Range, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { leaseKeys } from "../keyspace.ts";
import type { Lease } from "./lease.ts";
import { toLease, toTicket } from "./lease.ts";

export interface LeaseOverview extends Pick<Lease, "resource" | "holder" | "token" | "heldSinceMs" | "expiresAtMs"> {
  /** The queued waiters, first come first served, at most `waitersMax`. */
  readonly waiters: readonly string[];
}

export interface LeasePage {
  readonly leases: readonly LeaseOverview[];
  readonly more: boolean;
  readonly nowMs: number;
  readonly revision: Revision;
}

const waitersMax = 50;
/** Leases per read; each needs two keys, the holder and the waiting marker. */
const readAtOnce = 300;

/** Live leases in name order, with their age and waiters, for a person who wants to know what is stuck. */
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
  return deadlines.map((deadline) => {
    const { resource, holder, token, heldSinceMs, expiresAtMs } = toLease(deadline, byKey.get(leaseKeys.holder(leaseKeys.resourceOf(deadline.key))));
    return { resource, holder, token, heldSinceMs, expiresAtMs, waiters: waiters.get(resource) ?? [] };
  });
}

async function readWaiters({ store }: Pick<Scope, "store">, resource: string): Promise<readonly string[]> {
  const { entries } = await store.read(leaseKeys.queue(resource), { limit: waitersMax });
  return entries.map((entry) => toTicket(entry).holder);
}
