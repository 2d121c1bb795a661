import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { HoldfastSessionStore } from "../../src/claude.ts";
import { connectHoldfast } from "../../src/index.ts";
import type { EngineUnderTest } from "../support/engines.ts";
import { sharedEngines } from "../support/engines.ts";
import { startHttpProcess } from "../support/http-process.ts";
import { scaled } from "../support/scale.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { sharedBuild } from "../support/shared-builds.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import type { SessionHostArguments } from "../workers/session-host.ts";

/** The clause that the SDK's contracts lack: a host that is stopped inside a turn, and wakes after another has taken its sessions over. */
const perHost = 25;
const takeOvers = scaled(500, perHost);
const leaseMs = 2_000;
const projectKey = "project";

type Message = { readonly is: "stored" | "refused"; readonly sessionId: string; readonly n?: number; readonly code?: string } | { readonly is: "end" };

interface Outcome {
  readonly sessions: number;
  /** Batches of the first host that were answered before the take-over and are gone, or that came after it. */
  readonly lost: number;
  readonly stale: number;
  readonly takenOver: number;
  readonly refusals: Readonly<Record<string, number>>;
}

/** One host in the middle of many turns is stopped; another one resumes all of them, adds a batch and ends its turns; the first one wakes. */
async function round(url: string, random: (below: number) => number, fault?: "unfenced"): Promise<Outcome> {
  await using holdfast = await connectHoldfast(url, { namespace: "hosts" });
  await using green = new HoldfastSessionStore(holdfast, { host: "green", waitMs: 60_000 });
  const sessionIds = Array.from({ length: perHost }, () => randomUUID());
  const blue = spawnWorker<Message>("session-host", { url, projectKey, sessionIds, leaseMs, fault } satisfies SessionHostArguments);
  const stored = new Map<string, number>();
  const refusals: Record<string, number> = {};
  let mayRefuse = false;
  const hear = (message: Message): void => {
    if (message.is === "stored") stored.set(message.sessionId, (stored.get(message.sessionId) ?? -1) + 1);
    if (message.is === "refused" && !mayRefuse) throw new Error(`The host was refused before it was stopped: ${JSON.stringify(message)}`);
    if (message.is === "refused") refusals[message.code ?? "?"] = (refusals[message.code ?? "?"] ?? 0) + 1;
  };
  while (stored.size < perHost) hear(await blue.next());
  for (let left = random(200); left > 0; left -= 1) hear(await blue.next());
  blue.pause();
  const views = await Promise.all(sessionIds.map((sessionId) => green.load({ projectKey, sessionId })));
  for (const message of blue.taken()) hear(message);
  const answered = new Map(stored);
  await Promise.all(sessionIds.map((sessionId) => green.append({ projectKey, sessionId }, [{ type: "x", by: "green" }])));
  // Some of its sessions are still at work elsewhere when it wakes, others are free.
  await Promise.all(sessionIds.filter((_, i) => i % 2 === 0).map((sessionId) => green.release(sessionId)));
  mayRefuse = true;
  blue.resume();
  // The rest is released only when it is awake and has an answer.
  hear(await blue.next());
  await Promise.all(sessionIds.map((sessionId) => green.release(sessionId)));
  for (let message = await blue.next(); message.is !== "end"; message = await blue.next()) hear(message);
  await blue.kill();

  let [lost, stale, takenOver] = [0, 0, 0];
  for (const [i, sessionId] of sessionIds.entries()) {
    const entries = (await green.reader.load({ projectKey, sessionId })) ?? [];
    const at = entries.findIndex(({ by }) => by === "green");
    const before = at < 0 ? entries : entries.slice(0, at);
    if (views[i] !== null) takenOver += 1;
    stale += at < 0 ? 1 : entries.length - at - 1;
    // In order and whole: what was answered is there, and nothing is there twice.
    if (before.length <= (answered.get(sessionId) ?? -1) || before.some(({ n }, place) => n !== place)) lost += 1;
  }
  return { sessions: sessionIds.length, lost, stale, takenOver, refusals };
}

async function serve(on: EngineUnderTest) {
  return startHttpProcess(await sharedBuild("executable"), ["--store", await on.freshUrl(), "--rate-limit", "1000000"]);
}

for (const on of sharedEngines)
  describe(`hosts that are stopped inside a turn on ${on.name}`, () => {
    test(`${takeOvers} sessions: no batch of a host that was replaced is accepted, and none that was answered is lost`, async () => {
      await using server = await serve(on);
      const random = seededRandom(takeOvers);
      const sum = { sessions: 0, lost: 0, stale: 0, takenOver: 0, refusals: {} as Record<string, number> };
      while (sum.sessions < takeOvers) {
        const { sessions, lost, stale, takenOver, refusals } = await round(server.url, random);
        sum.sessions += sessions;
        sum.lost += lost;
        sum.stale += stale;
        sum.takenOver += takenOver;
        for (const [code, count] of Object.entries(refusals)) sum.refusals[code] = (sum.refusals[code] ?? 0) + count;
      }
      console.info(`claude hosts on ${on.name}: ${JSON.stringify(sum)}`);
      expect(sum).toMatchObject({ lost: 0, stale: 0, takenOver: sum.sessions });
      // Every host learns of it for every session.
      expect(sum.refusals.lease_lost).toBe(sum.sessions);
    });
  });

test("the campaign sees a store that checks neither lease nor version", async () => {
  const [on] = sharedEngines;
  await using server = await serve(on as EngineUnderTest);
  const { stale, lost } = await round(server.url, seededRandom(1), "unfenced");
  expect(stale + lost).toBeGreaterThan(0);
});
