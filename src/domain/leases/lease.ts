import { keyRange } from "../../store/ranges.ts";
import type { Check, Entry, Range, Revision, Snapshot, Write } from "../../store/store.ts";
import { leaseKeys } from "../keyspace.ts";
import { number, object, optional, storedAs, string, toStored } from "../stored-record.ts";

/** A held lease. Other views of a lease are subsets of this type. */
export interface Lease extends StoredHold {
  readonly resource: string;
  /** The fencing token: the revision at which this holder acquired the lease. */
  readonly token: Revision;
  /** When this holder acquired the lease; renewals do not change it. */
  readonly heldSinceMs: number;
  /** The time of the last acquisition or renewal. */
  readonly renewedAtMs: number;
  readonly expiresAtMs: number;
}

export type LiveLease = Pick<Lease, "holder" | "token" | "expiresAtMs" | "ttlMs">;

/** The contents of a lease's two keys. The last holder stays on record after a lapse until someone else takes over. */
export interface LeaseRecord {
  readonly live?: LiveLease;
  readonly last?: Pick<Lease, "holder" | "token" | "ttlMs">;
}

/** The stored value of both the holder key and the deadline key. */
export interface StoredHold {
  readonly holder: string;
  readonly ttlMs: number;
  /** The id of the holder's workspace; absent if unknown. */
  readonly workspace?: string;
}

/** A hold with every member named, also those that are undefined: code that adds one to the type and forgets it where leases are taken does not compile. */
type WholeHold = StoredHold & Readonly<Record<keyof StoredHold, unknown>>;

export const holdForm = object<StoredHold>({ holder: string, ttlMs: number, workspace: optional(string) });
export const toHold = storedAs(holdForm);

/** A waiter's place in the queue. */
export const toTicket = storedAs(object<Pick<StoredHold, "holder">>({ holder: string }));

/** Builds a live lease from its deadline and its holder. If the holder was not read, the token, the start time and all but holder and TTL are those of the last renewal. */
export function toLease(deadline: Entry, holder: Entry | undefined): Lease {
  const taken = holder ?? deadline;
  return {
    resource: leaseKeys.resourceOf(deadline.key),
    ...toHold(taken),
    ttlMs: toHold(deadline).ttlMs,
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

/** Checks for a commit that must succeed only while the lease is live and this token is current. They survive renewals. */
export const guard = (resource: string, token: Revision): { resource: string; token: Revision; checks: readonly Check[] } => ({
  resource,
  token,
  checks: [
    { key: leaseKeys.holder(resource), revision: token },
    { key: leaseKeys.deadline(resource), is: "present" },
  ],
});

/** How history records changes to a lease. Changes to a workflow claim are recorded under its run. */
export interface HistorySubject {
  readonly kind: string;
  readonly subject: string;
}

/** Writes for a new holder. Both keys are written, so the token is this commit's revision. */
export const takeWrites = (resource: string, hold: WholeHold, historySubject: HistorySubject, op: string | undefined): Write[] => [
  { op: "put", key: leaseKeys.holder(resource), value: toStored(hold) },
  extendWrite(resource, hold.holder, hold.ttlMs, historySubject, op),
];

/**
 * Extends the lease of the same holder. Only the deadline is written, so the token stays.
 * `op` undefined = another write of the commit carries the record.
 * `leftMs`: the time left on the lease, which a repeated acquire must not shorten.
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
