import type { AcquireResult } from "../../domain/leases/leases.ts";
import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { keepHold } from "../../kernel/keep-alive.ts";
import { linkedAbort } from "../../kernel/linked-abort.ts";
import type { CallOptions } from "./call-options.ts";
import type { Holdfast, LeaseRef } from "./holdfast.ts";
import { monotonicClock } from "./monotonic-clock.ts";

export interface WithLeaseOptions extends CallOptions {
  /** How long the lease lasts without a renewal; it is renewed after a third of this time. */
  readonly ttlMs: number;
  /** How long to wait in the queue for the lease; no wait by default. */
  readonly waitMs?: number;
  /** For tests; must be monotonic. */
  readonly clock?: Pick<Clock, "nowMs" | "sleep">;
}

export type WithLeaseResult<Value> = { readonly ok: true; readonly value: Value } | Extract<AcquireResult, { readonly ok: false }>;

/** Work that cannot renew its lease must stop when this fraction of the lease's time is left. */
const reserve = 1 / 10;

/**
 * Runs work while holding a lease, which is renewed meanwhile and released at the end. The work's signal aborts when the lease is lost: at once if the store
 * reports it, or, if the store does not answer, before another agent can hold the lease. Pass `lease` with every write, in case the work does not stop in time.
 * Rejects with `lease_lost` if the lease was lost before the work ended.
 */
export async function withLease<Value>(
  { leases }: Pick<Holdfast, "leases">,
  resource: string,
  { ttlMs, waitMs, agent, signal, clock = monotonicClock }: WithLeaseOptions,
  work: (lease: LeaseRef, signal: AbortSignal) => Promise<Value> | Value,
): Promise<WithLeaseResult<Value>> {
  let askedAtMs = clock.nowMs();
  const acquired = await leases.acquire(resource, { ttlMs, waitMs, agent, signal });
  if (!acquired.ok) return acquired;
  const { token } = acquired;
  const renew = () => leases.renew(resource, { ttlMs, token, agent });
  if (waitMs !== undefined && waitMs > 0) {
    // After a wait, the start of the lease is unknown; a renewal sets a known start.
    askedAtMs = clock.nowMs();
    const renewed = await renew();
    if (!renewed.ok) return { ok: false, resource, heldBy: renewed.heldBy };
  }
  const finished = new AbortController();
  const lost = linkedAbort(signal);
  const keeping = keepHold({ clock, ttlMs, reserveMs: ttlMs * reserve, grantedAtMs: askedAtMs, renewAtOnce: false, renew }, finished.signal).then((loss) => {
    if (loss === undefined) return undefined;
    const error = leaseGone(resource, token, loss.is === "taken" ? loss.heldBy : undefined);
    lost.abort(error);
    return error;
  });
  try {
    const value = await work({ resource, token }, lost.signal);
    finished.abort();
    const loss = await keeping;
    if (loss !== undefined) throw loss;
    return { ok: true, value };
  } finally {
    finished.abort();
    lost.unlink();
    // A lease that the agent already held belongs to the call that acquired it first. A failed release must not hide the work's result; the lease expires by itself.
    if ((await keeping) === undefined && !acquired.renewed) await leases.release(resource, { token, agent }).catch(() => undefined);
  }
}

const leaseGone = (resource: string, token: number, heldBy: string | undefined): HoldfastError =>
  new HoldfastError("lease_lost", `The lease on ${JSON.stringify(resource)} was lost${heldBy === undefined ? "" : ` to ${JSON.stringify(heldBy)}`} while the work ran.`, {
    hint: "Check what changed meanwhile before you begin again.",
    details: { resource_id: resource, token },
  });
