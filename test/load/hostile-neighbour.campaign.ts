import { statSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { postCall } from "../support/http-messages.ts";
import { scaled } from "../support/scale.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { HttpClientReport, HttpClientRequest } from "../workers/http-client.ts";
import type { HttpServerReady, HttpServerRequest, HttpServerUsage } from "../workers/http-server.ts";
import { watchPeak } from "./hostile-load.ts";

/** 512 MiB. */
const residentMbMax = 537;
/** Of the quiet caller's reads under attack, on a quiet machine. */
const p99MsMax = 100;
/** Of the quiet caller, alone and in each round under attack. */
const calls = 500;
/** One up to scale 1; above it so many, of a minute at least: a soak of an hour is `npm run test:campaigns -- --only hostile-neighbour --scale 60`. */
const rounds = scaled(1);
const roundMsMin = rounds > 1 ? 60_000 : 0;

const words = (from: number, count: number): string => Array.from({ length: count }, (_, i) => `subject${(from * 7 + i * 13) % 400}`).join(" ");
const small = (i: number): readonly object[] => Array.from({ length: 20_000 }, (_, n) => ({ n, i }));

test("a hostile reader and a hostile writer at full rate leave another principal's reads quick and the server's memory bounded", async () => {
  const folder = await temporaryFolder();
  const store = join(folder, "store.db");
  // An hour of megabytes would fill any disk: as much history is kept as the setting allows at least.
  const flags = { store: `sqlite:${store}`, auth: "token", "rate-limit": "1000000", "history-revisions": "1000" };
  const request: HttpServerRequest = { flags, limits: {}, tokens: 3 };
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
  const measured = async (msMin: number): Promise<HttpClientReport> => {
    client.send({ calls: 0 });
    await client.next();
    await new Promise((resolve) => setTimeout(resolve, msMin));
    client.send({ calls });
    return client.next();
  };
  const look = async (wanted: "look" | "usage"): Promise<HttpServerUsage> => {
    server.send(wanted);
    return (await server.next()) as HttpServerUsage;
  };

  const alone = await measured(0);
  const peakMb = watchPeak(server.pid);
  const repeat = async (work: (i: number) => Promise<void>): Promise<void> => {
    for (let i = 0; !isOver; i += 1) await work(i);
  };
  const attacks = [
    ...Array.from({ length: 64 }, () => repeat(() => ask(reader, "state_list", { prefix: "large/", values: true }))),
    ...Array.from({ length: 32 }, (_, n) => repeat((i) => ask(reader, "recall_knowledge", { query: words(n + i, 90) }))),
    ...Array.from({ length: 8 }, (_, n) => repeat((i) => ask(writer, "state_set", { key: `large/${n}`, value: String(i).repeat(400_000).slice(0, 400_000) }))),
    ...Array.from({ length: 32 }, (_, n) => repeat((i) => ask(writer, "state_set", { key: `small/${n}`, value: i }))),
    ...Array.from({ length: 4 }, (_, n) => repeat((i) => ask(writer, "state_set", { key: `many/${n}`, value: small(i) }))),
    ...Array.from({ length: 4 }, (_, n) =>
      repeat((i) => ask(writer, "state_commit", { writes: [0, 1, 2, 3].map((part) => ({ key: `whole/${n}/${part}`, value: String(i % 10).repeat(1_000_000) })) })),
    ),
  ];
  done = 0;
  await look("look");
  console.log(`quiet caller's state_get alone: p50 ${alone.p50Ms} ms, p99 ${alone.p99Ms} ms, pace ${alone.pace}`);
  const failures: string[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const attacked = await measured(roundMsMin);
    const { residentMb, loopP99Ms, loopMaxMs, problems, pace: serverPace } = await look("look");
    const pace = Math.max(attacked.pace, serverPace);
    console.log(
      `round ${round} of ${rounds}, under attack: p50 ${attacked.p50Ms} ms, p99 ${attacked.p99Ms} ms, max ${attacked.maxMs} ms (${attacked.calls} calls, beside ${done} hostile ones so far), ` +
        `pace ${pace}; event loop p99 ${loopP99Ms} ms, max ${loopMaxMs} ms; server ${residentMb} MB resident, store ${Math.round(statSync(store).size / 1e6)} MB`,
    );
    if (attacked.failed > 0) failures.push(`round ${round}: ${attacked.failed} calls failed`);
    if (attacked.p99Ms >= p99MsMax * pace) failures.push(`round ${round}: p99 ${attacked.p99Ms} ms at pace ${pace}`);
    failures.push(...problems);
  }
  isOver = true;
  await Promise.all(attacks);
  const after = await look("usage");
  const peak = peakMb();
  console.log(`server at most ${peak} MB resident, ${after.residentMb} MB after`);
  expect(failures).toEqual([]);
  expect(after.problems).toEqual([]);
  expect(done).toBeGreaterThan(0);
  expect(peak).toBeLessThan(residentMbMax);
});
