import { afterAll, beforeAll, expect, test } from "vitest";
import { openHoldfast } from "../../src/index.ts";
import { checkAccessibility } from "./support/accessibility.ts";
import type { DashboardPage } from "./support/dashboard-page.ts";
import { openDashboardPage, settled, visit } from "./support/dashboard-page.ts";
import { fillDemoStore } from "./support/demo-store.ts";

let dashboard: DashboardPage;
beforeAll(async () => {
  dashboard = await openDashboardPage({ fill: fillDemoStore });
});
afterAll(() => dashboard?.[Symbol.asyncDispose]());

test("an empty namespace shows first how to connect an agent, says that it does not exist yet, and stops saying so with the first write", async () => {
  await using tab = await dashboard.open("/ns/brand-new");
  const { page } = tab;
  await settled(page);
  const panel = page.getByRole("region", { name: "Connect your first agent" });
  await panel.getByText(`holdfast install claude-code --http ${dashboard.server.url}/ns/brand-new/mcp`).waitFor();
  await panel.getByText("Waiting for the first agent…").waitFor();
  await panel.getByText(/There is no namespace brand-new yet/).waitFor();
  expect(await page.evaluate(() => document.querySelector("main section h2")?.textContent)).toBe("Connect your first agent");
  expect((await checkAccessibility(page)).faults).toEqual([]);
  await dashboard.server.fetch("/api/ns/brand-new/tools/state_set", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ key: "k", value: 1 }),
  });
  await panel.waitFor({ state: "detached" });
  expect(tab.faults).toEqual([]);
});

test("a run whose agent stopped says so on its page and in the overview, with its age and what can be done", async () => {
  await dashboard.call("workflow_create", { name: "resize-images", run_id: "resize-images", tags: { on: "gpu" } });
  // Three agents take it, and each is gone before it reports a second step.
  for (const agent of ["gpu-1", "gpu-2", "gpu-3"]) {
    await dashboard.call("workflow_claim", { run_id: "resize-images", agent_id: agent, ttl_seconds: 1 });
    await dashboard.call("workflow_checkpoint", { run_id: "resize-images", step: 1, output: { done: 0 }, agent_id: agent });
    await expect
      .poll(async () => (await dashboard.call("workflow_discover", { claimable: true, tags: { on: "gpu" } })).runs, { interval: 100 })
      .toContainEqual(expect.objectContaining({ run_id: "resize-images" }));
  }
  await using tab = await dashboard.open("/ns/default/runs/resize-images");
  const { page } = tab;
  const banner = page.locator(".banner").getByText(/Stuck: gpu-3 stopped reporting after step 1, its claim lapsed .* ago, and no agent has taken over/);
  await banner.waitFor();
  await page.getByText(/It was claimed 3 times, and never got past step 1/).waitFor();
  expect((await checkAccessibility(page)).faults).toEqual([]);
  await visit(page, "/ns/default");
  const row = page.getByRole("region", { name: "Needs a look" }).getByRole("listitem").filter({ hasText: "resize-images" });
  await row.locator("time").waitFor();
  await row.getByRole("button", { name: "Cancel resize-images" }).click();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await row.waitFor({ state: "detached" });
  expect(await dashboard.call("workflow_status", { run_id: "resize-images" })).toMatchObject({ status: "cancelled" });
  expect(tab.faults).toEqual([]);
});

test("a run's page begins with its input, and its steps are a table with names, times and outputs on demand", async () => {
  await dashboard.call("workflow_create", { name: "release", run_id: "release-7", input: { goal: "ship it", steps: ["build", { name: "test" }, "publish"] } });
  await dashboard.call("workflow_claim", { run_id: "release-7", agent_id: "shipper", ttl_seconds: 600 });
  for (const step of [1, 2]) await dashboard.call("workflow_checkpoint", { run_id: "release-7", step, output: { log: "line\\n".repeat(20), step }, agent_id: "shipper" });
  await using tab = await dashboard.open("/ns/default/runs/release-7");
  const { page } = tab;
  await page.getByText("step 2 of 3").waitFor();
  const titles = await page.locator("main section h2").allTextContents();
  expect(titles.indexOf("Input")).toBeLessThan(titles.indexOf("Steps"));
  expect(titles[0]).toBe("Input");
  const table = page.getByRole("table");
  expect(await table.getByRole("columnheader").allTextContents()).toEqual(["Step", "Name", "Took", "By", "When", "Output"]);
  await table.getByRole("row").filter({ hasText: "build" }).getByText("shipper").waitFor();
  await expect.poll(() => page.getByRole("region", { name: "Output of step 2" }).count()).toBe(0);
  await page.getByRole("button", { name: "Show the output of step 2" }).click();
  await page.getByRole("region", { name: "Output of step 2" }).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  expect((await checkAccessibility(page)).faults).toEqual([]);
  expect(tab.faults).toEqual([]);
});

test("the journal is filtered by tag and text, and the filters stand in the address", async () => {
  await using tab = await dashboard.open("/ns/default/journal");
  const { page } = tab;
  await settled(page);
  await page.getByLabel("Contains").fill("invoices");
  await page.getByText("2 entries").waitFor();
  await page.getByLabel("Tag").fill("migration");
  await expect.poll(() => new URL(page.url()).search).toBe("?q=invoices&tag=migration");
  await page.reload();
  await page.getByText("2 entries").waitFor();
  await expect.poll(() => page.getByLabel("Contains").inputValue()).toBe("invoices");
  await page.getByLabel("Tag").fill("nothing");
  await page.getByText("No entry matches these filters").waitFor();
  expect((await checkAccessibility(page)).faults).toEqual([]);
  expect(tab.faults).toEqual([]);
});

test("the time range of the charts stands in the address and is kept by a reload", async () => {
  await using tab = await dashboard.open("/ns/default");
  const { page } = tab;
  await settled(page);
  await page.getByLabel("Time range").selectOption("7 days");
  await page.getByRole("img", { name: /commits in the last 7 days; the busiest 2 h 48 min was/ }).waitFor();
  expect(new URL(page.url()).search).toBe("?range=7d");
  await page.reload();
  await page.getByRole("img", { name: /held in the last 7 days/ }).waitFor();
  await expect.poll(() => page.locator(".bar-mark").count()).toBe(60);
  expect((await checkAccessibility(page)).faults).toEqual([]);
  expect(tab.faults).toEqual([]);
});

test("a mark in the chart of durations opens its run", async () => {
  await using tab = await dashboard.open("/ns/default");
  const { page } = tab;
  await settled(page);
  await page.locator(".run-mark").first().click();
  await page.locator(".back").getByText("Runs").waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/ns\/default\/runs\/./);
  expect(tab.faults).toEqual([]);
});

test("a bar of the chart of commits opens the activity up to its end", async () => {
  await using tab = await dashboard.open("/ns/default");
  const { page } = tab;
  await settled(page);
  await page.locator('.bar-mark[data-zero="false"]').first().click();
  const upTo = page.getByRole("button", { name: /^Up to revision \d+: show all$/ });
  await upTo.waitFor();
  const through = Number(new URL(page.url()).searchParams.get("through"));
  const revisions = async (): Promise<number[]> => (await page.getByRole("row").locator(".mono").allTextContents()).map(Number).filter(Number.isInteger);
  await expect.poll(async () => (await revisions()).length).toBeGreaterThan(0);
  expect(Math.max(...(await revisions()))).toBeLessThanOrEqual(through);
  expect((await checkAccessibility(page)).faults).toEqual([]);
  await upTo.click();
  await upTo.waitFor({ state: "detached" });
  await expect.poll(async () => Math.max(...(await revisions()))).toBeGreaterThan(through);
  expect(tab.faults).toEqual([]);
});

test("a bar of the chart of leases opens what was held", async () => {
  await dashboard.call("lease_acquire", { resource_id: "chart/bar", holder_id: "somebody", ttl_seconds: 600 });
  await using tab = await dashboard.open("/ns/default");
  const { page } = tab;
  await settled(page);
  await page.locator(".lanes .span.open rect").first().click();
  await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/ns\/default\/(leases|runs\/.+)$/);
  expect(tab.faults).toEqual([]);
});

test("runs show their tags, and are found by name, agent and tag; the filters stand in the address", async () => {
  for (const n of [1, 2]) await dashboard.call("workflow_create", { name: `paint-${n}`, run_id: `paint-${n}`, tags: { colour: n === 1 ? "red" : "blue", shop: "north" } });
  await dashboard.call("workflow_claim", { run_id: "paint-2", agent_id: "painter", ttl_seconds: 600 });
  await using tab = await dashboard.open("/ns/default/runs");
  const { page } = tab;
  await settled(page);
  await page.getByLabel("Name", { exact: true }).fill("PAINT");
  await page.getByText("2 runs", { exact: true }).waitFor();
  await page.getByRole("row").filter({ hasText: "paint-1" }).getByText("colour=red").waitFor();
  await page.getByLabel("Agent").fill("painter");
  await page.getByText("1 run", { exact: true }).waitFor();
  await page.getByLabel("Tag").fill("colour=blue");
  await expect.poll(() => new URL(page.url()).search).toBe("?q=PAINT&agent=painter&tag=colour%3Dblue");
  await page.reload();
  await page.getByText("1 run", { exact: true }).waitFor();
  await page.getByLabel("Agent").fill("nobody");
  await page.getByText("No run matches these filters", { exact: true }).waitFor();
  expect((await checkAccessibility(page)).faults).toEqual([]);
  expect(tab.faults).toEqual([]);
});

test("a run behind more than one page looks through is found: the page looks on by itself", async () => {
  await dashboard.call("workflow_create", { name: "needle", run_id: "needle" });
  await using holdfast = await openHoldfast({ store: dashboard.store, maintain: false });
  await Promise.all(Array.from({ length: 520 }, (_, i) => holdfast.workflows.create({ name: `straw-${i}` })));
  await using tab = await dashboard.open("/ns/default/runs?q=needle");
  await tab.page.getByText("1 run", { exact: true }).waitFor();
  expect(tab.faults).toEqual([]);
});
