import { join } from "node:path";
import { BenchProcess, HttpClient } from "./http-client.ts";
import type { Figure } from "./report.ts";
import { against } from "./report.ts";
import { measureAgainst } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";
import { bundled } from "./surroundings.ts";
import { getArguments, keysInUse, setArguments } from "./workload.ts";

const rounds = 7;
const sliceMs = 600;
const cpuInFlight = 32;
const rateInFlight = 64;

/** Tool calls over HTTP: their CPU time compared with a bare node:http echo, and their rate compared with an echo tool on the bare SDK. */
export async function measureHttp(surroundings: Surroundings): Promise<Figure[]> {
  return [...(await measureCpu(surroundings)), ...(await measureRate(surroundings))];
}

/** The cost of a call in the server beyond the tool itself: the whole path from the socket and back. The tool's own cost is measured in a process without a socket. */
async function measureCpu({ serving, folder, progress }: Surroundings): Promise<Figure[]> {
  const echo = await HttpClient.open({ file: bundled("http-echo-server.mjs"), args: ["bare"] }, cpuInFlight);
  const server = await HttpClient.open(serving("http-cpu.db"), cpuInFlight);
  const tools = new BenchProcess({ file: bundled("commit-server.mjs"), args: [`sqlite:${join(folder, "http-tools.db")}`] });
  await tools.answer();
  try {
    await server.burst({ calls: keysInUse, tool: "state_set", argumentsOf: setArguments });
    const perCall = ({ cpuMicros, calls }: { readonly cpuMicros: number; readonly calls: number }): number => cpuMicros / calls;
    const overhead = async (tool: "state_set" | "state_get", argumentsOf: (n: number) => object): Promise<number> => {
      const itself = perCall(await tools.answer({ tool, inFlight: cpuInFlight, forMs: sliceMs }));
      return perCall(await server.burst({ forMs: sliceMs, tool, argumentsOf })) - itself;
    };
    const taken = await measureAgainst(
      async () => perCall(await echo.burst({ forMs: sliceMs, tool: "echo", argumentsOf: setArguments })),
      { sets: () => overhead("state_set", setArguments), gets: () => overhead("state_get", getArguments) },
      rounds,
      (round) => progress(`CPU of calls over HTTP: round ${round} of ${rounds}`),
    );
    const budget = { atMost: 2 };
    return [
      against(`CPU of state_set over HTTP beyond its commit, ${cpuInFlight} in flight`, "µs", "node:http echo", taken.sets, budget),
      against(`CPU of state_get over HTTP beyond its read, ${cpuInFlight} in flight`, "µs", "node:http echo", taken.gets, budget),
    ];
  } finally {
    await Promise.all([echo.close(), server.close(), tools.close()]);
  }
}

async function measureRate({ serving, progress }: Surroundings): Promise<Figure[]> {
  const echo = await HttpClient.open({ file: bundled("http-echo-server.mjs"), args: ["sdk"] }, rateInFlight);
  const server = await HttpClient.open(serving("http-rate.db"), rateInFlight);
  try {
    await server.burst({ calls: keysInUse, tool: "state_set", argumentsOf: setArguments });
    const taken = await measureAgainst(
      async () => (await echo.burst({ forMs: sliceMs, tool: "echo", argumentsOf: setArguments })).ratePerSecond,
      {
        sets: async () => (await server.burst({ forMs: sliceMs, tool: "state_set", argumentsOf: setArguments })).ratePerSecond,
        gets: async () => (await server.burst({ forMs: sliceMs, tool: "state_get", argumentsOf: getArguments })).ratePerSecond,
      },
      rounds,
      (round) => progress(`tool calls over HTTP: round ${round} of ${rounds}`),
    );
    const budget = { atLeast: 0.6 };
    return [
      against(`durable state_set over HTTP, ${rateInFlight} in flight`, "per second", "echo", taken.sets, budget),
      against(`state_get over HTTP, ${rateInFlight} in flight`, "per second", "echo", taken.gets, budget),
    ];
  } finally {
    await Promise.all([echo.close(), server.close()]);
  }
}
