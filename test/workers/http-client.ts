import { Agent } from "node:http";
import { postCall } from "../support/http-messages.ts";
import { PaceSampler } from "../support/pace.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** A well-behaved client: one call after the other, a write and a read in turn, and how long each took. */
export interface HttpClientRequest {
  readonly port: number;
  readonly token: string;
  /** Reads alone: what others write cannot be waited for. */
  readonly onlyReads?: boolean;
}
/** Since the last report. Asked for one with `calls`, it is given when so many were made. */
export interface HttpClientReport {
  readonly calls: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How many times slower than a quiet machine this one was meanwhile. */
  readonly pace: number;
}

const port = openWorkerPort();
const sampler = new PaceSampler();
let sinceMs = performance.now();
const { port: serverPort, token, onlyReads = false } = await port.next<HttpClientRequest>();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let took: number[] = [];
let failed = 0;
let stopped = false;

async function call(name: string, args: Readonly<Record<string, unknown>>, id: number): Promise<boolean> {
  const answer = await postCall({ port: serverPort, agent, token }, name, args, id);
  return answer?.id === id && answer.result !== undefined && answer.result.isError === undefined;
}

async function work(): Promise<void> {
  for (let id = 1; !stopped; id += 1) {
    const fromMs = performance.now();
    const isGood = await (onlyReads || id % 2 === 0 ? call("state_get", { key: "well-behaved" }, id) : call("state_set", { key: "well-behaved", value: id }, id));
    took.push(performance.now() - fromMs);
    if (!isGood) failed += 1;
    // An agent thinks between two calls; a client that did not would measure itself.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

void work();
for (;;) {
  const wanted = await port.next<"stop" | { readonly calls: number }>();
  if (wanted === "stop") {
    stopped = true;
    agent.destroy();
    process.exit(0);
  }
  while (took.length < wanted.calls) await new Promise((resolve) => setTimeout(resolve, 2));
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10;
  port.send({ calls: sorted.length, failed, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), pace: Math.round(sampler.since(sinceMs) * 10) / 10 } satisfies HttpClientReport);
  took = [];
  failed = 0;
  sinceMs = performance.now();
}
