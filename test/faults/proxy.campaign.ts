import { describe, expect, test } from "vitest";
import { runAndPrint } from "../support/campaign.ts";
import { sharedEngines } from "../support/engines.ts";
import { manualClock } from "../support/manual-clock.ts";
import { countRounds } from "../support/proxy/counted-rounds.ts";
import { scaled } from "../support/scale.ts";

/** 10,000 on three engines at scale 1. */
const rounds = scaled(3_400, 200);

describe.each(sharedEngines)("calls through the proxy on $name", ({ name, freshUrl, openOnClock }) => {
  test(`${rounds} times, with client, proxy, upstream and store killed or failing at every boundary, take effect at most once`, async () => {
    const clock = manualClock();
    await using engine = await openOnClock(await freshUrl(), clock);
    const result = await runAndPrint(`calls through the proxy on ${name}`, () => countRounds({ engine, clock, rounds, seed: 20_261_117 }));
    expect(result.violations).toEqual([]);
    const { figures } = result;
    // Rounds in which nothing happened prove nothing.
    for (const count of [figures.proxies_killed, figures.upstreams_killed, figures.clients_killed, figures.store_failures, figures.unknown])
      expect(count).toBeGreaterThan(rounds / 50);
    expect(figures.acknowledged).toBeGreaterThan(rounds / 2);
  });
});

test("without the proxy the same rounds show calls that took effect twice", async () => {
  const clock = manualClock();
  const [on] = sharedEngines;
  await using engine = await (on as (typeof sharedEngines)[number]).openOnClock(await (on as (typeof sharedEngines)[number]).freshUrl(), clock);
  const result = await runAndPrint("calls without the proxy", () => countRounds({ engine, clock, rounds: scaled(1_000, 200), seed: 20_261_117, isProxied: false }));
  expect(result.figures.doubled).toBeGreaterThan(scaled(1_000, 200) / 20);
});
