import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DashboardPage, Tab } from "./support/dashboard-page.ts";
import { visit } from "./support/dashboard-page.ts";
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

describe(`every page, at ${widths.join(", ")} pixels`, () => {
  test.each(["", "/runs", "/leases", "/keys", "/journal", "/knowledge", "/research", "/activity", "/search?q=invoices", "/try/state_set", "/health"])(
    "list %s: every heading and button is inside the window",
    async (path) => {
      expect(await faultsOf(tab.page, `/ns/default${path}`)).toEqual([]);
      expect(tab.faults).toEqual([]);
    },
  );

  test("tokens: every heading and button is inside the window", async () => {
    expect(await faultsOf(tab.page, "/tokens")).toEqual([]);
    // A checker must prove that it looked.
    expect(await tab.page.getByRole("button", { name: "Revoke continuous-integration" }).count()).toBe(1);
    expect(await tab.page.getByRole("columnheader").count()).toBeGreaterThan(4);
  });

  // At the narrowest width and one other, in turn; at every width in every-page.campaign.ts.
  test.each(details)("details of %s: each opens, and every button is inside the window", async (_what, list, countMin) => {
    const paths = await list(dashboard);
    expect(paths.length).toBeGreaterThanOrEqual(countMin);
    const [narrowest, ...wider] = widths;
    const faults: string[] = [];
    for (const [i, path] of paths.entries()) faults.push(...(await faultsOf(tab.page, path, [narrowest, wider[i % wider.length] as number])));
    expect(faults).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  test("columns are left out by the width of the table, never the one with the buttons", async () => {
    const { page } = tab;
    const expectHeadings = async (path: string, width: number, headings: readonly string[]): Promise<void> => {
      await page.setViewportSize({ width, height: 800 });
      await visit(page, path);
      // Columns follow the table's width, which the page learns after it is laid out.
      await expect.poll(() => page.getByRole("columnheader").allInnerTexts()).toEqual(headings);
    };
    await expectHeadings("/ns/default/leases", 1440, ["Resource", "Holder", "Held for", "Ends", "Waiting", "Token", "Action"]);
    await expectHeadings("/ns/default/leases", 1024, ["Resource", "Holder", "Ends", "Waiting", "Action"]);
    await expectHeadings("/ns/default/leases", 720, ["Resource", "Holder", "Ends", "Action"]);
    await expectHeadings("/tokens", 1024, ["Name", "Role", "Namespaces", "Expires", "Action"]);
  });
});
