import { AsyncLocalStorage } from "node:async_hooks";
import type { CommitWrite } from "../../domain/state/state.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Json } from "../../kernel/json.ts";
import type { Holdfast, LeaseRef } from "../library/holdfast.ts";
import type { WithLeaseOptions, WithLeaseResult } from "../library/with-lease.ts";
import { withLease } from "../library/with-lease.ts";
import { threadKeys } from "./thread-keys.ts";

export interface ClaimThreadOptions extends Omit<WithLeaseOptions, "ttlMs"> {
  /** How long the claim lasts without a renewal, and so how soon another worker can take over from a dead one; 30 seconds by default. */
  readonly ttlMs?: number;
}

interface Claim {
  readonly lease: LeaseRef;
  readonly agent: string;
}

/** A write of one thread. With `once`, the entry is left as it is if it exists. */
export type ThreadWrite = CommitWrite & { readonly once?: boolean };

const ttlMsDefault = 30_000;

/**
 * Who may write to a thread. The claim belongs to the asynchronous context of the work, not to the saver: what that work writes after it lost the thread
 * still carries its own token and is refused, even if another run in this process has claimed the thread meanwhile.
 */
export class ThreadClaims {
  readonly #holdfast: Holdfast;
  readonly #agent: string;
  readonly #held = new AsyncLocalStorage<ReadonlyMap<string, Claim>>();

  constructor(holdfast: Holdfast, agent: string) {
    this.#holdfast = holdfast;
    this.#agent = agent;
  }

  async run<Value>(thread: string, options: ClaimThreadOptions, work: (signal: AbortSignal) => Promise<Value> | Value): Promise<WithLeaseResult<Value>> {
    const { state } = this.#holdfast;
    // Its own holder for each claim: a lease is renewed, and not refused, for a holder of the same name.
    const agent = `${options.agent ?? this.#agent}-${randomHex(8)}`;
    const key = threadKeys.claimed(thread);
    return withLease(this.#holdfast, threadKeys.resource(thread), { ...options, ttlMs: options.ttlMs ?? ttlMsDefault, agent }, async (lease, signal) => {
      await state.set(key, { holder: agent }, { lease, agent });
      try {
        return await this.#held.run(new Map([...(this.#held.getStore() ?? []), [thread, { lease, agent }]]), () => work(signal));
      } finally {
        // A thread that was lost belongs to its next owner; one whose release fails stays closed to writers without a claim.
        await state.delete(key, { lease, agent }).catch(() => undefined);
      }
    });
  }

  /** Commits writes of one thread under the claim of the calling context; without one, only if the thread is not claimed. */
  async commit(thread: string, writes: readonly ThreadWrite[]): Promise<void> {
    const claim = this.#held.getStore()?.get(thread);
    const unclaimed = { key: threadKeys.claimed(thread), version: 0 };
    let left = writes;
    for (;;) {
      const once = left.filter((write) => write.once).map(({ key }) => ({ key, version: 0 }));
      const input = {
        writes: left.map(({ once: _, ...write }) => write),
        expected: claim === undefined ? [unclaimed, ...once] : once,
        leases: claim === undefined ? [] : [claim.lease],
      };
      const result = await this.#holdfast.state.commit(input, { agent: claim?.agent ?? this.#agent }).catch((error: unknown) => {
        // By its code: the client for servers is a bundle of its own, with a class of its own.
        throw (error as Partial<HoldfastError>)?.code === "lease_lost" ? threadLost(thread, claim, error) : error;
      });
      if (result.ok) return;
      const taken = new Map(result.conflicts.map((conflict) => [conflict.key, conflict.current?.value]));
      if (taken.has(unclaimed.key)) throw threadClaimed(thread, taken.get(unclaimed.key));
      // What is there already stays. Each turn leaves fewer writes, and the store has checked the claim before it reported these conflicts.
      left = left.filter(({ key }) => !taken.has(key));
      if (left.length === 0) return;
    }
  }
}

const threadLost = (thread: string, claim: Claim | undefined, cause: unknown): HoldfastError =>
  new HoldfastError("lease_lost", `This worker's claim on thread ${JSON.stringify(thread)} has ended: it expired or another worker took over. Nothing was written.`, {
    hint: "Stop this run. Another worker can continue from the last checkpoint.",
    details: { thread_id: thread, token: claim?.lease.token },
    cause,
  });

function threadClaimed(thread: string, claimed: Json | undefined): HoldfastError {
  const { holder } = (claimed ?? {}) as { readonly holder?: string };
  return new HoldfastError(
    "claim_held",
    `Thread ${JSON.stringify(thread)} is claimed${holder === undefined ? "" : ` by ${JSON.stringify(holder)}`}, and this call is outside that claim. Nothing was written.`,
    {
      hint: "Run the graph inside saver.claimThread, which also takes over from a worker that died.",
      details: { thread_id: thread, ...(holder === undefined ? {} : { held_by: holder }) },
    },
  );
}
