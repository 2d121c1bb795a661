import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DashboardPage, Tab } from "./support/dashboard-page.ts";
import { details, faultsOf, openFullDashboard, widths } from "./support/page-widths.ts";

let dashboard: DashboardPage;
let tab: Tab;
beforeAll(async () => {
  dashboard = await openFullDashboard();
  tab = await dashboard.open("/");
});
afterAll(async () => {
  await tab?.[Symbol.asyncDispose]();
  await dashboard?.[Symbol.asyncDispose]();
});

/** Every page of one thing at every width. `npm test` opens each of them at two. */
describe(`every page, at each of ${widths.join(", ")} pixels`, () => {
  test.each(details)("details of %s: each opens, and every button is inside the window", async (_what, list, countMin) => {
    const paths = await list(dashboard);
    expect(paths.length).toBeGreaterThanOrEqual(countMin);
    const faults: string[] = [];
    for (const path of paths) faults.push(...(await faultsOf(tab.page, path)));
    expect(faults).toEqual([]);
    expect(tab.faults).toEqual([]);
  });
});
