import { describe, expect, test } from "vitest";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { faultsIn, runAndPrint } from "../support/campaign.ts";
import { cutAnswers, episodes, goThrough } from "../support/engine-faults/break-network.ts";
import type { LoadOptions } from "../support/engine-faults/engine-load.ts";
import { EngineLoad } from "../support/engine-faults/engine-load.ts";
import type { ServerUnderTest } from "../support/engine-faults/servers-under-test.ts";
import { serversUnderTest, withDeadline } from "../support/engine-faults/servers-under-test.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { once, scaled } from "../support/scale.ts";
import type { ServerProcess } from "../support/servers/server-process.ts";

const deadlineMs = 1_000;
const serviceMsMax = 5_000;
const cuts = scaled(20, 6);

interface Scene {
  readonly load: EngineLoad;
  readonly proxy: FaultProxy;
  readonly server: ServerProcess;
}

/** Clients behind a network that breaks, and the audit by one that is not. */
async function behindProxy({ start }: ServerUnderTest, play: (scene: Scene) => Promise<void>, options: Pick<LoadOptions, "fault"> = {}): Promise<CampaignResult> {
  await using server = await start();
  await using proxy = await FaultProxy.open(server.port);
  const load = await EngineLoad.start({ url: withDeadline(proxy.urlFor(server.url), deadlineMs), auditUrl: server.url, deadlineMs, ...options });
  await play({ load, proxy, server });
  await load.stop();
  const { figures, violations } = await load.audit();
  return { figures: { answers_cut: proxy.counters.cuts, resets: proxy.counters.resets, ...figures }, violations };
}

for (const on of serversUnderTest) {
  describe(`the network between a client and its engine's server (G3, G4, G9, G10, G19) on ${on.name}`, () => {
    test("may lose, refuse, reset and delay, and the server may freeze: every call ends in time and nothing is lost or done twice", once, async () => {
      const result = await runAndPrint(`broken network on ${on.name}`, () =>
        behindProxy(on, async ({ load, proxy, server }) => {
          // Whether commits are on their way when the network breaks is chance: again, until some were.
          do await goThrough(load, episodes(proxy, server, deadlineMs), serviceMsMax);
          while (load.ended("unavailable") <= 10 || load.ended("outcome_unknown") <= 2);
        }),
      );
      expect(result.violations).toEqual([]);
    });

    test(`may cut answers, ${cuts} times: the outcome of a request is found by its key`, async () => {
      const result = await runAndPrint(`cut answers on ${on.name}`, () =>
        behindProxy(on, ({ load, proxy }) => {
          // A cut that meets no answer to a commit shows nothing.
          const isEnough = (): boolean => load.ended("outcome_unknown") > cuts / 2 && load.resolved > 0;
          return cutAnswers(load, proxy, { cuts, isEnough, connections: 8, serviceMsMax });
        }),
      );
      expect(result.violations).toEqual([]);
    });

    test("shows an engine that sends a commit again whose answer was cut", async () => {
      const cutSome = (): Promise<CampaignResult> =>
        behindProxy(on, ({ load, proxy }) => cutAnswers(load, proxy, { cuts: 12, isEnough: () => true, connections: 8, serviceMsMax }), { fault: "resentCommits" });
      // Where a commit had not been asked for yet when its answer was cut, nothing is done twice: again, until something was.
      let found: readonly string[] = [];
      while (!found.includes("unsent_commit_found")) found = faultsIn(await cutSome());
    });
  });
}
