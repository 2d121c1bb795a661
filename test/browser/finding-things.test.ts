import { afterAll, beforeAll, expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { checkAccessibility } from "./support/accessibility.ts";
import type { DashboardPage, Tab } from "./support/dashboard-page.ts";
import { openDashboardPage, settled, visit } from "./support/dashboard-page.ts";
import { fillDemoStore } from "./support/demo-store.ts";

let dashboard: DashboardPage;
let tab: Tab;
beforeAll(async () => {
  dashboard = await openDashboardPage({
    async fill(url) {
      await fillDemoStore(url);
      await fillWithBurst(url);
    },
  });
  tab = await dashboard.open("/ns/default");
});
afterAll(async () => {
  await tab?.[Symbol.asyncDispose]();
  await dashboard?.[Symbol.asyncDispose]();
});

/** Half an hour of three commits a minute, and one minute of two hundred. */
async function fillWithBurst(url: string): Promise<void> {
  const endMs = Date.now();
  let nowMs = endMs;
  const clock: Clock = { ...systemClock, nowMs: () => nowMs };
  await using engine = await openEngine(url, { clock });
  const store = openNamespaceStore(engine, "bursts", clock);
  for (let minutesAgo = 30; minutesAgo > 0; minutesAgo -= 1) {
    nowMs = endMs - minutesAgo * 60_000;
    const count = minutesAgo === 10 ? 200 : 3;
    await Promise.all(Array.from({ length: count }, (_, i) => store.commit({ writes: [{ op: "put", key: `state/${i}`, value: minutesAgo }], writer: "test" })));
  }
}

test("a journal entry's page has everything that was saved with it, and leads to the entries around it", async () => {
  for (const [i, description] of ["The one before", "The one in the middle", "The one after"].entries())
    await dashboard.call("checkpoint", {
      description,
      workspace: "neighbours",
      workContext: `what else is true: ${i}`,
      activeFiles: [`src/file-${i}.ts`],
      gitBranch: "topic",
      tags: ["t"],
    });
  const { page } = tab;
  await visit(page, "/ns/default/journal?q=the+middle");
  await page.getByText("Workspace", { exact: true }).and(page.locator(".entry :visible")).first().waitFor();
  await page.locator(".entry-time").first().click();
  const main = page.locator("main");
  for (const text of ["The one in the middle", "what else is true: 1", "src/file-1.ts", "topic", /^cp-/])
    await main.getByText(text).and(page.locator(":visible")).first().waitFor();
  expect((await checkAccessibility(page)).faults).toEqual([]);
  await page.getByRole("link", { name: "Previous" }).click();
  await main.getByText("The one before").waitFor();
  await page.getByRole("link", { name: "Next" }).click();
  await main.getByText("The one in the middle").waitFor();
  await page.getByRole("link", { name: "Next" }).click();
  await main.getByText("The one after").waitFor();
  await expect.poll(() => page.getByRole("link", { name: "Next" }).count()).toBe(0);
  expect(tab.faults).toEqual([]);
});

test("the page of a change shows that version; an expired key says so instead of comparing a version with itself", async () => {
  for (const value of ["one", "two", "three"]) await dashboard.call("state_set", { key: "versions/of", value });
  const { page } = tab;
  await visit(page, "/ns/default/activity?subject=versions/of");
  await page.getByRole("link", { name: "versions/of" }).nth(1).click();
  await page.getByText("Version 2 compared with 1").waitFor();
  expect(new URL(page.url()).search).toMatch(/^\?revision=\d+$/);
  await dashboard.call("state_set", { key: "versions/short", value: "soon gone", ttl_seconds: 0.001 });
  await expect
    .poll(async () => JSON.stringify(await (await dashboard.server.fetch("/api/ns/default/key?key=versions/short")).json()), { interval: 100 })
    .toContain('"operation":"expired"');
  await visit(page, "/ns/default/keys/versions%2Fshort");
  await page.getByText("It expired; its last value was version 1").waitFor();
  await expect.poll(() => page.locator("main").textContent()).not.toMatch(/Version (\d+) compared with \1/);
  expect(tab.faults).toEqual([]);
});

test("keys lead to the views and the search, and are listed; the search has one box, marks what it found, and calls notes by their titles", async () => {
  const { page } = tab;
  await visit(page, "/ns/default");
  await page.locator("main h1").focus();
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await dialog.getByText("Go to Journal").waitFor();
  expect((await checkAccessibility(page)).faults).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  const box = page.getByRole("searchbox");
  await expect.poll(() => box.count()).toBe(1);
  await expect.poll(() => box.evaluate((field) => field === document.activeElement)).toBe(true);
  await page.keyboard.type("rolling back");
  await page.locator("mark").getByText("rolling").first().waitFor();
  await page.getByRole("link", { name: /^Rolling back production/ }).waitFor();
  expect((await checkAccessibility(page)).faults).toEqual([]);
  expect(tab.faults).toEqual([]);
});

test("a note is shown with its headings, lists and code, its title once, and nothing in it becomes a link or markup", async () => {
  const content = "# The build\n\nRun `npm ci` first, **always**.\n\n- one\n- two\n\n```\n<b>not bold</b>\n```\n[here](https://elsewhere.example) <i>x</i> 2 ** 3 and a ` alone";
  await dashboard.call("save_knowledge", { id: "the-build", content, source: "test" });
  const { page } = tab;
  await visit(page, "/ns/default/knowledge/the-build");
  const note = page.locator(".note-text");
  await note.locator("code").getByText("npm ci", { exact: true }).waitFor();
  expect(await note.locator("strong").allTextContents()).toEqual(["always"]);
  expect(await note.locator("li").allTextContents()).toEqual(["one", "two"]);
  expect(await note.locator("pre").textContent()).toBe("<b>not bold</b>");
  expect(await note.locator("h3, a, b, i").count()).toBe(0);
  expect(await note.textContent()).toContain("[here](https://elsewhere.example) <i>x</i> 2 ** 3 and a ` alone");
  expect((await checkAccessibility(page)).faults).toEqual([]);
  expect(tab.faults).toEqual([]);
});

test("rows stay under the pointer: new ones wait behind a button", async () => {
  const { page } = tab;
  await visit(page, "/ns/default/activity");
  await page.locator(".connection.live").waitFor();
  await page.locator('[data-row="2"]').hover();
  const revision = () => page.locator('[data-row="2"] .mono').last().textContent();
  const before = await revision();
  await dashboard.call("state_set", { key: "while/pointing", value: 1 });
  await page.getByRole("button", { name: "1 new change" }).waitFor();
  expect(await revision()).toBe(before);
  await page.mouse.move(0, 0);
  await page.getByRole("button", { name: "1 new change" }).click();
  await page.getByText("while/pointing").waitFor();
  expect(tab.faults).toEqual([]);
});

test("what needs a look comes before the counts; an empty chart says what a commit is, a burst does not flatten the others, and a mark names its run", async () => {
  const { page } = tab;
  await visit(page, "/ns/default");
  await settled(page);
  const order = await page.locator("main :is(.attention, .calm, .tiles)").evaluateAll((parts) => parts.map((part) => part.className));
  expect(order.at(-1)).toBe("tiles");
  await page.getByText("released or lapsed").waitFor();
  await page.locator(".run-mark").first().hover();
  await page
    .locator("figcaption")
    .getByText(/(done|failed|cancelled) after /)
    .and(page.locator(":visible"))
    .first()
    .waitFor();
  await visit(page, "/ns/bursts");
  await page.locator(".bar-over").first().waitFor();
  const heights = await page.locator('.bar-mark[data-zero="false"]').evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute("height"))));
  // The usual minutes keep at least a quarter of the height.
  expect(heights.filter((height) => height >= 30).length).toBeGreaterThan(heights.length / 4);
  await visit(page, "/ns/nothing-yet");
  await page.getByText("A commit is one change that takes effect as a whole").waitFor();
  await page.locator(".namespace option").getByText("nothing-yet (does not exist yet)").waitFor({ state: "attached" });
  expect(tab.faults).toEqual([]);
});
