import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerCommand } from "./line-client.ts";
import { LineClient } from "./line-client.ts";
import type { Figure } from "./report.ts";
import { against } from "./report.ts";
import { measureAgainst } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";
import { echoServer } from "./surroundings.ts";

const startRounds = 15;
const memoryRounds = 5;
const settleMs = 700;

/** From spawn to the first answer of a server, compared with a Node process that does nothing. */
export async function measureColdStart({ product, progress }: Surroundings): Promise<Figure[]> {
  const existing = product("cold-start.db");
  let fresh = 0;
  const taken = await measureAgainst(
    bareNodeMs,
    { existing: () => firstAnswerMs(existing), fresh: () => firstAnswerMs(product(`cold-start-${fresh++}.db`)), echo: () => firstAnswerMs(echoServer) },
    startRounds,
    (round) => progress(`cold start: round ${round} of ${startRounds}`),
  );
  return [
    against("cold start, spawn to first answer", "ms", "node -e 0", taken.existing, { atMost: 3 }),
    against("cold start that makes the store first", "ms", "node -e 0", taken.fresh),
    against("cold start of the bare SDK's echo", "ms", "node -e 0", taken.echo),
  ];
}

/** Resident memory of a server that has initialized its client, listed its tools and is then idle. */
export async function measureIdleMemory({ product, progress }: Surroundings): Promise<Figure[]> {
  const command = product("idle.db");
  const taken = await measureAgainst(
    () => idleMebibytes(echoServer),
    { product: () => idleMebibytes(command) },
    memoryRounds,
    (round) => progress(`idle memory: round ${round} of ${memoryRounds}`),
  );
  return [against("resident memory of an idle stdio server", "MiB", "echo", taken.product, { atMost: 1.6 })];
}

function bareNodeMs(): Promise<number> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["-e", "0"], { stdio: ["pipe", "pipe", "inherit"] });
    child.on("error", reject);
    child.on("exit", () => resolve(performance.now() - startedMs));
  });
}

async function firstAnswerMs(command: ServerCommand): Promise<number> {
  const startedMs = performance.now();
  const client = await LineClient.open(command);
  const elapsedMs = performance.now() - startedMs;
  await client.close();
  return elapsedMs;
}

async function idleMebibytes(command: ServerCommand): Promise<number> {
  const client = await LineClient.open(command);
  await client.request("tools/list", {});
  await sleep(settleMs);
  const bytes = client.residentBytes();
  await client.close();
  return bytes / 1_048_576;
}
