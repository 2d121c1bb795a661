import { setTimeout as delay } from "node:timers/promises";
import { openEngine } from "../../src/engines/open-store.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import type { Engine } from "../../src/store/store.ts";
import { runVerifyWorker } from "../../src/verify/worker.ts";
import { loadJob } from "../support/engine-faults/load-job.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { faults } from "../support/faulty-engine.ts";

/** A client that works through every failure of its engine; with an argument, one whose engine has that fault. */
const fault = process.argv[2] as Fault | undefined;
let opened: Engine | undefined;
const load = loadJob(() => opened as Engine);
await runVerifyWorker(
  process.stdin,
  async (url) => {
    const engine = await openPatiently(url);
    opened = fault === undefined ? engine : faults[fault](engine);
    return opened;
  },
  { load },
);

/** On a busy machine the short deadline of a campaign may not be enough for a process that is still starting. */
async function openPatiently(url: string): Promise<Engine> {
  try {
    return await openEngine(url);
  } catch (error) {
    if (!isHoldfastError(error, "unavailable")) throw error;
    await delay(100);
    return openPatiently(url);
  }
}
