import { expect, test } from "vitest";
import { faultsIn, runAndPrint } from "../support/campaign.ts";
import { engineNamed } from "../support/engines.ts";
import { manualClock } from "../support/manual-clock.ts";
import { countRounds } from "../support/proxy/counted-rounds.ts";
import { plantedProxies } from "../support/proxy/planted-proxies.ts";

/** Enough for every kind of fault to strike several times. */
const rounds = 400;

async function faultsOf(what: string, parts: Partial<(typeof plantedProxies)[number]>): Promise<readonly string[]> {
  const clock = manualClock();
  await using engine = await engineNamed("memory").openOnClock("memory:", clock);
  return faultsIn(await runAndPrint(what, () => countRounds({ engine, clock, rounds, seed: 7, ...parts })));
}

test("a proxy without a defect shows none", async () => {
  expect(await faultsOf("no defect", {})).toEqual([]);
});

test.each(plantedProxies)("a proxy that $defect shows calls that are $shows", async ({ defect, shows, ...parts }) => {
  expect(await faultsOf(defect, parts)).toContain(shows);
});
