import { openEngine } from "../../src/engines/open-store.ts";
import { runVerifyWorker } from "../../src/verify/worker.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { faults } from "../support/faulty-engine.ts";

/** A worker of `holdfast verify`; with an argument, one whose engine has that fault. */
const fault = process.argv[2] as Fault | undefined;
await runVerifyWorker(process.stdin, async (url) => {
  const engine = await openEngine(url);
  return fault === undefined ? engine : faults[fault](engine);
});
