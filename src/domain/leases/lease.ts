import { keyRange } from "../../store/ranges.ts";
import type { Check, Entry, Range, Revision, Snapshot, Write } from "../../store/store.ts";
import { leaseKeys } from "../keyspace.ts";
import { number, object, optional, storedAs, string } from "../stored-record.ts";

/** A lease that is held. Whoever shows one shows a part of this. */
export interface Lease extends StoredHold {
  readonly resource: string;
  /** The fencing token: the revision at which this holder took it. */
  readonly token: Revision;
  /** When this holder took it; renewals do not change it. */
  readonly heldSinceMs: number;
  /** Last acquire or renewal. */
  readonly renewedAtMs: number;
  readonly expiresAtMs: number;
}

export type LiveLease = Pick<Lease, "holder" | "token" | "expiresAtMs" | "ttlMs">;

/** What the two keys of a lease say. The last holder stays known after a lapse, until someone else takes over. */
export interface LeaseRecord {
  readonly live?: LiveLease;
  readonly last?: Pick<Lease, "holder" | "token" | "ttlMs">;
}

/** As stored, under the holder's key and under the deadline's. */
export interface StoredHold {
  readonly holder: string;
  readonly ttlMs: number;
  /** The id of the workspace its holder worked in; absent where that was not known. */
  readonly workspace?: string;
}

export const holdForm = object<StoredHold>({ holder: string, ttlMs: number, workspace: optional(string) });
export const toHold = storedAs(holdForm);

/** Somebody who waits in line. */
export const toTicket = storedAs(object<Pick<StoredHold, "holder">>({ holder: string }));

/** A live lease, from its deadline and, where that was read, its holder. Without the latter its token is the one of the last renewal. */
export function toLease(deadline: Entry, holder: Entry | undefined): Lease {
  const taken = holder ?? deadline;
  return {
    resource: leaseKeys.resourceOf(deadline.key),
    ...toHold(deadline),
    token: taken.revision,
    heldSinceMs: taken.updatedAtMs,
    renewedAtMs: deadline.updatedAtMs,
    expiresAtMs: deadline.expiresAtMs as number,
  };
}

export const leaseRanges = (resource: string): readonly Range[] => [keyRange(leaseKeys.holder(resource)), keyRange(leaseKeys.deadline(resource))];

export function leaseIn(snapshot: Pick<Snapshot, "entries">, resource: string): LeaseRecord {
  const find = (key: string): Entry | undefined => snapshot.entries.find((entry) => entry.key === key);
  const holder = find(leaseKeys.holder(resource));
  const deadline = find(leaseKeys.deadline(resource));
  if (holder === undefined) return {};
  const { holder: name, ttlMs: lastTtlMs } = toHold(holder);
  const last = { holder: name, ttlMs: lastTtlMs, token: holder.revision };
  if (deadline === undefined) return { last };
  const { ttlMs } = toHold(deadline);
  return { last, live: { holder: last.holder, token: last.token, ttlMs, expiresAtMs: deadline.expiresAtMs as number } };
}

/** Add to any commit that must land only while the lease is live and the token is the current one. Renewing does not change it. */
export const guard = (resource: string, token: Revision): { resource: string; token: Revision; checks: readonly Check[] } => ({
  resource,
  token,
  checks: [
    { key: leaseKeys.holder(resource), revision: token },
    { key: leaseKeys.deadline(resource), is: "present" },
  ],
});

/** What history says of a lease's changes. A workflow claim is a lease that speaks of its run. */
export interface HistorySubject {
  readonly kind: string;
  readonly subject: string;
}

/** A new holder: both keys are written, so the token is this commit's revision. */
export const takeWrites = (resource: string, holder: string, ttlMs: number, historySubject: HistorySubject, op: string | undefined, workspace?: string): Write[] => [
  { op: "put", key: leaseKeys.holder(resource), value: { holder, ttlMs, ...(workspace === undefined ? {} : { workspace }) } },
  extendWrite(resource, holder, ttlMs, historySubject, op),
];

/**
 * The same holder for longer: only the deadline is written, so the token stays. `op` undefined = another write of the commit carries the record.
 * `leftMs`: what the holder has left in any case, where asking again must not make it less.
 */
export const extendWrite = (resource: string, holder: string, ttlMs: number, historySubject: HistorySubject, op: string | undefined, leftMs = 0): Write => ({
  op: "put",
  key: leaseKeys.deadline(resource),
  value: { holder, ttlMs },
  ttlMs: Math.max(ttlMs, leftMs),
  record: op === undefined ? undefined : { ...historySubject, op },
  lapse: { ...historySubject, op: "lapse" },
});

export const dropWrites = (resource: string, historySubject: HistorySubject, op: string | undefined): Write[] => [
  { op: "delete", key: leaseKeys.deadline(resource), record: op === undefined ? undefined : { ...historySubject, op } },
  { op: "delete", key: leaseKeys.holder(resource) },
];
