import { Agent } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { postCall } from "../support/http-messages.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { HttpClientReport, HttpClientRequest } from "../workers/http-client.ts";
import type { HttpServerReady, HttpServerRequest, HttpServerUsage } from "../workers/http-server.ts";
import { watchPeak } from "./hostile-load.ts";

/** 512 MiB. */
const residentMbMax = 537;
/** Of the quiet caller, alone and under attack. */
const calls = 500;
/**
 * Attackers, server and quiet caller share the machine's few cores: on two of them each call takes several times as long as alone before anything is unfair.
 */
const slowdownMax = 60;

const words = (from: number, count: number): string => Array.from({ length: count }, (_, i) => `subject${(from * 7 + i * 13) % 400}`).join(" ");

test("a hostile reader and a hostile writer at full rate leave another principal's reads quick and the server's memory bounded", async () => {
  const folder = await temporaryFolder();
  const request: HttpServerRequest = { flags: { store: `sqlite:${join(folder, "store.db")}`, auth: "token", "rate-limit": "1000000" }, limits: {}, tokens: 3 };
  const server = spawnWorker<HttpServerReady | HttpServerUsage>("http-server", request, { nodeFlags: ["--expose-gc"] });
  const { port, tokens } = (await server.next()) as HttpServerReady;
  const [quiet, reader, writer] = tokens as [string, string, string];
  const agent = new Agent({ keepAlive: true, maxSockets: 512 });
  onTestFinished(() => agent.destroy());
  let done = 0;
  let isOver = false;
  const ask = async (token: string, name: string, args: Readonly<Record<string, unknown>>): Promise<void> => {
    await postCall({ port, agent, token }, name, args, 1);
    done += 1;
  };

  await ask(quiet, "state_set", { key: "well-behaved", value: 1 });
  for (let i = 0; i < 10; i += 1) await ask(reader, "state_set", { key: `large/${i}`, value: "x".repeat(900_000) });
  for (let i = 0; i < 1_000; i += 1) await ask(reader, "save_knowledge", { id: `note-${i}`, content: words(i, 60), source: "campaign" });

  const client = spawnWorker<HttpClientReport>("http-client", { port, token: quiet, onlyReads: true } satisfies HttpClientRequest);
  const measured = async (): Promise<HttpClientReport> => {
    const began = async (): Promise<HttpClientReport> => {
      client.send("report");
      return client.next();
    };
    await began();
    const all: HttpClientReport[] = [];
    for (let count = 0; count < calls; ) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      const report = await began();
      all.push(report);
      count += report.calls;
    }
    const worst = (pick: (report: HttpClientReport) => number): number => Math.max(...all.map(pick));
    const middle = all.map(({ p50Ms }) => p50Ms).sort((a, b) => a - b)[Math.floor(all.length / 2)] as number;
    const sum = (pick: (report: HttpClientReport) => number): number => all.reduce((total, report) => total + pick(report), 0);
    // The worst half second's: never less than that of all calls together.
    return { calls: sum((report) => report.calls), failed: sum((report) => report.failed), p50Ms: middle, p99Ms: worst(({ p99Ms }) => p99Ms), maxMs: worst(({ maxMs }) => maxMs) };
  };

  const alone = await measured();
  const peakMb = watchPeak(server.pid);
  const repeat = async (work: (i: number) => Promise<void>): Promise<void> => {
    for (let i = 0; !isOver; i += 1) await work(i);
  };
  const attacks = [
    ...Array.from({ length: 64 }, () => repeat(() => ask(reader, "state_list", { prefix: "large/", values: true }))),
    ...Array.from({ length: 32 }, (_, n) => repeat((i) => ask(reader, "recall_knowledge", { query: words(n + i, 90) }))),
    ...Array.from({ length: 8 }, (_, n) => repeat((i) => ask(writer, "state_set", { key: `large/${n}`, value: String(i).repeat(400_000).slice(0, 400_000) }))),
    ...Array.from({ length: 32 }, (_, n) => repeat((i) => ask(writer, "state_set", { key: `small/${n}`, value: i }))),
  ];
  done = 0;
  const attacked = await measured();
  isOver = true;
  await Promise.all(attacks);
  server.send("usage");
  const after = (await server.next()) as HttpServerUsage;
  const peak = peakMb();
  console.log(
    `quiet caller's state_get: alone p50 ${alone.p50Ms} ms, p99 ${alone.p99Ms} ms; under attack p50 ${attacked.p50Ms} ms, p99 ${attacked.p99Ms} ms, max ${attacked.maxMs} ms ` +
      `(${attacked.calls} calls, beside ${done} hostile ones); server at most ${peak} MB resident, ${after.residentMb} MB after`,
  );
  expect(after.problems).toEqual([]);
  expect(attacked.failed).toBe(0);
  expect(done).toBeGreaterThan(0);
  expect(attacked.p99Ms).toBeLessThan(alone.p99Ms * slowdownMax);
  expect(peak).toBeLessThan(residentMbMax);
});
