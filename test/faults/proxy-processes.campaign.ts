import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { listEffects } from "../../src/domain/effects/find-effects.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { between, seededRandom } from "../../src/verify/random.ts";
import { serversUnderTest, withDeadline } from "../support/engine-faults/servers-under-test.ts";
import { sharedEngines } from "../support/engines.ts";
import { openServerLines } from "../support/proxy/server-lines.ts";
import { scaled } from "../support/scale.ts";
import { sharedBuild } from "../support/shared-builds.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { workersDir } from "../support/worker-build.ts";

const rounds = scaled(30, 4);
const liveMs = 1_000;

/** A store, a counting upstream and the program as users run it. */
async function openScene(url: string) {
  const folder = await temporaryFolder();
  const log = join(folder, "effects.log");
  const main = await sharedBuild("executable");
  const args = [main, "proxy", "--store", url, "--live", `${liveMs}ms`, "--wait", "0", "--", process.execPath, join(workersDir, "counting-upstream.mjs"), log];
  return {
    start: () => openServerLines(args),
    /** The process of the upstream that was started last. */
    upstreamPid: (): number => Number(readFileSync(`${log}.pid`, "utf8")),
    /** How often the call took effect. */
    count: (n: number): number => (existsSync(log) ? readFileSync(log, "utf8").split(`"n":${n}}`).length - 1 : 0),
    async unknown(): Promise<Set<number>> {
      await using engine = await openEngine(url);
      const { effects } = await listEffects({ store: openNamespaceStore(engine, "default", systemClock) }, { limit: 100, state: "unknown" });
      return new Set(effects.map(({ args: shown }) => (JSON.parse(shown) as { n: number }).n));
    },
  };
}

/** Makes the call until there is an answer, as an agent would; `disturb` strikes during the first try. True: it was answered; false: it is unknown. */
async function callUntilAnswered(
  scene: Awaited<ReturnType<typeof openScene>>,
  n: number,
  disturb: (server: Awaited<ReturnType<typeof openServerLines>>) => Promise<void>,
): Promise<boolean> {
  for (let tries = 0; ; tries += 1) {
    await using server = await scene.start();
    const answer = server.call("1", "send", { afterMs: 20, n });
    if (tries === 0) await disturb(server);
    const text = await Promise.race([answer, server.ended]);
    if (text?.startsWith(`did {"afterMs":20,"n":${n}}`)) return true;
    if (text?.startsWith("It is unknown")) return false;
    // Cut, refused, or still in flight until its time is over.
    await delay(liveMs / 4);
  }
}

async function expectOnce(scene: Awaited<ReturnType<typeof openScene>>, outcomes: readonly boolean[]): Promise<void> {
  const listed = await scene.unknown();
  const counts = outcomes.map((_, n) => scene.count(n));
  console.log(
    `calls ${outcomes.length}, answered ${outcomes.filter(Boolean).length}, unknown ${listed.size}, took effect ${counts.filter((count) => count > 0).length}, doubled ${counts.filter((count) => count > 1).length}`,
  );
  expect(counts.filter((count) => count > 1)).toEqual([]);
  for (const [n, isAnswered] of outcomes.entries())
    expect({ n, count: counts[n], listed: listed.has(n) }).toMatchObject(isAnswered ? { count: 1, listed: false } : { listed: true });
}

describe.each(sharedEngines)("processes on $name", ({ freshUrl }) => {
  test(`${rounds} times killed with SIGKILL, the proxy or its upstream, in the middle of a call: no call takes effect twice`, async () => {
    const scene = await openScene(await freshUrl());
    const random = seededRandom(31);
    const outcomes: boolean[] = [];
    for (let n = 0; n < rounds; n += 1)
      outcomes.push(
        await callUntilAnswered(scene, n, async (server) => {
          const upstream = scene.upstreamPid();
          await delay(between(random, 0, 60));
          if (n % 3 === 2) process.kill(upstream, "SIGKILL");
          else server.kill();
        }),
      );
    await expectOnce(scene, outcomes);
  });
});

describe.each(serversUnderTest)("$name killed under the proxy", ({ start }) => {
  test(`${rounds} times in the middle of a call, and started again: no call takes effect twice`, async () => {
    await using engine = await start();
    const scene = await openScene(withDeadline(engine.url, 1_000));
    const random = seededRandom(32);
    const outcomes: boolean[] = [];
    for (let n = 0; n < rounds; n += 1)
      outcomes.push(
        await callUntilAnswered(scene, n, async () => {
          await delay(between(random, 0, 40));
          await engine.kill9();
          await delay(between(random, 0, 300));
          await engine.restart();
        }),
      );
    await expectOnce(scene, outcomes);
  });
});
