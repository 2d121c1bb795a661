import type { Page } from "playwright-core";
import type { EffectsAnswer, JournalPage, KeysPage, NotesPage, ResearchPage, RunsPage } from "../../../src/surfaces/dashboard/api.ts";
import type { DashboardPage } from "./dashboard-page.ts";
import { drawn, openDashboardPage, visit } from "./dashboard-page.ts";
import { fillDemoStore } from "./demo-store.ts";

export const widths = [390, 820, 900, 1024, 1180, 1440] as const;

/** A dashboard whose store has a page of every kind. */
export async function openFullDashboard(): Promise<DashboardPage> {
  const dashboard = await openDashboardPage({ fill: fillDemoStore });
  await dashboard.server.token({ name: "continuous-integration", role: "write", namespaces: ["builds", "default"] });
  await dashboard.call("save_checkpoint", {
    core_question: "Is a bare checkpoint shown?",
    thesis: "It has a question, a thesis and a confidence, and nothing else.",
    confidence: 0.5,
  });
  return dashboard;
}

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

/** Opens a page and looks at it in windows of these widths. */
export async function faultsOf(page: Page, path: string, at: readonly number[] = widths): Promise<string[]> {
  const faults: string[] = [];
  await visit(page, path);
  for (const width of at) {
    await page.setViewportSize({ width, height: 800 });
    // Tables choose their columns when they are measured, which is before the second frame.
    await drawn(page);
    faults.push(...(await page.evaluate(unreachable)).map((fault) => `${path} at ${width}: ${fault}`));
    const broken = await page.getByText("This view failed").count();
    if (broken > 0) faults.push(`${path} at ${width}: ${await page.locator("main").textContent()}`);
  }
  return faults;
}

/** The pages that show one thing each, by what they show: their addresses, and how many there are at least. */
export const details: readonly (readonly [what: string, list: (dashboard: DashboardPage) => Promise<readonly string[]>, countMin: number])[] = [
  ["runs", async (dashboard) => addresses("runs", (await read<RunsPage>(dashboard, "runs?limit=200")).runs, ({ runId }) => runId), 40],
  ["effects", async (dashboard) => addresses("effects", (await read<EffectsAnswer>(dashboard, "effects?limit=50")).effects, ({ id }) => id), 5],
  ["keys", async (dashboard) => addresses("keys", (await read<KeysPage>(dashboard, "keys?limit=200")).keys, ({ key }) => key), 14],
  ["journal", async (dashboard) => addresses("journal", (await read<JournalPage>(dashboard, "journal?limit=50")).entries, ({ id }) => id), 6],
  ["notes", async (dashboard) => addresses("knowledge", (await read<NotesPage>(dashboard, "notes?limit=100")).notes, ({ name }) => name), 8],
  ["research", async (dashboard) => addresses("research", (await read<ResearchPage>(dashboard, "research?limit=50")).checkpoints, ({ id }) => id), 3],
];

const read = async <Answer>({ server }: DashboardPage, path: string): Promise<Answer> => (await (await server.fetch(`/api/ns/default/${path}`)).json()) as Answer;
const addresses = <Item>(view: string, items: readonly Item[], idOf: (item: Item) => string): readonly string[] =>
  items.map((item) => `/ns/default/${view}/${encodeURIComponent(idOf(item))}`);
