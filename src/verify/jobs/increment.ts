import { readState, setState } from "../../domain/state/state.ts";
import type { RunJob } from "../job.ts";
import { between } from "../random.ts";

/** Increments one counter by compare-and-set a given number of times and reports what each success wrote. */
export const incrementJob: RunJob = async ({ job, scope, say, commands, clock, random }) => {
  for await (const _ of commands) break;
  for (let done = 0; done < Number(job.times); ) {
    const startedMs = clock.nowMs();
    const before = await readState(scope, "counter");
    const value = Number(before?.value ?? 0) + 1;
    const result = await setState(scope, { key: "counter", value, expectedVersion: before?.version ?? 0 });
    if (!result.ok) {
      // Losers wait for a random time, longer on a slower store. Without it, many racers would keep each other from winning.
      await clock.sleep(between(random, 0, 4 + Math.min(400, 40 * (clock.nowMs() - startedMs))));
      continue;
    }
    done += 1;
    say({ version: result.version, value });
  }
};
