import { guard } from "../../domain/leases/lease.ts";
import { acquireLease } from "../../domain/leases/leases.ts";
import { setState } from "../../domain/state/state.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { JobContext, RunJob } from "../job.ts";

/**
 * Told `take`, acquires every lease of the list as soon as it is free, then writes under its tokens, again and again, without ever asking
 * whether it still holds them: it keeps writing after the process was stopped and continued, which is when they must be refused.
 */
export const leaseJob: RunJob = async (context) => {
  for await (const { take, ttlMs } of context.commands) {
    const resources = take as readonly string[];
    await Promise.all(resources.map((resource) => holdOnce(context, resource, Number(ttlMs))));
  }
};

/** Mostly asleep: a holder should be stopped inside a transaction now and then, not nearly always. */
const betweenWritesMs = 25;

async function holdOnce({ job, scope, clock, say }: JobContext, resource: string, ttlMs: number): Promise<void> {
  let lease = await acquireLease(scope, { resource, holder: job.name, ttlMs });
  while (!lease.ok) {
    await clock.sleep(2);
    lease = await acquireLease(scope, { resource, holder: job.name, ttlMs });
  }
  const { token } = lease;
  say({ resource, token });
  for (let count = 1; ; count += 1) {
    try {
      await setState(scope, { key: `guarded/${resource}`, value: { by: job.name, token, count }, guard: guard(resource, token) });
    } catch (error) {
      if (!isHoldfastError(error, "lease_lost")) throw error;
      return say({ resource, token, refused: true, accepted: count - 1 });
    }
    await clock.sleep(betweenWritesMs);
  }
}
