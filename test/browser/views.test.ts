import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkAccessibility } from "./support/accessibility.ts";
import type { DashboardPage, Tab } from "./support/dashboard-page.ts";
import { drawn, openDashboardPage, settled, visit } from "./support/dashboard-page.ts";
import { fillDemoStore } from "./support/demo-store.ts";

let dashboard: DashboardPage;
beforeAll(async () => {
  dashboard = await openDashboardPage({ fill: fillDemoStore });
  await dashboard.server.token({ name: "ci", role: "write", namespaces: ["builds"] });
});
afterAll(() => dashboard?.[Symbol.asyncDispose]());

/** Every view with something that must be on it. */
const views: readonly (readonly [name: string, path: string, texts: readonly (string | RegExp)[]])[] = [
  ["overview", "/ns/default", ["Commits per minute", "Run durations", "Lease occupancy", "Fleet", "Just now", "indexer"]],
  ["runs", "/ns/default/runs", ["triage-issue #2211", "review-change #482", "claimed", "reviewer", "Changed", "Created"]],
  ["runs of a status and a tag", "/ns/default/runs?status=failed&tag=team=payments", ["failed", /\d+ runs?/]],
  ["one run", "/ns/default/runs/migrate-invoices-2026-11", ["taken over", "step 7", "invoices_v1", '"mismatches": 0', "1 take-over"]],
  ["leases", "/ns/default/leases", ["deploy/production", "deployer", "gpu/0", /in \d+ min/]],
  ["effects", "/ns/default/effects", ["payment-88", "bank.pay", "announce-v2.14", "in flight", "5 effects, 2 unknown"]],
  ["effects of a run", "/ns/default/effects?run=migrate-invoices-2026-11", ["invoice-mail-4711", "2 effects, 1 unknown"]],
  ["no effects", "/ns/fresh/effects", ["No effects yet"]],
  ["keys", "/ns/default/keys", ["config/feature-flags", "builds/482/status", "config/", /\d+ keys/]],
  ["keys of a folder", "/ns/default/keys?prefix=config/", ["all keys", "config/limits", "3 keys"]],
  ["one key", "/ns/default/keys/config%2Ffeature-flags", ["newRanking", "Version 4 compared with 3", '"share": 0.5', '"share": 0.25']],
  ["a key that is not there", "/ns/default/keys/nowhere", ["There is no such key now"]],
  ["journal", "/ns/default/journal", ["Today", "Yesterday", "Switched reads of invoices", "Rollback is one flag"]],
  ["knowledge", "/ns/default/knowledge", ["Rolling back production", "quarantined", "deprecated", "archived"]],
  ["one note", "/ns/default/knowledge/deploy%2Frollback", ["write one that goes forward", "docs/deploy.md", "Version 2 compared with 1"]],
  ["research", "/ns/default/research", ["Why do one in twenty searches", "72 %"]],
  ["activity", "/ns/default/activity", ["agents/coder-1/progress", "fleet", "step 7"]],
  ["activity of one agent and kind", "/ns/default/activity?kind=lease&who=deployer", ["deploy/production", "acquired"]],
  ["search", "/ns/default/search?q=invoices", ["migrate-invoices", "Invoice ids are not dense", "Copying invoices"]],
  ["try it", "/ns/default/try/state_set", ["Set a key", "expected_version", "Not called yet"]],
  ["tokens", "/tokens", ["ci", "builds"]],
  ["health", "/ns/default/health", ["The store answers.", "sqlite", "/ns/default/mcp", "Changes so far", "the first change", "For the operator of the server"]],
  ["an empty namespace", "/ns/fresh", ["No run ended in the last 60 minutes", "Nothing was held", "No agents yet"]],
  ["no runs", "/ns/fresh/runs", ["No runs yet"]],
  ["no leases", "/ns/fresh/leases", ["Nothing is held"]],
  ["no keys", "/ns/fresh/keys", ["No keys yet"]],
  ["an empty journal", "/ns/fresh/journal", ["The journal is empty"]],
  ["no notes", "/ns/fresh/knowledge", ["No notes yet"]],
  ["no research", "/ns/fresh/research", ["No research checkpoints yet"]],
  ["no activity", "/ns/fresh/activity", ["Nothing has happened yet"]],
  ["an address that leads nowhere", "/ns/default/nothing", ["There is no page at this address"]],
];

/** The lowest contrast between a bar and the name on it; the accessibility check does not look into pictures. */
function faintest(spans: Element[]): number {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const luminance = (element: Element | null): number => {
    if (canvas === null || element === null) return Number.NaN;
    canvas.fillStyle = getComputedStyle(element).fill;
    canvas.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) =>
      value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  return Math.min(
    ...spans.map((span) => {
      const [bar, name] = [luminance(span.querySelector("rect")), luminance(span.querySelector("text"))];
      return (Math.max(bar, name) + 0.05) / (Math.min(bar, name) + 0.05);
    }),
  );
}

describe("every view", () => {
  // One tab for all of them, as people use it.
  let tab: Tab;
  beforeAll(async () => {
    tab = await dashboard.open("/", { colorScheme: "light" });
  });
  afterAll(() => tab?.[Symbol.asyncDispose]());

  test.each(views)("%s: shows what is there, is accessible in light and dark, and fits a phone", async (_name, path, texts) => {
    const { page, faults } = tab;
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
    await visit(page, path);
    for (const text of texts) await page.locator("main").getByText(text).and(page.locator(":visible")).first().waitFor();
    expect((await page.title()).endsWith("Holdfast")).toBe(true);
    const light = await checkAccessibility(page);
    expect(light.faults).toEqual([]);
    expect(light.passed).toBeGreaterThan(15);
    // Nothing but the colours is different.
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await checkAccessibility(page, ["color-contrast"]);
    expect(dark.faults).toEqual([]);
    expect(dark.passed).toBe(1);
    await page.setViewportSize({ width: 360, height: 740 });
    await drawn(page);
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth), { message: "width at 360 px" }).toBeLessThanOrEqual(360);
    expect(faults).toEqual([]);
  });

  test("a research checkpoint opens with its sources and its open questions", async () => {
    await using tab = await dashboard.open("/ns/default/research");
    await tab.page.getByRole("link", { name: /one in twenty/ }).click();
    await tab.page.getByText("Does cutting postings change the first ten hits?").waitFor();
    await tab.page.getByText("src/query/score.ts").waitFor();
    expect((await checkAccessibility(tab.page)).faults).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  test("a journal entry has an address of its own", async () => {
    await using tab = await dashboard.open("/ns/default/journal");
    await settled(tab.page);
    await tab.page.locator(".entry-time").first().click();
    await tab.page.getByRole("heading", { name: "Journal entry" }).waitFor();
    await tab.page.getByText("Switched reads of invoices").waitFor();
    await tab.page.reload();
    await tab.page.getByText("Switched reads of invoices").waitFor();
    expect(tab.faults).toEqual([]);
  });

  test("a missing item is reported in words for people, without the hint for agents", async () => {
    await using tab = await dashboard.open("/ns/default/runs/nowhere", { expects: [404] });
    const { page } = tab;
    await page.getByText('There is no run "nowhere".').waitFor();
    await expect.poll(() => page.locator("main").textContent()).not.toContain("workflow_discover");
    await expect.poll(() => page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    expect(tab.faults).toEqual([]);
  });

  test("what the engine says of itself is explained on demand", async () => {
    await using tab = await dashboard.open("/ns/default/health");
    const { page } = tab;
    await settled(page);
    const meaning = page.getByText("If a deleted key is written again, its versions continue where they ended.");
    await expect.poll(() => meaning.isVisible()).toBe(false);
    await page.getByText("For the operator of the server").click();
    await meaning.waitFor();
    expect((await checkAccessibility(page)).faults).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  test("a search that finds more than it shows says so", async () => {
    await using tab = await dashboard.open("/ns/default/search?q=wf-");
    await tab.page.getByText("the first 10, there are more").waitFor();
    await expect.poll(() => tab.page.locator(".hits li").count()).toBe(10);
    await visit(tab.page, "/ns/default/search?q=invoices");
    await tab.page.getByText("6 hits", { exact: true }).waitFor();
    await expect.poll(() => tab.page.getByText("there are more").count()).toBe(0);
  });

  test("runs are called by their names, wherever a claim is drawn or listed", async () => {
    await using tab = await dashboard.open("/ns/default");
    const { page } = tab;
    await settled(page);
    const lanes = await page.locator(".lane-name").allTextContents();
    expect(lanes).toContain("run migrate-invoices");
    expect(lanes.join()).not.toContain("workflow/");
    // More than the server sends lanes of: the count is of all that were held.
    const note = (await page.getByText(/^10 of \d+ resources shown, 24 in the table$/).textContent()) ?? "";
    expect(Number(note.split(" ")[2])).toBeGreaterThan(24);
    await expect
      .poll(() => page.evaluate(() => document.querySelector(".bar")?.getBoundingClientRect().right === innerWidth), { message: "the line under the bar reaches the edge" })
      .toBe(true);
    await visit(page, "/ns/default/leases");
    await page.getByRole("link", { name: "migrate-invoices" }).click();
    await page.getByRole("heading", { name: "migrate-invoices" }).waitFor();
    expect(tab.faults).toEqual([]);
  });

  test("on a phone a row keeps its button and its lines inside, and names what its times mean", async () => {
    await using tab = await dashboard.open("/ns/default/leases", { viewport: { width: 360, height: 740 } });
    const { page } = tab;
    for (const [path, label] of [
      ["/ns/default/leases", "Ends"],
      ["/tokens", "Last used"],
      ["/ns/default/runs", "Created"],
    ] as const) {
      await visit(page, path);
      await page.locator(".table-body .narrow-label").and(page.locator(":visible")).getByText(label).first().waitFor();
      const room = await page.locator(".table-body .table-row").evaluateAll((rows) =>
        rows.flatMap((row) => {
          const box = row.getBoundingClientRect();
          return [...row.children].map((cell) => cell.getBoundingClientRect()).flatMap(({ top, bottom, width }) => (width === 0 ? [] : [top - box.top, box.bottom - bottom]));
        }),
      );
      expect(room.length, path).toBeGreaterThan(0);
      expect(Math.min(...room), path).toBeGreaterThanOrEqual(4);
    }
    expect(tab.faults).toEqual([]);
  });

  test("the charts say in words and in a table what they draw", async () => {
    await using tab = await dashboard.open("/ns/default");
    const { page } = tab;
    await settled(page);
    await expect.poll(() => page.getByRole("img", { name: /commits in the last 60 minutes; the busiest minute/ }).count()).toBe(1);
    await expect.poll(() => page.getByRole("img", { name: /runs that ended took .* in the middle/ }).count()).toBe(1);
    await expect.poll(() => page.getByRole("img", { name: /resources held in the last hour, \d+ of them now/ }).count()).toBe(1);
    await expect.poll(() => page.locator(".bar-mark").count()).toBe(60);
    await page.getByText("As a table").last().click();
    await page.getByRole("cell", { name: "still held" }).first().waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await expect.poll(() => page.locator(".span:has(text)").evaluateAll(faintest), { message: colorScheme }).toBeGreaterThan(4.5);
    }
  });
});

describe("finding one's way", () => {
  test("a namespace is chosen from the list and stays in the address", async () => {
    await using tab = await dashboard.open("/ns/default/keys");
    await settled(tab.page);
    await tab.page.getByLabel("Namespace").selectOption("builds");
    await tab.page.getByText("cache/warm").waitFor();
    expect(new URL(tab.page.url()).pathname).toBe("/ns/builds/keys");
    expect(tab.faults).toEqual([]);
  });

  test("links open views without loading the page again; going back shows them at once, where they were scrolled", async () => {
    await using tab = await dashboard.open("/ns/default/activity");
    const { page } = tab;
    await settled(page);
    await page.evaluate(() => Object.assign(globalThis, { stayed: true }));
    await page.evaluate(() => scrollTo(0, 900));
    await drawn(page);
    await page.locator(".table-row a").nth(12).click();
    await page.locator(".back").waitFor();
    await page.goBack();
    await page.getByText("When").waitFor();
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(800);
    expect(await page.evaluate(() => "stayed" in globalThis)).toBe(true);
    expect(tab.faults).toEqual([]);
  });

  test("the theme follows the system until the user chooses one, and the choice stays", async () => {
    await using tab = await dashboard.open("/ns/default/health", { colorScheme: "dark" });
    const { page } = tab;
    await settled(page);
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const dark = await ground();
    await page.getByRole("button", { name: /^Theme/ }).click();
    const light = await ground();
    expect(light).not.toBe(dark);
    await page.reload();
    await settled(page);
    await expect.poll(() => ground()).toBe(light);
    expect(tab.faults).toEqual([]);
  });
});
