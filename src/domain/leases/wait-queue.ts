import { randomHex } from "../../kernel/ids.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Check, Revision, Snapshot, Write } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { waitForChange } from "../../store/wait-for-change.ts";
import { leaseKeys } from "../keyspace.ts";
import type { LiveLease } from "./lease.ts";
import { leaseIn, leaseRanges } from "./lease.ts";

/** A ticket expires this long after its last refresh, so a crashed waiter blocks the queue no longer than this. */
const ticketTtlMs = 6_000;
const refreshEveryMs = 2_000;

/** The lease's keys and its queue share this prefix. */
const leaseArea = { start: "lease/", end: "lease0" };

/** "ours": what the commit that acquires the lease must check and clean up. "not yet": the wait timed out, or the caller is gone. */
export type Turn =
  | { readonly is: "ours"; readonly checks: readonly Check[]; readonly writes: readonly Write[] }
  /** Another call by the same holder acquired the lease meanwhile. */
  | { readonly is: "already ours" }
  | { readonly is: "not yet"; readonly live?: LiveLease; readonly position: number };

/**
 * First come, first served. Each waiter holds a ticket (an entry that expires unless refreshed); the oldest live ticket gets the lease when it is free.
 * While anyone waits, the `waiting` entry keeps newcomers from overtaking.
 */
export class WaitQueue {
  readonly #scope: Scope;
  readonly #resource: string;
  readonly #holder: string;
  readonly #untilMs: number;
  #ticket: string | undefined;
  #refreshAtMs = 0;

  constructor(scope: Scope, resource: string, holder: string, waitMs: number) {
    this.#scope = scope;
    this.#resource = resource;
    this.#holder = holder;
    this.#untilMs = scope.clock.nowMs() + waitMs;
  }

  /** Waits until the lease is free and this waiter is first, or the time is up. */
  async awaitTurn(): Promise<Turn> {
    const { store, clock, signal } = this.#scope;
    for (;;) {
      const ticket = await this.#showSignOfLife();
      const waiting = leaseKeys.waiting(this.#resource);
      const snapshot = await store.read([...leaseRanges(this.#resource), leaseKeys.queue(this.#resource), keyRange(waiting)]);
      const { live } = leaseIn(snapshot, this.#resource);
      const tickets = this.#tickets(snapshot);
      const position = tickets.indexOf(ticket);
      if (live?.holder === this.#holder) return { is: "already ours" };
      const leftMs = this.#untilMs - clock.nowMs();
      // A disconnected caller must not get the lease, because the lease would then stay held until it expires.
      if (signal?.aborted) return { is: "not yet", live, position: position + 1 };
      if (live === undefined && position === 0) {
        const sign = snapshot.entries.find((entry) => entry.key === waiting);
        return this.#turn(ticket, tickets.length === 1 ? sign?.revision : undefined);
      }
      if (leftMs <= 0) return { is: "not yet", live, position: position + 1 };
      // Nothing is written when a lease or a ticket ahead expires, so check again at the next expiry.
      const expiries = snapshot.entries.flatMap((entry) => (entry.expiresAtMs === undefined ? [] : [entry.expiresAtMs - snapshot.nowMs]));
      const nextMs = Math.max(1, Math.min(leftMs, this.#refreshAtMs - clock.nowMs(), ...expiries));
      await waitForChange(store, clock, leaseArea, snapshot.revision, nextMs, signal);
    }
  }

  /** `lastSign`: the revision of the `waiting` entry if this is the only waiter. A later waiter rewrites the entry, which makes the commit fail and keeps the entry. */
  #turn(ticket: string, lastSign: Revision | undefined): Turn {
    const waiting = leaseKeys.waiting(this.#resource);
    return {
      is: "ours",
      checks: [
        { key: leaseKeys.deadline(this.#resource), is: "absent" },
        { key: ticket, is: "present" },
        ...(lastSign === undefined ? [] : [{ key: waiting, revision: lastSign }]),
      ],
      writes: [{ op: "delete", key: ticket }, ...(lastSign === undefined ? [] : [{ op: "delete" as const, key: waiting }])],
    };
  }

  /** Joins the queue on the first call and keeps the ticket alive after that. */
  async #showSignOfLife(): Promise<string> {
    const { store, clock, writer } = this.#scope;
    const nowMs = clock.nowMs();
    if (this.#ticket === undefined) {
      const { revision } = await store.position();
      this.#ticket = leaseKeys.ticket(this.#resource, revision, randomHex(8));
    } else if (nowMs < this.#refreshAtMs) return this.#ticket;
    await store.commit({
      writes: [
        { op: "put", key: this.#ticket, value: { holder: this.#holder }, ttlMs: ticketTtlMs },
        { op: "put", key: leaseKeys.waiting(this.#resource), value: true, ttlMs: ticketTtlMs },
      ],
      writer,
    });
    this.#refreshAtMs = nowMs + refreshEveryMs;
    return this.#ticket;
  }

  get joined(): boolean {
    return this.#ticket !== undefined;
  }

  /**
   * Called after a timeout, a cancellation or a failure. Deletes the ticket so that others need not wait for it to expire, and the `waiting` entry so
   * that newcomers need not queue. A waiter that joins meanwhile rewrites the `waiting` entry, which then stays. Harmless if the lease was acquired.
   */
  async leave(): Promise<void> {
    const ticket = this.#ticket;
    if (ticket === undefined) return;
    const { store, writer } = this.#scope;
    try {
      const waiting = leaseKeys.waiting(this.#resource);
      const snapshot = await store.read([leaseKeys.queue(this.#resource), keyRange(waiting)]);
      const sign = snapshot.entries.find((entry) => entry.key === waiting);
      const isLast = this.#tickets(snapshot).every((other) => other === ticket);
      if (sign !== undefined && isLast) {
        const checks = [{ key: waiting, revision: sign.revision }];
        const result = await store.commit({
          checks,
          writes: [
            { op: "delete", key: ticket },
            { op: "delete", key: waiting },
          ],
          writer,
        });
        if (result.ok) return;
      }
      await store.commit({ writes: [{ op: "delete", key: ticket }], writer });
    } catch {
      // Ignored: the ticket expires anyway.
    }
  }

  #tickets(snapshot: Snapshot): string[] {
    const { start } = leaseKeys.queue(this.#resource);
    return snapshot.entries.filter((entry) => entry.key.startsWith(start)).map((entry) => entry.key);
  }
}
