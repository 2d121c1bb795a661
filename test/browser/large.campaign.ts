import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { atPace } from "../support/pace.ts";
import { scaled } from "../support/scale.ts";
import type { DashboardPage } from "./support/dashboard-page.ts";
import { openDashboardPage, settled } from "./support/dashboard-page.ts";
import { fillLargeStore, testLargeStore } from "./support/large-store.ts";

const size = { keys: scaled(1_250, 100) * 80, runs: scaled(20, 2) * 500 };
const readyMsMax = 1_000;

let dashboard: DashboardPage;
beforeAll(async () => {
  dashboard = await openDashboardPage({ fill: (url) => fillLargeStore(url, size) });
});
afterAll(() => dashboard?.[Symbol.asyncDispose]());

describe("a store with 100,000 keys and 10,000 runs", () => {
  const views = [
    ["overview", "/ns/default", "Commits per minute"],
    ["keys", "/ns/default/keys", `${size.keys.toLocaleString("en")} keys`],
    ["runs", "/ns/default/runs", `pack ${size.runs - 1}`],
    ["activity", "/ns/default/activity", `pack-${size.runs - 1}`],
  ] as const;

  test.each(views)("%s is ready within a second, from an empty cache", async (name, path, text) => {
    await using tab = await dashboard.open("about:blank");
    const { ms, pace } = await atPace(async () => {
      await tab.page.goto(path);
      await tab.page.getByText(text).first().waitFor();
      await settled(tab.page);
    });
    console.log(`${name} ready in ${ms.toFixed(0)} ms at pace ${pace.toFixed(1)}`);
    expect(tab.faults).toEqual([]);
    expect(ms).toBeLessThan(readyMsMax * pace);
  });

  testLargeStore(() => dashboard, size);
});
