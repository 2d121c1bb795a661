import { HoldfastError } from "../../kernel/errors.ts";
import { requireKey, requireTtl } from "../../store/prepare-commit.ts";
import { keyRange, rangeAfter } from "../../store/ranges.ts";
import type { Check, Revision, Write } from "../../store/store.ts";
import type { Decision, Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { leaseKeys, workflowKeys } from "../keyspace.ts";
import type { HistorySubject, Lease, LiveLease } from "./lease.ts";
import { dropWrites, extendWrite, guard, leaseIn, leaseRanges, takeWrites, toLease } from "./lease.ts";
import { WaitQueue } from "./wait-queue.ts";

export interface AcquireInput {
  readonly resource: string;
  readonly holder: string;
  readonly ttlMs: number;
  /** The id of the holder's workspace. */
  readonly workspace?: string;
}
export type AcquireResult =
  | { readonly ok: true; readonly resource: string; readonly holder: string; readonly token: Revision; readonly expiresAtMs: number; readonly renewed: boolean }
  | Refusal;

interface Refusal {
  readonly ok: false;
  readonly resource: string;
  /** Undefined: the lease is free, but others are queued for it. */
  readonly heldBy?: string;
  readonly expiresAtMs?: number;
  readonly queuePosition?: number;
}

interface AcquireNote {
  readonly [key: string]: string | number | null;
  readonly holder: string;
  /** null: a new holder, whose token is the commit's revision. */
  readonly token: number | null;
}

/** Acquires a free lease or extends the holder's own; otherwise returns who holds it. With `waitMs`, queues for it. */
export async function acquireLease(scope: Scope, { resource, holder, ttlMs, workspace, waitMs = 0 }: AcquireInput & { readonly waitMs?: number }): Promise<AcquireResult> {
  requireLeaseInput(resource, holder, ttlMs);
  const take = (checks: readonly Check[], alsoWrite: readonly Write[] = []): Decision<AcquireNote, AcquireResult> => ({
    checks,
    writes: [...alsoWrite, ...takeWrites(resource, { holder, ttlMs, workspace }, historySubjectOf(resource), "acquire")],
    note: { holder, token: null },
  });
  const free: readonly Check[] = [
    { key: leaseKeys.deadline(resource), is: "absent" },
    { key: leaseKeys.waiting(resource), is: "absent" },
  ];
  const line = new WaitQueue(scope, resource, holder, waitMs);
  try {
    const result = await transact<AcquireNote, AcquireResult>(scope, {
      // A free lease is the common case, so the first attempt commits without reading. Only a rejected commit causes a read.
      async decide(attempt) {
        if (attempt === 0) return take(free);
        for (;;) {
          const snapshot = await scope.store.read([...leaseRanges(resource), keyRange(leaseKeys.waiting(resource))]);
          const { live } = leaseIn(snapshot, resource);
          if (live?.holder === holder)
            return {
              checks: guard(resource, live.token).checks,
              writes: [extendWrite(resource, holder, ttlMs, historySubjectOf(resource), "renew", live.expiresAtMs - snapshot.nowMs)],
              note: { holder, token: live.token },
            };
          const othersWait = snapshot.entries.some((entry) => entry.key === leaseKeys.waiting(resource));
          if (live === undefined && !othersWait) return take(free);
          if (waitMs <= 0) return { answer: refusal(resource, live) };
          const turn = await line.awaitTurn();
          if (turn.is === "ours") return take(turn.checks, turn.writes);
          if (turn.is === "not yet") return { answer: { ...refusal(resource, turn.live), queuePosition: turn.position } };
        }
      },
      finish: (note, committed) => ({
        ok: true,
        resource,
        holder: note.holder,
        token: note.token ?? committed.revision,
        // The deadline is the last write on both paths.
        expiresAtMs: committed.writes.at(-1)?.expiresAtMs as number,
        renewed: note.token !== null,
      }),
    });
    // The caller disconnected while its turn was being committed, so the lease must be released here.
    if (result.ok && !result.renewed && line.joined && scope.signal?.aborted) {
      await releaseLease({ ...scope, request: undefined }, { resource, holder, token: result.token });
      return { ok: false, resource };
    }
    return result;
  } finally {
    await line.leave();
  }
}

export type RenewResult = { readonly ok: true; readonly token: Revision; readonly expiresAtMs: number } | { readonly ok: false; readonly heldBy?: string };

/** Extends a live lease of this holder (and, if given, this token) to `ttlMs` from now. */
export function renewLease(scope: Scope, { resource, holder, ttlMs, token }: AcquireInput & { readonly token?: Revision }): Promise<RenewResult> {
  requireLeaseInput(resource, holder, ttlMs);
  return transact<{ token: number }, RenewResult>(scope, {
    async decide() {
      const { live } = leaseIn(await scope.store.read(leaseRanges(resource)), resource);
      if (live === undefined || !isHeldBy(live, holder, token)) return { answer: { ok: false, heldBy: live?.holder } };
      return {
        checks: guard(resource, live.token).checks,
        writes: [extendWrite(resource, holder, ttlMs, historySubjectOf(resource), "renew")],
        note: { token: live.token },
      };
    },
    finish: (note, committed) => ({ ok: true, token: note.token, expiresAtMs: committed.writes[0]?.expiresAtMs as number }),
  });
}

/** True exactly when a live lease of this holder (and token) was released. */
export function releaseLease(
  scope: Scope,
  { resource, holder, token }: { readonly resource: string; readonly holder: string; readonly token?: Revision },
): Promise<{ readonly released: boolean }> {
  requireKey(resource, "resource_id");
  return transact<null, { released: boolean }>(scope, {
    async decide() {
      const { live } = leaseIn(await scope.store.read(leaseRanges(resource)), resource);
      if (live === undefined || !isHeldBy(live, holder, token)) return { answer: { released: false } };
      return {
        checks: guard(resource, live.token).checks,
        writes: dropWrites(resource, historySubjectOf(resource), "release"),
        note: null,
      };
    },
    finish: () => ({ released: true }),
  });
}

export type HeldLease = Pick<Lease, "resource" | "holder" | "expiresAtMs" | "renewedAtMs">;

/** Live leases in name order. */
export async function listLeases(
  { store }: Scope,
  { limit, after }: { readonly limit: number; readonly after?: string },
): Promise<{ readonly leases: readonly HeldLease[]; readonly more: boolean }> {
  const range = after === undefined ? leaseKeys.deadlines : rangeAfter(leaseKeys.deadlines, leaseKeys.deadline(after));
  const { entries, more } = await store.read(range, { limit });
  const leases = entries.map((entry): HeldLease => {
    const { resource, holder, expiresAtMs, renewedAtMs } = toLease(entry, undefined);
    return { resource, holder, expiresAtMs, renewedAtMs };
  });
  return { leases, more };
}

const historySubjectOf = (resource: string): HistorySubject => ({ kind: "lease", subject: resource });

const refusal = (resource: string, live: LiveLease | undefined): Refusal => ({ ok: false, resource, heldBy: live?.holder, expiresAtMs: live?.expiresAtMs });

const isHeldBy = (live: LiveLease, holder: string, token: Revision | undefined): boolean => live.holder === holder && (token === undefined || token === live.token);

function requireLeaseInput(resource: string, holder: string, ttlMs: number): void {
  requireKey(resource, "resource_id");
  if (workflowKeys.runOfResource(resource) !== undefined)
    throw new HoldfastError("invalid_input", "resource_id: names beginning with workflow/ are the claims of runs and cannot be held as plain leases", {
      hint: "Use workflow_claim.",
      details: { field: "resource_id" },
    });
  requireKey(holder, "holder_id");
  requireTtl(ttlMs, "ttl_seconds");
}
