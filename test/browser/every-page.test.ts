import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JournalPage, KeysPage, NotesPage, ResearchPage, RunsPage } from "../../src/surfaces/dashboard/api.ts";
import type { DashboardPage, Tab } from "./support/dashboard-page.ts";
import { openDashboardPage, visit } from "./support/dashboard-page.ts";
import { fillDemoStore } from "./support/demo-store.ts";

const widths = [390, 820, 900, 1024, 1180, 1440] as const;

let dashboard: DashboardPage;
let tab: Tab;
beforeAll(async () => {
  dashboard = await openDashboardPage({ fill: fillDemoStore });
  await dashboard.server.token({ name: "continuous-integration", role: "write", namespaces: ["builds", "default"] });
  await dashboard.call("save_checkpoint", {
    core_question: "Is a bare checkpoint shown?",
    thesis: "It has a question, a thesis and a confidence, and nothing else.",
    confidence: 0.5,
  });
  tab = await dashboard.open("/");
});
afterAll(async () => {
  await tab?.[Symbol.asyncDispose]();
  await dashboard?.[Symbol.asyncDispose]();
});

const read = async <Answer>(path: string): Promise<Answer> => (await (await dashboard.server.fetch(`/api/ns/default/${path}`)).json()) as Answer;
const addresses = (view: string, ids: readonly string[]): readonly string[] => ids.map((id) => `/ns/default/${view}/${encodeURIComponent(id)}`);

/** What a person cannot reach: headings, buttons and links beyond the window, beyond their table, or with their text cut off. */
function unreachable(): string[] {
  const faults: string[] = [];
  for (const element of document.querySelectorAll<HTMLElement>("main [role=columnheader], main button, main a.button, main a.back")) {
    const { left, right, width } = element.getBoundingClientRect();
    if (width === 0) continue;
    const edge = Math.min(innerWidth, element.closest(".table")?.getBoundingClientRect().right ?? innerWidth);
    const name = `${element.tagName} "${element.textContent?.trim()}"`;
    if (left < 0 || right > edge) faults.push(`${name} reaches from ${Math.round(left)} to ${Math.round(right)} of ${Math.round(edge)}`);
    if (element.scrollWidth > element.clientWidth) faults.push(`${name} is cut off`);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} wide`);
  return faults;
}

async function faultsOf(page: Page, path: string): Promise<string[]> {
  const faults: string[] = [];
  await visit(page, path);
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    // Tables choose their columns when they are measured, which is before the second frame.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    faults.push(...(await page.evaluate(unreachable)).map((fault) => `${path} at ${width}: ${fault}`));
    const broken = await page.getByText("This view broke").count();
    if (broken > 0) faults.push(`${path} at ${width}: ${await page.locator("main").textContent()}`);
  }
  return faults;
}

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

  test.each([
    [
      "runs",
      async () =>
        addresses(
          "runs",
          (await read<RunsPage>("runs?limit=200")).runs.map(({ runId }) => runId),
        ),
      40,
    ],
    [
      "keys",
      async () =>
        addresses(
          "keys",
          (await read<KeysPage>("keys?limit=200")).keys.map(({ key }) => key),
        ),
      14,
    ],
    [
      "journal",
      async () =>
        addresses(
          "journal",
          (await read<JournalPage>("journal?limit=50")).entries.map(({ id }) => id),
        ),
      6,
    ],
    [
      "notes",
      async () =>
        addresses(
          "knowledge",
          (await read<NotesPage>("notes?limit=100")).notes.map(({ name }) => name),
        ),
      8,
    ],
    [
      "research",
      async () =>
        addresses(
          "research",
          (await read<ResearchPage>("research?limit=50")).checkpoints.map(({ id }) => id),
        ),
      3,
    ],
  ] as const)("details of %s: each opens, and every button is inside the window", async (_name, list, countMin) => {
    const paths = await list();
    expect(paths.length).toBeGreaterThanOrEqual(countMin);
    const faults: string[] = [];
    for (const path of paths) faults.push(...(await faultsOf(tab.page, path)));
    expect(faults).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  test("columns are left out by the width of the table, never the one with the buttons", async () => {
    const { page } = tab;
    const headings = async (path: string, width: number) => {
      await page.setViewportSize({ width, height: 800 });
      await visit(page, path);
      return page.getByRole("columnheader").allInnerTexts();
    };
    expect(await headings("/ns/default/leases", 1440)).toEqual(["Resource", "Holder", "Held for", "Ends", "Waiting", "Token", "Action"]);
    expect(await headings("/ns/default/leases", 1024)).toEqual(["Resource", "Holder", "Ends", "Waiting", "Action"]);
    expect(await headings("/ns/default/leases", 720)).toEqual(["Resource", "Holder", "Ends", "Action"]);
    expect(await headings("/tokens", 1024)).toEqual(["Name", "Role", "Namespaces", "Expires", "Action"]);
  });
});
