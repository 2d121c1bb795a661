import { guard } from "../../domain/leases/lease.ts";
import { acquireLease } from "../../domain/leases/leases.ts";
import { setState } from "../../domain/state/state.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { JobContext, RunJob } from "../job.ts";

/**
 * On `take`, acquires every lease in the list as soon as it is free, then writes under its tokens again and again without checking
 * whether it still holds them. It keeps writing after the process was stopped and continued, which is when its writes must be rejected.
 */
export const leaseJob: RunJob = async (context) => {
  for await (const { take, ttlMs } of context.commands) {
    const resources = take as readonly string[];
    await Promise.all(resources.map((resource) => holdOnce(context, resource, Number(ttlMs))));
  }
};

/** Mostly asleep, so that a holder is stopped inside a transaction occasionally rather than nearly always. */
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
