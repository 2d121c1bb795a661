import { describe, expect, test } from "vitest";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { runAndPrint, shows, untilFound } from "../support/campaign.ts";
import { cutAnswers, episodes, goThrough } from "../support/engine-faults/break-network.ts";
import type { LoadOptions } from "../support/engine-faults/engine-load.ts";
import { EngineLoad } from "../support/engine-faults/engine-load.ts";
import type { ServerUnderTest } from "../support/engine-faults/servers-under-test.ts";
import { serversUnderTest, withDeadline } from "../support/engine-faults/servers-under-test.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import type { ServerProcess } from "../support/servers/server-process.ts";

const deadlineMs = 1_000;
const serviceMsMax = 5_000;

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
    test("may lose, refuse, reset and delay, and the server may freeze: every call ends in time and nothing is lost or done twice", async () => {
      let seen = { failed: 0, unknown: 0 };
      // Whether commits were on their way when the network broke is chance: again, until in one run some were.
      for (let tries = 0; tries < 5 && (seen.failed <= 10 || seen.unknown <= 2); tries += 1) {
        const result = await runAndPrint(`broken network on ${on.name}`, () =>
          behindProxy(on, ({ load, proxy, server }) => goThrough(load, episodes(proxy, server, deadlineMs), serviceMsMax)),
        );
        expect(result.violations).toEqual([]);
        seen = { failed: result.figures.failed ?? 0, unknown: result.figures.unknown ?? 0 };
      }
      expect(seen.failed).toBeGreaterThan(10);
      expect(seen.unknown).toBeGreaterThan(2);
    });

    test("may cut answers: what became of a request is found out under its key", async () => {
      let seen = { unknown: 0, resolved: 0 };
      // A cut that meets no answer to a commit shows nothing: again, until in one run enough did.
      for (let tries = 0; tries < 5 && (seen.unknown <= 10 || seen.resolved === 0); tries += 1) {
        const result = await runAndPrint(`cut answers on ${on.name}`, () =>
          behindProxy(on, ({ load, proxy }) => cutAnswers(load, proxy, { cuts: 20, connections: 8, serviceMsMax })),
        );
        expect(result.violations).toEqual([]);
        seen = { unknown: result.figures.unknown ?? 0, resolved: result.figures.requests_resolved ?? 0 };
      }
      expect(seen.unknown).toBeGreaterThan(10);
      expect(seen.resolved).toBeGreaterThan(0);
    });

    test("shows an engine that sends a commit again whose answer was cut", async () => {
      // Not every cut meets an answer that matters: where a commit had not been asked for yet, nothing is sent again.
      const cut = () => behindProxy(on, ({ load, proxy }) => cutAnswers(load, proxy, { cuts: 12, connections: 8, serviceMsMax }), { fault: "resentCommits" });
      expect(await untilFound(cut, shows("unsent_commit_found"))).toContain("unsent_commit_found");
    });
  });
}
