import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FaultProxy } from "../support/fault-proxy.ts";
import { atPace } from "../support/pace.ts";
import type { DashboardPage, Tab } from "./support/dashboard-page.ts";
import { drawn, openDashboardPage, settled, visit } from "./support/dashboard-page.ts";

let dashboard: DashboardPage;
let tab: Tab;
let page: Page;
const latencies: string[] = [];
/** How long the page rests at least between two re-reads; dashboard/data/use-query.ts has it, and runs in a browser only. */
const rereadMsMin = 250;
beforeAll(async () => {
  dashboard = await openDashboardPage();
  await dashboard.call("state_set", { key: "first", value: 0 });
  tab = await dashboard.open("/");
  ({ page } = tab);
  await settled(page);
});
afterAll(async () => {
  console.log(`from commit to screen: ${latencies.join(", ")}`);
  await tab?.[Symbol.asyncDispose]();
  await dashboard?.[Symbol.asyncDispose]();
});

const live = () => page.locator(".connection.live").waitFor();

/** What an agent does is on the page within a second, and the page was not loaded again for it. */
async function appears(what: string, text: string | RegExp, act: () => Promise<unknown>): Promise<void> {
  await live();
  await page.evaluate(() => Object.assign(globalThis, { stayed: true }));
  expect(await page.locator("main").getByText(text).count()).toBe(0);
  await act();
  const { ms, pace } = await atPace(() => page.locator("main").getByText(text).first().waitFor());
  latencies.push(`${what} ${ms.toFixed(0)} ms at pace ${pace.toFixed(1)}`);
  expect(ms).toBeLessThan(1_000 * pace);
  expect(await page.evaluate(() => "stayed" in globalThis)).toBe(true);
}

/** Stops the page's time a moment from now. A moment that has passed before the page is told is refused: then the next one is longer. */
async function stopTime(page: Page, aheadMs = 20): Promise<void> {
  await page.clock.pauseAt(await page.evaluate((ms) => Date.now() + ms, aheadMs)).catch(() => stopTime(page, aheadMs * 2));
}

describe("what agents do shows up within a second", () => {
  test("on the overview: the feed, the fleet and the counts", async () => {
    await visit(page, "/ns/default");
    const keys = page.locator(".tile", { hasText: "Keys" });
    const before = Number(/\d+/.exec((await keys.textContent()) ?? "")?.[0]);
    await appears("overview", "fresh/key", () => dashboard.call("state_set", { key: "fresh/key", value: 1, agent_id: "walker" }));
    await page.locator(".fleet").getByText("walker").waitFor();
    await keys.getByText(String(before + 1), { exact: true }).waitFor();
  });

  test("among the runs, and within one", async () => {
    await visit(page, "/ns/default/runs");
    await appears("runs", "sweep", () => dashboard.call("workflow_create", { name: "sweep", run_id: "sweep-1" }));
    await appears("claim", "broom", () => dashboard.call("workflow_claim", { run_id: "sweep-1", agent_id: "broom" }));
    await visit(page, "/ns/default/runs/sweep-1");
    await appears("step", "under the carpet", () => dashboard.call("workflow_checkpoint", { run_id: "sweep-1", step: 1, output: "under the carpet", agent_id: "broom" }));
    await appears("end", "spotless", () => dashboard.call("workflow_finish", { run_id: "sweep-1", status: "done", result: "spotless", agent_id: "broom" }));
  });

  test("among the leases: acquired, waited for and released", async () => {
    await visit(page, "/ns/default/leases");
    await appears("lease", "bridge", () => dashboard.call("lease_acquire", { resource_id: "bridge", holder_id: "goat", ttl_seconds: 60 }));
    const waiting = dashboard.call("lease_acquire", { resource_id: "bridge", holder_id: "troll", ttl_seconds: 60, wait_seconds: 20 });
    await page.getByText("1 in line").waitFor();
    await appears("hand-over", "troll", async () => {
      await dashboard.call("lease_release", { resource_id: "bridge", holder_id: "goat" });
      await waiting;
    });
    await dashboard.call("lease_release", { resource_id: "bridge", holder_id: "troll" });
    await page.getByText("Nothing is held").waitFor();
  });

  test("among the keys and in one key; a key that goes away goes away", async () => {
    await visit(page, "/ns/default/keys?prefix=nest/");
    await appears("keys", "nest/egg", () => dashboard.call("state_set", { key: "nest/egg", value: "whole" }));
    await appears("value", '"hatched"', () => dashboard.call("state_set", { key: "nest/egg", value: "hatched" }));
    await visit(page, "/ns/default/keys/nest%2Fegg");
    await appears("key", "Version 3 compared with 2", () => dashboard.call("state_set", { key: "nest/egg", value: "flown" }));
    await visit(page, "/ns/default/keys?prefix=nest/");
    await dashboard.call("state_delete", { key: "nest/egg" });
    await page.getByText("No key begins with this").waitFor();
  });

  test("in the journal, the notes, the research and the activity", async () => {
    await visit(page, "/ns/default/journal");
    await appears("journal", "Found the leak", () => dashboard.call("checkpoint", { action: "save", workspace: "plumbing", description: "Found the leak" }));
    await visit(page, "/ns/default/knowledge");
    await appears("note", "Pipes burst in frost", () => dashboard.call("save_knowledge", { id: "pipes", content: "Pipes burst in frost" }));
    await visit(page, "/ns/default/research");
    await appears("research", "Why is it cold?", () => dashboard.call("save_checkpoint", { core_question: "Why is it cold?", thesis: "The window is open.", confidence: 0.4 }));
    await visit(page, "/ns/default/activity");
    await appears("activity", "seen/now", () => dashboard.call("state_set", { key: "seen/now", value: 1 }));
    expect(tab.faults).toEqual([]);
  });
});

describe("the stream", () => {
  test("a burst of hundreds of changes causes few re-reads, and ends with the newest state", async () => {
    await visit(page, "/ns/default/keys?prefix=burst/");
    await live();
    let reads = 0;
    const count = (request: { url(): string }) => {
      if (request.url().includes("/api/ns/default/keys")) reads += 1;
    };
    page.on("request", count);
    const fromMs = performance.now();
    for (let round = 0; round < 4; round += 1)
      await Promise.all(Array.from({ length: 100 }, (_, index) => dashboard.call("state_set", { key: `burst/${index % 20}`, value: `${round}-${index}` })));
    await page.getByText("3-99").waitFor();
    page.off("request", count);
    expect(reads).toBeGreaterThan(0);
    // A page that reads again rests in between: however long the burst takes, there are no more re-reads in it than rests, and the one at each end.
    expect(reads).toBeLessThanOrEqual(Math.ceil((performance.now() - fromMs) / rereadMsMin) + 2);
    expect(tab.faults).toEqual([]);
  });

  test("cut off, the page says so, reconnects by itself, continues where it was and misses nothing", async () => {
    await using proxy = await FaultProxy.open(dashboard.server.port);
    await using cut = await dashboard.open("about:blank", { through: `http://127.0.0.1:${proxy.port}` });
    await cut.page.clock.install();
    await cut.page.goto("/ns/default/activity");
    await settled(cut.page);
    await cut.page.locator(".connection.live").waitFor();
    const streams: string[] = [];
    cut.page.on("request", (request) => request.url().includes("/events") && streams.push(request.url()));
    await proxy.set({ kind: "refuse" });
    await cut.page.getByText("Offline, again in").waitFor();
    await dashboard.call("state_set", { key: "while/away", value: 1 });
    // After some tries, none of which came through.
    await cut.page.getByText(/again in [3-9] s/).waitFor();
    expect(await cut.page.getByText("while/away").count()).toBe(0);
    // Its time stands still: what is asked for now is asked for because somebody wants it, and not because the wait is over.
    await stopTime(cut.page);
    await proxy.set({ kind: "pass" });
    const answered = cut.page.waitForResponse(/\/events/);
    await cut.page.getByRole("button", { name: "Try now" }).click();
    expect((await answered).status()).toBe(200);
    await cut.page.clock.resume();
    await cut.page.locator(".connection.live").waitFor();
    await cut.page.getByText("while/away").waitFor();
    expect(streams.every((url) => new URL(url).searchParams.has("after"))).toBe(true);
    expect(streams.length).toBeGreaterThan(1);
  });

  test("a hidden tab closes its connection, and catches up when it is shown again", async () => {
    await using hidden = await dashboard.open("about:blank");
    await hidden.page.clock.install();
    await hidden.page.goto("/ns/default/activity");
    await hidden.page.locator(".connection.live").waitFor();
    const look = (state: "hidden" | "visible") =>
      hidden.page.evaluate((now) => {
        Object.defineProperty(document, "visibilityState", { configurable: true, get: () => now });
        document.dispatchEvent(new Event("visibilitychange"));
      }, state);
    await look("hidden");
    await hidden.page.clock.fastForward(31_000);
    await hidden.page.locator(".connection.paused").waitFor();
    await dashboard.call("state_set", { key: "behind/the/back", value: 1 });
    await look("visible");
    await hidden.page.locator(".connection.live").waitFor();
    await hidden.page.clock.runFor(500);
    await hidden.page.getByText("behind/the/back").waitFor();
    expect(hidden.faults).toEqual([]);
  });

  test("a reader further down is not moved: new items wait behind a button", async () => {
    for (let index = 0; index < 80; index += 1) await dashboard.call("state_set", { key: "long/past", value: index });
    await visit(page, "/ns/default/activity");
    await live();
    await page.evaluate(() => scrollTo(0, 2_000));
    await drawn(page);
    const revision = () => page.locator('[data-row="60"] .mono').last().textContent();
    const before = await revision();
    await dashboard.call("state_set", { key: "unseen/yet", value: 1 });
    await page.getByRole("button", { name: "1 new change" }).waitFor();
    expect(await revision()).toBe(before);
    await page.getByRole("button", { name: "1 new change" }).click();
    await page.getByText("unseen/yet").waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(0);
  });
});
