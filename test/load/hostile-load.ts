import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { HttpLimits } from "../../src/surfaces/http/http-limits.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { HttpClientReport, HttpClientRequest } from "../workers/http-client.ts";
import type { HttpServerReady, HttpServerRequest, HttpServerUsage } from "../workers/http-server.ts";

export interface Target {
  readonly port: number;
  /** Each of a principal and a namespace of its own; the first is the well-behaved client's. */
  readonly tokens: readonly string[];
  usage(): Promise<HttpServerUsage>;
}

/** Shorter than the product's own, so that a test sees them reached. */
export const shortTimes = { headersMsMax: 2_000, requestMsMax: 2_500, unreadMsMax: 2_000, idleMsMax: 3_000 } as const;

/** `share` of the attack's full size; gives what happened, by name. */
export type Attack = (target: Target, share: number) => Promise<Readonly<Record<string, number>>>;

/**
 * A server and a well-behaved client, each in a process of its own, and an attack on the server from here. A small one goes first: what a process
 * needs once is not what is looked for. Memory, descriptors and shares are compared before and after the large one, and the client must not have failed.
 */
export async function withstand(what: string, attack: Attack, limits: Partial<HttpLimits> = {}, tokens = 8): Promise<Readonly<Record<string, number>>> {
  const folder = await temporaryFolder();
  const request: HttpServerRequest = {
    flags: { store: `sqlite:${join(folder, "store.db")}`, auth: "token", "rate-limit": "1000000" },
    limits: { ...shortTimes, ...limits },
    tokens,
  };
  const server = spawnWorker<HttpServerReady | HttpServerUsage>("http-server", request, { nodeFlags: ["--expose-gc"] });
  const ready = (await server.next()) as HttpServerReady;
  const usage = async (): Promise<HttpServerUsage> => {
    server.send("usage");
    return (await server.next()) as HttpServerUsage;
  };
  const target: Target = { ...ready, usage };
  const client = spawnWorker<HttpClientReport>("http-client", { port: ready.port, token: ready.tokens[0] as string } satisfies HttpClientRequest);
  const report = (): Promise<HttpClientReport> => {
    client.send("report");
    return client.next();
  };

  await attack(target, 0.1);
  await settled(usage);
  await report();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const [alone, before] = [await report(), await usage()];
  const peak = watchPeak(server.pid);
  const startedMs = performance.now();
  const figures = await attack(target, 1);
  const seconds = (performance.now() - startedMs) / 1_000;
  const meanwhile = await report();
  await settled(usage);
  const after = await usage();
  const peakMb = peak();
  console.log(
    `${what}: ${Object.entries(figures)
      .map(([name, count]) => `${name} ${count.toLocaleString("en")}`)
      .join(", ")}; ${seconds.toFixed(1)} s\n` +
      `  well-behaved client: ${meanwhile.calls} calls, ${meanwhile.failed} failed, p50 ${meanwhile.p50Ms} ms, p99 ${meanwhile.p99Ms} ms, max ${meanwhile.maxMs} ms (alone: p50 ${alone.p50Ms}, p99 ${alone.p99Ms})\n` +
      `  server: resident ${before.residentMb} MB before, ${peakMb} MB at most, ${after.residentMb} MB after; heap ${before.heapMb} and ${after.heapMb} MB; descriptors ${before.descriptors} before, ${after.descriptors} after`,
  );
  expect(after.problems).toEqual([]);
  expect(meanwhile).toMatchObject({ failed: 0 });
  expect(meanwhile.calls).toBeGreaterThan(0);
  expect(meanwhile.p99Ms).toBeLessThan(p99MsMax);
  expect(after).toMatchObject({ streams: 0, bodyBytes: 0 });
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + 3);
  expect(after.heapMb).toBeLessThanOrEqual(before.heapMb + 15);
  expect(after.residentMb).toBeLessThanOrEqual(before.residentMb + 60);
  return figures;
}

/** Far above what is seen on a quiet machine: attackers, client and server share a few cores with whatever else runs. */
const p99MsMax = 2_000;

/** Only the well-behaved client is left. */
async function settled(usage: () => Promise<HttpServerUsage>): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    if ((await usage()).sockets <= 1) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(await usage()).toMatchObject({ sockets: 1 });
}

/** The most memory a process had from now on, in MB. */
function watchPeak(pid: number): () => number {
  let peakMb = 0;
  const look = (): void => {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
    peakMb = Math.max(peakMb, Math.round((pages * 4_096) / 1e6));
  };
  look();
  const timer = setInterval(look, 50);
  return () => {
    clearInterval(timer);
    return peakMb;
  };
}
