import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { keepHold } from "../../kernel/keep-alive.ts";
import type { Holdfast, LeaseRef } from "../library/holdfast.ts";
import { failureCodeOf } from "./transcript.ts";
import type { SessionKeys } from "./transcript-keys.ts";

export interface SessionHoldOptions {
  /** Unique to the store that holds: two stores of one host are two holders. */
  readonly holder: string;
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly clock: Pick<Clock, "nowMs" | "sleep">;
  /** Another store holds the session now. */
  onTaken(heldBy: string | undefined): void;
}

/** A holder stops this part of the lease's time before the deadline when renewals stay without an answer. */
const reserve = 1 / 10;
/** How often a change is tried again whose lease expired before it was made. */
export const leaseAttemptsMax = 3;

/**
 * The lease on a session, and the record of the store that last began to work on it. A lease that lapsed, because the process was suspended or the server
 * could not be reached, is acquired again only while that record still names this store.
 */
export class SessionHold {
  readonly #holdfast: Pick<Holdfast, "state" | "leases">;
  readonly #keys: SessionKeys;
  readonly #options: SessionHoldOptions;
  #lease: LeaseRef | undefined;
  #keeping: AbortController | undefined;
  /** True once this store has begun to work on the session, until it loads it again. */
  #hasBegun = false;
  #takenOver: HoldfastError | undefined;

  constructor(holdfast: Pick<Holdfast, "state" | "leases">, keys: SessionKeys, options: SessionHoldOptions) {
    this.#holdfast = holdfast;
    this.#keys = keys;
    this.#options = options;
  }

  get isHeld(): boolean {
    return this.#lease !== undefined;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Begins to work on the session as it is stored now. Throws `claim_held` if another store is at work on it. */
  async begin(): Promise<LeaseRef> {
    if (this.#lease !== undefined && this.#hasBegun) return this.#lease;
    for (let attempt = 1; ; attempt += 1) {
      const lease = this.#lease ?? (await this.#acquire());
      try {
        await this.#holdfast.state.set(this.#keys.owner, { holder: this.#options.holder }, { lease });
        this.#hasBegun = true;
        return lease;
      } catch (error) {
        await this.release();
        if (failureCodeOf(error) !== "lease_lost") throw error;
        if (attempt === leaseAttemptsMax) throw this.lapsed(error);
      }
    }
  }

  /** The lease, for a store that has begun before. Throws `lease_lost` if another store has begun to work on the session since. */
  async resume(): Promise<LeaseRef> {
    if (this.#lease !== undefined) return this.#lease;
    const lease = await this.#acquire();
    const owner = await this.#holdfast.state.get(this.#keys.owner);
    const by = (owner?.value as { readonly holder?: unknown } | undefined)?.holder;
    if (by === this.#options.holder) return lease;
    await this.release();
    this.#takenOver = this.#lostTo(typeof by === "string" ? by : undefined);
    throw this.#takenOver;
  }

  /** The lease for a single change of a session that this store does not work on. */
  async visit(): Promise<LeaseRef> {
    return this.#lease ?? this.#acquire();
  }

  /** The session as it was known here counts no more. */
  forget(): void {
    this.#hasBegun = false;
  }

  /** A lease that cannot be released expires by itself. */
  async release(): Promise<void> {
    const lease = this.#lease;
    this.drop();
    if (lease !== undefined) await this.#holdfast.leases.release(lease.resource, { token: lease.token, agent: this.#options.holder }).catch(() => undefined);
  }

  /** The lease is known to be gone. */
  drop(): void {
    this.#keeping?.abort();
    this.#lease = undefined;
  }

  /** True if the error says that another store has begun to work on the session; a lease may also lapse while no other store wants it. */
  isTakenOver(error: unknown): boolean {
    return error !== undefined && error === this.#takenOver;
  }

  lapsed(cause: unknown): HoldfastError {
    const { sessionId, resource } = this.#keys;
    return new HoldfastError("unavailable", `The lease on session ${JSON.stringify(sessionId)} kept expiring before the store answered; nothing was changed.`, {
      hint: "Try again, or use a longer lease.",
      details: { session_id: sessionId, resource_id: resource },
      cause,
    });
  }

  #lostTo(by: string | undefined): HoldfastError {
    const { sessionId, resource } = this.#keys;
    return new HoldfastError("lease_lost", `Session ${JSON.stringify(sessionId)} was ${by === undefined ? "deleted or taken over" : `taken over by ${by}`}; nothing was changed.`, {
      hint: "Stop this query. Load the session again to continue from what is stored now.",
      details: { session_id: sessionId, resource_id: resource, held_by: by ?? null },
    });
  }

  async #acquire(): Promise<LeaseRef> {
    const { holder, ttlMs, waitMs, clock } = this.#options;
    const { resource } = this.#keys;
    const askedAtMs = clock.nowMs();
    const acquired = await this.#holdfast.leases.acquire(resource, { ttlMs, waitMs, agent: holder });
    if (!acquired.ok) throw this.#held(acquired.heldBy, acquired.expiresAtMs);
    const lease: LeaseRef = { resource, token: acquired.token };
    this.#lease = lease;
    this.#keep(lease, askedAtMs);
    return lease;
  }

  #keep(lease: LeaseRef, grantedAtMs: number): void {
    const { holder, ttlMs, waitMs, clock, onTaken } = this.#options;
    const ended = new AbortController();
    this.#keeping = ended;
    const renew = async () => {
      try {
        return await this.#holdfast.leases.renew(lease.resource, { ttlMs, token: lease.token, agent: holder });
      } catch (error) {
        // A client that was closed renews no more.
        if (failureCodeOf(error) === "cancelled") ended.abort();
        throw error;
      }
    };
    // After a wait, the start of the lease is unknown; a renewal sets a known start.
    void keepHold({ clock, ttlMs, reserveMs: ttlMs * reserve, grantedAtMs, renewAtOnce: waitMs > 0, renew }, ended.signal).then((loss) => {
      if (loss === undefined || this.#lease !== lease) return;
      this.#lease = undefined;
      if (loss.is === "taken" && loss.heldBy !== undefined) onTaken(loss.heldBy);
    });
  }

  #held(by: string | undefined, expiresAtMs: number | undefined): HoldfastError {
    const { sessionId, resource } = this.#keys;
    return new HoldfastError("claim_held", `Session ${JSON.stringify(sessionId)} is in use${by === undefined ? "" : ` by ${by}`}; nothing was changed.`, {
      hint: "Continue it there, end it there, or try again when its lease has expired.",
      details: { session_id: sessionId, resource_id: resource, held_by: by ?? null, expires_at_ms: expiresAtMs ?? null },
    });
  }
}
