import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Store } from "../../src/store/store.ts";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { runAndPrint } from "../support/campaign.ts";
import { sharedEngines } from "../support/engines.ts";
import { auditServers } from "../support/kill-server/audit.ts";
import { buildDist } from "../support/kill-server/built-executable.ts";
import { killServers } from "../support/kill-server/kill-servers.ts";
import { scaled } from "../support/scale.ts";

let built: Awaited<ReturnType<typeof buildDist>>;
beforeAll(async () => {
  built = await buildDist();
});
afterAll(() => built?.remove());

/** The audit's own connection, opened when the last server is gone. */
async function openAudited(storeUrl: string): Promise<Store> {
  const engine = await openEngine(storeUrl);
  onTestFinished(() => engine[Symbol.asyncDispose]());
  return openNamespaceStore(engine, "default", systemClock);
}

for (const on of sharedEngines)
  describe(`MCP servers on one store, killed at random under load (G1, G4, G5, G7, G9, G11, G12) on ${on.name}`, () => {
    const kills = scaled(on.isServer ? 60 : 300, 12);

    test(`lose nothing acknowledged, leave no gap, and do nothing twice when asked again, in ${kills} kills`, async () => {
      const storeUrl = await on.freshUrl();
      const result = await runAndPrint(`kill -9 of MCP servers on ${on.name}`, async (): Promise<CampaignResult> => {
        const { journal, figures } = await killServers({ file: process.execPath, args: [built.main, "--store", storeUrl] }, { kills, servers: 4, lanes: 20, seed: 20_261_115 });
        const audit = await auditServers(await openAudited(storeUrl), journal.calls);
        return { figures: { ...figures, ...audit.figures }, violations: audit.violations };
      });
      expect(result.violations).toEqual([]);
      expect(result.figures.kills).toBeGreaterThanOrEqual(kills);
      // A campaign in which nothing was answered, or nothing was cut, proves nothing.
      expect(result.figures.in_flight_at_a_kill_at_least).toBeGreaterThanOrEqual(16);
      expect(result.figures.acknowledged_by_killed_servers).toBeGreaterThan(kills);
      expect(result.figures.cut).toBeGreaterThan(3 * kills);
      expect(result.figures.retried).toBeGreaterThan(3 * kills);
    });
  });
