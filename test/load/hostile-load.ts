import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { atPace } from "../support/pace.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { HttpClientReport, HttpClientRequest } from "../workers/http-client.ts";
import type { HttpServerReady, HttpServerRequest, HttpServerUsage } from "../workers/http-server.ts";

export interface Target {
  readonly port: number;
  /** Each of a principal and a namespace of its own; the first is the well-behaved client's. */
  readonly tokens: readonly string[];
  /** What the server uses just now. */
  look(): Promise<HttpServerUsage>;
}

/** Shorter than the product's own, so that a test sees them reached. */
const shortTimes = { headersMsMax: 1_000, requestMsMax: 1_500, unreadMsMax: 1_000, idleMsMax: 3_000 } as const;

/** `share` of the attack's full size; gives what happened, by name. */
export type Attack = (target: Target, share: number) => Promise<Readonly<Record<string, number>>>;

/**
 * A server and a well-behaved client, each in a process of its own, and an attack on the server from here. A smaller one goes first: what a process
 * takes once and keeps for the next time is not what is looked for. Memory, descriptors and shares are compared before and after the large one, and the client must not have failed.
 */
export async function withstand(
  what: string,
  attack: Attack,
  { firstShare = 0.1, times = shortTimes }: { readonly firstShare?: number; readonly times?: HttpServerRequest["limits"] } = {},
): Promise<Readonly<Record<string, number>>> {
  const folder = await temporaryFolder();
  const request: HttpServerRequest = {
    flags: { store: `sqlite:${join(folder, "store.db")}`, auth: "token", "rate-limit": "1000000" },
    limits: times,
    tokens: 8,
  };
  const server = spawnWorker<HttpServerReady | HttpServerUsage>("http-server", request, { nodeFlags: ["--expose-gc"] });
  const ready = (await server.next()) as HttpServerReady;
  const ask = async (wanted: "usage" | "look"): Promise<HttpServerUsage> => {
    server.send(wanted);
    return (await server.next()) as HttpServerUsage;
  };
  const usage = (): Promise<HttpServerUsage> => ask("usage");
  const target: Target = { ...ready, look: () => ask("look") };
  const client = spawnWorker<HttpClientReport>("http-client", { port: ready.port, token: ready.tokens[0] as string } satisfies HttpClientRequest);
  const report = (calls = 0): Promise<HttpClientReport> => {
    client.send({ calls });
    return client.next();
  };

  await attack(target, firstShare);
  await settled(target);
  await report();
  const [alone, before] = [await report(aloneCalls), await usage()];
  const peak = watchPeak(server.pid);
  const { value: figures, ms, pace } = await atPace(() => attack(target, 1));
  const meanwhile = await report();
  await settled(target);
  const after = await usage();
  const peakMb = peak();
  console.log(
    `${what}: ${Object.entries(figures)
      .map(([name, count]) => `${name} ${count.toLocaleString("en")}`)
      .join(", ")}; ${(ms / 1_000).toFixed(1)} s\n` +
      `  well-behaved client: ${meanwhile.calls} calls, ${meanwhile.failed} failed, p50 ${meanwhile.p50Ms} ms, p99 ${meanwhile.p99Ms} ms, max ${meanwhile.maxMs} ms (alone: p50 ${alone.p50Ms}, p99 ${alone.p99Ms})\n` +
      `  server: resident ${before.residentMb} MB before, ${peakMb} MB at most, ${after.residentMb} MB after; heap ${before.heapMb} and ${after.heapMb} MB; descriptors ${before.descriptors} before, ${after.descriptors} after; CPU ${((after.cpuMs - before.cpuMs) / 1_000).toFixed(1)} s`,
  );
  expect(after.problems).toEqual([]);
  expect(meanwhile).toMatchObject({ failed: 0 });
  expect(meanwhile.calls).toBeGreaterThan(0);
  expect(meanwhile.p99Ms).toBeLessThan(p99MsMax * pace);
  expect(after).toMatchObject({ streams: 0, bodyBytes: 0 });
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + 3);
  expect(after.heapMb).toBeLessThanOrEqual(before.heapMb + 15);
  expect(after.residentMb).toBeLessThanOrEqual(before.residentMb + 60);
  return figures;
}

const aloneCalls = 100;
/** Far above what is seen on a quiet machine: attackers, client and server share a few cores. */
const p99MsMax = 2_000;

/** Only the well-behaved client is left. */
const settled = (target: Target): Promise<HttpServerUsage> => reached(target, ({ sockets }) => sockets <= 1);

/** Looks until it is so. */
export async function reached({ look }: Target, isSo: (usage: HttpServerUsage) => boolean): Promise<HttpServerUsage> {
  for (;;) {
    const usage = await look();
    if (isSo(usage)) return usage;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The most memory a process had from now on, in MB. */
export function watchPeak(pid: number): () => number {
  let peakMb = 0;
  const look = (): void => {
    if (!existsSync(`/proc/${pid}/statm`)) return;
    const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
    peakMb = Math.max(peakMb, Math.round((pages * 4_096) / 1e6));
  };
  look();
  const timer = setInterval(look, 50);
  onTestFinished(() => clearInterval(timer));
  return () => {
    clearInterval(timer);
    return peakMb;
  };
}
