import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { openServing } from "../../src/compose-serving.ts";
import { readConfig } from "../../src/config.ts";
import { createToken } from "../../src/domain/identity/tokens.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { HttpLimits } from "../../src/surfaces/http/http-limits.ts";
import { openApiFixtures } from "../support/api-fixtures.ts";
import { openReadyRatio } from "../support/pace.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** A whole server in a process of its own, with tokens, and what it uses when it is asked. */
export interface HttpServerRequest {
  readonly flags: Readonly<Record<string, string>>;
  readonly limits: Partial<HttpLimits>;
  /** So many tokens, for the namespaces "t0", "t1" … */
  readonly tokens: number;
}
export interface HttpServerReady {
  readonly port: number;
  readonly tokens: readonly string[];
}
export interface HttpServerUsage {
  readonly residentMb: number;
  readonly heapMb: number;
  readonly descriptors: number;
  readonly cpuMs: number;
  readonly problems: readonly string[];
  /** How long the event loop had to wait for its turn since the last look: that of the worst hundredth, and the longest. */
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  /** How many times longer the server took since the last look than it would have alone on its machine; see `openReadyRatio`. */
  readonly pace: number;
  readonly inFlight: number;
  readonly streams: number;
  readonly sockets: number;
  readonly bodyBytes: number;
  /** Of the fixtures' own streams: begun and ended. */
  readonly fixtureStreams: readonly [number, number];
}

const port = openWorkerPort();
const { flags, limits, tokens } = await port.next<HttpServerRequest>();
const problems: string[] = [];
const fixtures = openApiFixtures();
process.on("uncaughtException", (error) => problems.push(`uncaught: ${error.stack}`));
process.on("unhandledRejection", (reason) => problems.push(`unhandled: ${String(reason)}`));
const serving = await openServing(readConfig({ port: "0", ...flags }, {}), {
  dashboardFolder: "nowhere",
  log: (level, event, facts) => {
    if (level === "error") problems.push(`${event} ${JSON.stringify(facts)}`);
  },
  limits,
  apiRoutes: fixtures.routes,
});
const scope = { store: serving.system, clock: systemClock, writer: "tester" };
const made = await Promise.all(Array.from({ length: tokens }, (_, i) => createToken(scope, { name: `agent${i}`, role: "write", namespaces: [`t${i}`] })));
port.send({ port: serving.address.port, tokens: made.map(({ secret }) => secret) } satisfies HttpServerReady);
const readyRatio = openReadyRatio();
const loop = monitorEventLoopDelay({ resolution: 5 });
loop.enable();
for (;;) {
  const wanted = await port.next<"usage" | "look">();
  // What is only waiting to be collected is not in use.
  for (let i = 0; i < 3 && wanted === "usage"; i += 1) {
    globalThis.gc?.();
    await systemClock.sleep(20);
  }
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  port.send({
    residentMb: Math.round(rss / 1e6),
    heapMb: Math.round(heapUsed / 1e6),
    descriptors: readdirSync("/proc/self/fd").length,
    cpuMs: Math.round((user + system) / 1_000),
    problems,
    loopP99Ms: Math.round(loop.percentile(99) / 1e6),
    loopMaxMs: Math.round(loop.max / 1e6),
    pace: Math.round(readyRatio() * 10) / 10,
    ...serving.httpServer.usage,
    fixtureStreams: [fixtures.seen.streams, fixtures.seen.endedStreams],
  } satisfies HttpServerUsage);
  loop.reset();
}
