import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beginEffect } from "../../src/domain/effects/begin-effect.ts";
import { finishEffect } from "../../src/domain/effects/finish-effect.ts";
import { effectId } from "../../src/domain/effects/identity.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { checkAccessibility } from "./support/accessibility.ts";
import type { DashboardPage, Tab } from "./support/dashboard-page.ts";
import { drawn, openDashboardPage, visit } from "./support/dashboard-page.ts";

/** What would act if it were taken for markup, and what would deceive if it were drawn as it is. */
const markup = `<img src=x onerror="globalThis.owned=1"><script>globalThis.owned=1</script><a href="javascript:globalThis.owned=1">x</a>`;
const bidi = "report\u202Efdp.exe";
const zero = "pay\u200Bpal";
const huge = "W".repeat(60_000);

let dashboard: DashboardPage;
let tab: Tab;
let page: Page;
let runId: string;
beforeAll(async () => {
  dashboard = await openDashboardPage({ fill: fillEffects });
  for (const [index, text] of [markup, bidi, zero, huge].entries()) {
    await dashboard.call("state_set", { key: `evil/${index}${index === 3 ? "" : text}`.slice(0, 400), value: { [text.slice(0, 300)]: text }, agent_id: text.slice(0, 200) });
    await dashboard.call("lease_acquire", { resource_id: `lock ${index} ${text}`.slice(0, 400), holder_id: text.slice(0, 200), ttl_seconds: 600 });
    await dashboard.call("checkpoint", {
      action: "save",
      workspace: `place ${text}`.slice(0, 100),
      description: text.slice(0, 9_000),
      highlights: [text.slice(0, 500)],
      activeFiles: [text.slice(0, 500)],
      gitBranch: text.slice(0, 200),
      tags: [text.slice(0, 60)],
    });
    await dashboard.call("save_knowledge", {
      id: `note-${index}`,
      content: `# ${text.slice(0, 20_000)}\n\n${text.slice(0, 20_000)}`,
      keywords: [text.slice(0, 120)],
      source: text.slice(0, 500),
    });
    await dashboard.call("save_checkpoint", {
      core_question: text.slice(0, 900),
      thesis: text.slice(0, 900),
      confidence: 0.5,
      open_questions: [text.slice(0, 500)],
      sources: [{ id: text.slice(0, 100), type: "document", take: text.slice(0, 500), relation: "supports" }],
    });
    const run = await dashboard.call("workflow_create", { name: text.slice(0, 400), run_id: `run-${index}`, tags: { t: text.slice(0, 100) }, input: text });
    await dashboard.call("workflow_claim", { run_id: run.run_id, agent_id: text.slice(0, 200) });
    await dashboard.call("workflow_checkpoint", { run_id: run.run_id, step: 1, output: text, agent_id: text.slice(0, 200) });
    if (index === 0) runId = String(run.run_id);
  }
  tab = await dashboard.open("/");
  ({ page } = tab);
});
afterAll(async () => {
  await tab?.[Symbol.asyncDispose]();
  await dashboard?.[Symbol.asyncDispose]();
});

/** Effects have no tool that begins them. The first is unknown, so its answer is absent; the others are done. */
async function fillEffects(url: string): Promise<void> {
  const clock = systemClock;
  await using engine = await openEngine(url, { clock });
  const scope = { store: openNamespaceStore(engine, "default", clock), clock, writer: "evil" };
  for (const [index, text] of [markup, bidi, zero, huge].entries()) {
    const identity = { name: `${index} ${text}`.slice(0, 300), tool: text.slice(0, 300), args: { [text.slice(0, 300)]: text } };
    const begun = await beginEffect({ ...scope, agent: text.slice(0, 200) }, { identity, liveMs: 1_000 });
    if (begun.outcome !== "begun") throw new Error(`${index}: ${begun.outcome}`);
    if (index > 0) await finishEffect(scope, { ...begun, outcome: { state: "done", answer: text } });
  }
}
const hostileEffect = (): string => `/ns/default/effects/${encodeURIComponent(effectId({ name: `0 ${markup}`.slice(0, 300), tool: markup, args: null }))}`;

/** Nothing stored became an element, ran, or was fetched; nothing widened the page or turned its text around. */
async function isInert(): Promise<void> {
  expect(await page.evaluate(() => "owned" in globalThis)).toBe(false);
  expect(await page.evaluate(() => document.querySelectorAll("main img, main script, main iframe, main [onerror], main a[href^='javascript']").length)).toBe(0);
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  expect(await page.locator("main").evaluate((main) => /[\u200B\u202A-\u202E\u2066-\u2069]/.test(main.textContent ?? ""))).toBe(false);
  expect(tab.faults).toEqual([]);
}

describe("hostile text is shown as text", () => {
  const views: readonly (readonly [name: string, path: () => string])[] = [
    ["the overview", () => "/ns/default"],
    ["runs", () => "/ns/default/runs"],
    ["one run", () => `/ns/default/runs/${encodeURIComponent(runId)}`],
    ["leases", () => "/ns/default/leases"],
    ["effects", () => "/ns/default/effects"],
    ["one effect", hostileEffect],
    ["keys", () => "/ns/default/keys"],
    ["one key", () => `/ns/default/keys/${encodeURIComponent(`evil/0${markup}`)}`],
    ["the journal", () => "/ns/default/journal"],
    ["notes", () => "/ns/default/knowledge"],
    ["one note", () => "/ns/default/knowledge/note-0"],
    ["research", () => "/ns/default/research"],
    ["activity", () => "/ns/default/activity"],
    ["search", () => "/ns/default/search?q=evil"],
  ];
  test.each(views)("in %s, wide and on a phone", async (_name, path) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await visit(page, path());
    await page
      .locator("main")
      .getByText(/onerror|evil\//)
      .and(page.locator(":visible"))
      .first()
      .waitFor();
    await isInert();
    await page.setViewportSize({ width: 360, height: 740 });
    await drawn(page);
    await isInert();
  });

  test("invisible characters are made visible: direction changes and zero widths have a sign", async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await visit(page, `/ns/default/keys/${encodeURIComponent(`evil/1${bidi}`)}`);
    await expect.poll(() => page.getByRole("heading", { level: 1 }).textContent()).toBe("evil/1reportU+202Efdp.exe");
    await visit(page, `/ns/default/keys/${encodeURIComponent(`evil/2${zero}`)}`);
    await expect.poll(() => page.getByRole("heading", { level: 1 }).textContent()).toBe("evil/2payU+200Bpal");
    await isInert();
  });

  test("a huge text is cut, and opens on demand", async () => {
    await visit(page, "/ns/default/keys/evil%2F3");
    const shown = () => page.getByLabel("Value of the key").evaluate((element) => element.textContent?.length ?? 0);
    await expect.poll(() => shown()).toBeLessThan(7_000);
    await page
      .getByRole("button", { name: /Show all/ })
      .first()
      .click();
    await expect.poll(shown).toBeGreaterThan(60_000);
    await isInert();
  });

  test("an address with hostile parts leads to a thing of that name or to nowhere, never into markup", async () => {
    for (const path of [
      `/ns/${encodeURIComponent(markup)}/keys`,
      `/ns/default/keys?prefix=${encodeURIComponent(markup)}`,
      `/ns/default/search?q=${encodeURIComponent(markup)}`,
      "/ns/default/keys/%FF%FE",
      "/ns/default/runs/~..",
    ]) {
      const before = tab.faults.length;
      await visit(page, path);
      expect(await page.evaluate(() => "owned" in globalThis)).toBe(false);
      expect(await page.evaluate(() => document.querySelectorAll("main img, main script").length)).toBe(0);
      // A namespace of such a name and a run that is not there are refused by the server.
      (tab.faults as string[]).splice(before);
    }
  });
});

describe("the checks find planted faults", () => {
  const plant = async (fault: () => void, ...noticed: readonly RegExp[]): Promise<void> => {
    await using planted = await dashboard.open("/ns/default/health");
    await planted.page.getByText("The store answers.").waitFor();
    await planted.page.evaluate(fault);
    for (const pattern of noticed) await expect.poll(() => planted.faults.join("\n")).toMatch(pattern);
  };

  test("markup written into the page is refused by the policy and noticed", async () => {
    await plant(() => {
      try {
        (document.querySelector("main") as HTMLElement).innerHTML = "<b>x</b>";
      } catch {
        // The browser refuses; the report is what counts.
      }
    }, /policy: require-trusted-types-for/);
  });

  test("an image from elsewhere is refused by the policy and noticed", async () => {
    await plant(() => document.body.append(Object.assign(new Image(), { src: "https://example.com/x.png" })), /policy: img-src/);
  });

  test("a request to elsewhere is noticed", async () => {
    await plant(() => void fetch("https://example.com/").catch(() => {}), /policy: connect-src/);
  });

  test("an inline script, an inline style and a thrown error are noticed", async () => {
    const fault = () => {
      document.body.setAttribute("style", "color: red");
      queueMicrotask(() => {
        throw new Error("planted");
      });
    };
    await plant(fault, /policy: style-src/, /thrown: planted/);
  });

  test("a field without a label, a button without a name and too faint a colour fail the accessibility check", async () => {
    await using planted = await dashboard.open("/ns/default/health");
    await planted.page.getByText("The store answers.").waitFor();
    expect((await checkAccessibility(planted.page)).faults).toEqual([]);
    await planted.page.evaluate(() => {
      const faint = document.createElement("p");
      faint.textContent = "hard to read";
      faint.style.color = "#cfcfcf";
      faint.style.background = "#ffffff";
      document.querySelector("main")?.append(document.createElement("input"), document.createElement("button"), faint);
    });
    const { faults } = await checkAccessibility(planted.page);
    for (const rule of [/^label:/, /^button-name:/, /^color-contrast:/]) expect(faults.some((fault) => rule.test(fault))).toBe(true);
  });

  test("a line that widens the page is noticed at phone width", async () => {
    await using planted = await dashboard.open("/ns/default/health", { viewport: { width: 360, height: 740 } });
    await planted.page.getByText("The store answers.").waitFor();
    const width = () => planted.page.evaluate(() => document.documentElement.scrollWidth);
    await expect.poll(() => width()).toBeLessThanOrEqual(360);
    await planted.page.evaluate(() => {
      const line = document.createElement("p");
      line.textContent = "w".repeat(200);
      document.querySelector("main")?.append(line);
    });
    await expect.poll(() => width()).toBeGreaterThan(360);
  });
});
