import { createInterface } from "node:readline";
import { openRuntime } from "../src/compose.ts";
import { readConfig } from "../src/config.ts";
import { silentLog } from "../src/kernel/log.ts";
import { runTool } from "../src/tools/run-tool.ts";
import type { Tool } from "../src/tools/tool.ts";
import { getArguments, keysInUse, setArguments } from "./workload.ts";

/** What a call costs without any transport: the tool, its checks and its commit, in this process. Each line requests one burst, and the reply is its cost. */
interface Burst {
  readonly tool: "state_set" | "state_get";
  readonly inFlight: number;
  readonly forMs: number;
}

await using runtime = await openRuntime(readConfig({ store: process.argv[2] as string }, {}), { stays: false, log: silentLog });
const { base, tools } = runtime;
const argumentsOf = { state_set: setArguments, state_get: getArguments };

async function call(name: Burst["tool"], n: number): Promise<void> {
  const outcome = await runTool(tools.find((tool) => tool.name === name) as Tool, argumentsOf[name](n), base, {}, silentLog);
  if (!outcome.ok) throw new Error(`${name} failed: ${JSON.stringify(outcome.error)}`);
}

async function burst({ tool, inFlight, forMs }: Burst): Promise<{ readonly calls: number; readonly cpuMicros: number }> {
  const cpu = process.cpuUsage();
  const endMs = performance.now() + forMs;
  let calls = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < endMs) {
      calls += 1;
      await call(tool, calls);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  const { user, system } = process.cpuUsage(cpu);
  return { calls, cpuMicros: user + system };
}

for (let n = 0; n < keysInUse; n += 1) await call("state_set", n);
process.stdout.write("{}\n");
for await (const line of createInterface({ input: process.stdin })) process.stdout.write(`${JSON.stringify(await burst(JSON.parse(line) as Burst))}\n`);
