import { expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { printMetrics } from "../support/campaign.ts";
import { EngineLoad } from "../support/engine-faults/engine-load.ts";
import { withDeadline } from "../support/engine-faults/servers-under-test.ts";
import { slowDisk } from "../support/engine-faults/slow-disk.ts";
import { once, scaled } from "../support/scale.ts";
import type { RedisServer } from "../support/servers/redis-server.ts";
import { startRedis } from "../support/servers/redis-server.ts";

const deadlineMs = 2_000;
const longSyncMs = 1_900;
/** At least two: the second takes the note of the first with it. */
const losses = scaled(3, 2);

test(
  "a Redis that syncs every second loses acknowledged writes when killed: health says so before, the audit finds it, and nothing lost is given again, on Redis",
  once,
  async () => {
    let lost = 0;
    let told = 0;
    // A sync ends in time, however slow the machine is: again, until a watcher had seen what was written in the meantime and then lost.
    for (let seed = 0; lost === 0 || told === 0; seed += 1) {
      await using redis = await startRedis({ appendfsync: "everysec" });
      const url = `${redis.url}?allow_loss=1`;
      await using engine = await openEngine(url);
      const { durability, warnings } = await engine.health("load");
      expect(durability).toContain("second");
      expect(warnings.map(({ about }) => about)).toContain("durability");
      const startedMs = performance.now();
      const load = await EngineLoad.start({ url: withDeadline(url, deadlineMs), deadlineMs, seed });
      await slowDisk(redis.pid, longSyncMs);
      await untilSyncing(redis);
      await load.watchersSeeMore();
      await redis.kill9();
      await redis.restart();
      await load.serviceWithin(5_000);
      await load.stop();
      const counted = await load.audit({ loss: "counted" });
      printMetrics("everysec, server killed, on Redis", counted, startedMs);
      expect(counted.violations).toEqual([]);
      lost = counted.figures.commits_lost ?? 0;
      told = counted.figures.watchers_told_of_loss ?? 0;
      if (lost > 0) expect((await load.audit({ loss: "forbidden" })).violations.map(({ fault }) => fault)).toContain("acknowledged_commit_missing");
    }
  },
);

test("clients that remember nothing are not given a lost revision or token again, not even when the first commits after a loss are lost too, on Redis", async () => {
  let lost = 0;
  // What is written while a sync is on its way is lost; on a slow machine that may be nothing: again, until it was something.
  while (lost === 0) lost = (await loseAgain()).commits_lost ?? 0;
});

/** Kills server and clients together, over and over. */
async function loseAgain(): Promise<CampaignResult["figures"]> {
  await using redis = await startRedis({ appendfsync: "everysec" });
  const startedMs = performance.now();
  const url = withDeadline(`${redis.url}?allow_loss=1`, deadlineMs);
  const load = await EngineLoad.start({ url, deadlineMs });
  for (let loss = 0; loss < losses; loss += 1) {
    // Whatever is written while a sync is on its way, the note of the loss before included, is still in the server's own memory when it is killed.
    await slowDisk(redis.pid, longSyncMs);
    await untilSyncing(redis);
    if (loss > 0) await load.join(2);
    await load.workFor(200, 5);
    await redis.kill9();
    await load.kill();
    await redis.restart();
  }
  await load.join(2);
  await load.stop();
  const result = await load.audit({ loss: "counted" });
  printMetrics("everysec, clients and server killed, on Redis", result, startedMs);
  expect(result.violations).toEqual([]);
  return result.figures;
}

async function untilSyncing(redis: RedisServer): Promise<void> {
  await redis.waitUntil("begin to sync", async () => {
    await redis.command("SET", "something else", "entirely");
    return String(await redis.command("INFO", "persistence")).includes("aof_pending_bio_fsync:1");
  });
}
