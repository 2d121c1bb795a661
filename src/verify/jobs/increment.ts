import { readState, setState } from "../../domain/state/state.ts";
import type { RunJob } from "../job.ts";

/** Raises one counter by compare-and-set as often as it is told, and says what each success wrote. */
export const incrementJob: RunJob = async ({ job, scope, say, commands }) => {
  for await (const _ of commands) break;
  for (let done = 0; done < Number(job.times); ) {
    const before = await readState(scope, "counter");
    const value = Number(before?.value ?? 0) + 1;
    const result = await setState(scope, { key: "counter", value, expectedVersion: before?.version ?? 0 });
    if (!result.ok) continue;
    done += 1;
    say({ version: result.version, value });
  }
};
