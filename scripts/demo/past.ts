import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { engineFacts } from "../../src/store/engine-facts.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { runTool } from "../../src/tools/run-tool.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { employ, principalOf, seeded } from "./agents.mjs";

/** Lets the agents work through the time before now, in a separate store, so that the dashboard shows more than one minute from the start. */
export async function livePast({
  path,
  namespace,
  minutes,
  seed,
  onProgress,
}: {
  readonly path: string;
  readonly namespace: string;
  readonly minutes: number;
  readonly seed: number;
  /** The fraction that is done, from 0 to 1. */
  readonly onProgress: (share: number) => void;
}): Promise<number> {
  const untilMs = Date.now();
  const clock = manualClock(untilMs - minutes * 60_000);
  const engine = await openSqliteEngine({ path, clock });
  try {
    const store = openNamespaceStore(engine, namespace, clock);
    const server = { version: "demo", startedAtMs: clock.nowMs(), claimTtlMs: 60_000, ...engineFacts(engine) };
    let calls = 0;
    const employed = employ({
      random: seeded(seed),
      now: clock.nowMs,
      over: () => clock.nowMs() >= untilMs,
      sleep: (ms: number) => clock.sleep(Math.round(ms)),
      async call(agent: string, name: string, args: Record<string, unknown>) {
        const tool = catalog.find((candidate) => candidate.name === name);
        if (tool === undefined) throw new Error(`There is no tool ${name}.`);
        calls += 1;
        const outcome = await runTool(tool, args, { store, clock, writer: principalOf(agent), server }, {}, silentLog);
        if (outcome.ok) return outcome.structured;
        throw Object.assign(new Error(`${name}: ${outcome.error.message}`), { refused: outcome.error.code !== "internal" && outcome.error.code !== "invalid_input" });
      },
    });
    // A failure must end the demonstration at once, not when the hour is over.
    let failure: unknown;
    employed.catch((error: unknown) => {
      failure = error;
    });
    while (clock.nowMs() < untilMs && failure === undefined) {
      await clock.advanceBy(10_000);
      await engine.sweep(namespace, 100);
      onProgress(1 - Math.max(0, untilMs - clock.nowMs()) / (minutes * 60_000));
    }
    if (failure !== undefined) throw failure;
    return calls;
  } finally {
    await engine[Symbol.asyncDispose]();
  }
}
