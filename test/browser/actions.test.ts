import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { checkAccessibility } from "./support/accessibility.ts";
import type { DashboardPage, Tab } from "./support/dashboard-page.ts";
import { openDashboardPage, visit } from "./support/dashboard-page.ts";

let dashboard: DashboardPage;
let tab: Tab;
let page: Page;
let person: string;
beforeAll(async () => {
  dashboard = await openDashboardPage();
  person = ((await (await dashboard.server.fetch("/api/me")).json()) as { principal: string }).principal;
  tab = await dashboard.open("/", { expects: [409] });
  ({ page } = tab);
});
afterAll(async () => {
  await tab?.[Symbol.asyncDispose]();
  await dashboard?.[Symbol.asyncDispose]();
});
let faultsBefore: number;
beforeEach(async () => {
  faultsBefore = tab.faults.length;
  await page.setViewportSize({ width: 1280, height: 800 });
});

/** Of this test alone. */
const faults = () => tab.faults.slice(faultsBefore);

const dialog = () => page.getByRole("dialog");
const confirm = (name: string) => dialog().getByRole("button", { name }).click();
const gone = () => dialog().waitFor({ state: "detached" });
const history = async (subject: string) =>
  (
    (await (await dashboard.server.fetch(`/api/ns/default/activity?subject=${encodeURIComponent(subject)}`)).json()) as {
      items: { operation: string; writer: string; subject: string }[];
    }
  ).items;

describe("what a person does", () => {
  test("releasing a lease names what happens, takes it from its holder and is recorded under the person's name", async () => {
    const held = await dashboard.call("lease_acquire", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 600 });
    await visit(page, "/ns/default/leases");
    await page.getByRole("button", { name: "Release deploy" }).click();
    await dialog().getByText("worker-1 loses deploy at once").waitFor();
    expect((await checkAccessibility(page)).faults).toEqual([]);
    await confirm("Release the lease");
    await gone();
    await page.getByRole("button", { name: "Release deploy" }).waitFor({ state: "detached" });
    expect(await dashboard.call("lease_renew", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 60, token: held.token })).toMatchObject({ renewed: false });
    expect((await history("deploy"))[0]).toMatchObject({ writer: person });
    expect(faults()).toEqual([]);
  });

  test("a lease that changed hands meanwhile is left alone, and the dialog says so", async () => {
    await dashboard.call("lease_acquire", { resource_id: "gpu", holder_id: "worker-1", ttl_seconds: 600 });
    await visit(page, "/ns/default/leases");
    await page.getByRole("button", { name: "Release gpu" }).click();
    await dashboard.call("lease_release", { resource_id: "gpu", holder_id: "worker-1" });
    await dashboard.call("lease_acquire", { resource_id: "gpu", holder_id: "worker-2", ttl_seconds: 600 });
    await confirm("Release the lease");
    await dialog().getByText("Meanwhile worker-1 no longer holds it").waitFor();
    await confirm("Keep as it is");
    await page.getByRole("row", { name: "gpu" }).getByRole("cell", { name: "worker-2" }).waitFor();
    await dashboard.call("lease_release", { resource_id: "gpu", holder_id: "worker-2" });
  });

  test("returning a run takes it from its agent, which is then refused, and keeps its steps", async () => {
    await dashboard.call("workflow_create", { name: "index", run_id: "index-1" });
    await dashboard.call("workflow_claim", { run_id: "index-1", agent_id: "worker-1" });
    await dashboard.call("workflow_checkpoint", { run_id: "index-1", step: 1, output: { shard: 1 }, agent_id: "worker-1" });
    await visit(page, "/ns/default/runs/index-1");
    await page.getByRole("button", { name: "Return" }).click();
    await dialog().getByText("worker-1 loses its claim on index").waitFor();
    await confirm("Return the run");
    await gone();
    await page.locator(".timeline").getByText("returned", { exact: true }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Return" }).count()).toBe(0);
    await expect(dashboard.call("workflow_checkpoint", { run_id: "index-1", step: 2, output: {}, agent_id: "worker-1", token: 1 })).rejects.toThrow();
    expect(await dashboard.call("workflow_claim", { run_id: "index-1", agent_id: "worker-2" })).toMatchObject({ claimed: true });
    await page
      .getByText("taken over")
      .or(page.getByText("claimed", { exact: true }))
      .first()
      .waitFor();
    expect(faults()).toEqual([]);
  });

  test("cancelling a run ends it, with the reason that was given", async () => {
    await dashboard.call("workflow_create", { name: "index", run_id: "index-2" });
    await dashboard.call("workflow_claim", { run_id: "index-2", agent_id: "worker-2" });
    await visit(page, "/ns/default/runs/index-2");
    await page.locator(".facts").getByText("worker-2").waitFor();
    await page.getByRole("button", { name: "Cancel run" }).click();
    await dialog().getByLabel("Why (optional)").fill("not needed any more");
    await confirm("Cancel the run");
    await gone();
    await page.getByText("cancelled", { exact: true }).first().waitFor();
    await page.getByText("not needed any more").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Cancel run" }).count()).toBe(0);
    expect(await dashboard.call("workflow_status", { run_id: "index-2" })).toMatchObject({ status: "cancelled" });
    expect(faults()).toEqual([]);
  });

  test("a key is created, edited and deleted, each a version under the person's name", async () => {
    await visit(page, "/ns/default/keys");
    await page.getByRole("button", { name: "New key" }).click();
    await confirm("Cancel");
    await gone();
    await page.getByRole("button", { name: "New key" }).click();
    // Why it cannot be done yet is said, to the eye and of the button.
    const create = dialog().getByRole("button", { name: "Create the key" });
    const why = () => create.evaluate((button) => document.getElementById(button.getAttribute("aria-describedby") ?? "")?.textContent);
    await dialog().getByText("A name for the key is still missing.").waitFor();
    expect([await why(), await create.getAttribute("aria-disabled")]).toEqual(["A name for the key is still missing.", "true"]);
    await dialog().getByLabel("Key").fill("team/motto");
    await dialog().getByText("A value is still missing.").waitFor();
    await dialog().getByLabel("Key").press("Enter");
    await dialog().getByLabel("Value (JSON)").fill("not json");
    await dialog().getByText("This is not JSON").waitFor();
    await dialog().getByText("The value is not JSON yet.").waitFor();
    await dialog().getByLabel("Value (JSON)").fill('{"text": "slow is smooth"}');
    await confirm("Create the key");
    await page.getByRole("heading", { name: "team/motto" }).waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await dialog().getByLabel("Value (JSON)").fill('{"text": "smooth is fast"}');
    await dialog().getByLabel("Expires").selectOption("seconds");
    await dialog().getByLabel("Seconds", { exact: true }).fill("3600");
    await confirm("Save the value");
    await gone();
    await page.getByText("Version 2 compared with 1").waitFor();
    await page
      .locator(".facts")
      .getByText(/in 59 min|in 1 h/)
      .waitFor();
    expect(await dashboard.call("state_get", { key: "team/motto" })).toMatchObject({ value: { text: "smooth is fast" }, version: 2, updated_by: person });
    await page.getByRole("button", { name: "Delete" }).click();
    await dialog().getByText("is removed at version 2").waitFor();
    await confirm("Delete the key");
    await page.getByText("There is no such key now").waitFor();
    expect(await dashboard.call("state_get", { key: "team/motto" })).toMatchObject({ found: false });
    expect((await history("team/motto")).every(({ writer }) => writer === person)).toBe(true);
    expect(faults()).toEqual([]);
  });

  test("an edit that loses against another writes nothing, shows the change, and can be tried again", async () => {
    await dashboard.call("state_set", { key: "limits", value: { rate: 10 } });
    await visit(page, "/ns/default/keys/limits");
    await page.getByRole("button", { name: "Edit" }).click();
    await dialog().getByLabel("Value (JSON)").fill('{"rate": 99}');
    await dashboard.call("state_set", { key: "limits", value: { rate: 20 }, agent_id: "planner" });
    await confirm("Save the value");
    await dialog().getByText("wrote version 2, so nothing was written").waitFor();
    await dialog().getByText('"rate": 20').waitFor();
    expect(await dashboard.call("state_get", { key: "limits" })).toMatchObject({ value: { rate: 20 }, version: 2 });
    await confirm("Save the value");
    await gone();
    expect(await dashboard.call("state_get", { key: "limits" })).toMatchObject({ value: { rate: 99 }, version: 3 });
    expect(faults()).toEqual([]);
  });

  test("an expiry that is kept is not lost by an edit", async () => {
    await dashboard.call("state_set", { key: "lock", value: 1, ttl_seconds: 3_000 });
    await visit(page, "/ns/default/keys/lock");
    await page.getByRole("button", { name: "Edit" }).click();
    await dialog().getByLabel("Value (JSON)").fill("2");
    await confirm("Save the value");
    await gone();
    const { expires_at: expiresAt } = (await dashboard.call("state_get", { key: "lock" })) as { expires_at: number };
    expect(expiresAt - Date.now() / 1_000).toBeGreaterThan(2_900);
    expect(expiresAt - Date.now() / 1_000).toBeLessThanOrEqual(3_000);
  });

  test("versions are stepped through with their differences, by buttons and by arrow keys", async () => {
    for (const rate of [1, 2, 3]) await dashboard.call("state_set", { key: "steps", value: { rate } });
    await visit(page, "/ns/default/keys/steps");
    await page.getByText("Version 3 compared with 2").waitFor();
    await page.getByRole("button", { name: "Older", exact: true }).click();
    await page.getByText("Version 2 compared with 1").waitFor();
    await expect.poll(() => page.locator(".diff-line.added").allTextContents()).toEqual([expect.stringContaining('"rate": 2')]);
    await expect.poll(() => page.locator(".diff-line.removed").allTextContents()).toEqual([expect.stringContaining('"rate": 1')]);
    await page.locator(".version").first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.locator(".version-steps").getByText("Version 1").waitFor();
    await page.getByText("Whole").click();
    await page.getByLabel("Value of version 1").getByText("1").waitFor();
  });

  test("a note is corrected without losing its keywords, deprecated, made active, archived and superseded", async () => {
    await dashboard.call("save_knowledge", { id: "deploy", content: "# Deploying\n\nPush the buton.", keywords: ["ship", "release"], source: "manual" });
    await visit(page, "/ns/default/knowledge/deploy");
    await page.getByRole("button", { name: "Correct" }).click();
    await dialog().getByLabel("Note (Markdown)").fill("# Deploying\n\nPush the button.");
    await confirm("Save the note");
    await gone();
    await page.getByText("Push the button.").first().waitFor();
    await page.locator(".facts").getByText("ship, release").waitFor();
    for (const [button, action, status] of [
      ["Deprecate", "Deprecate the note", "deprecated"],
      ["Make active", "Make it active", "active"],
      ["Archive", "Archive the note", "archived"],
    ] as const) {
      await page.getByRole("button", { name: button }).click();
      await confirm(action);
      await gone();
      await page.locator(".facts .badge").getByText(status, { exact: true }).waitFor();
    }
    await page.getByRole("button", { name: "Supersede" }).click();
    await dialog().getByLabel("Id").fill("deploy/v2");
    await dialog().getByLabel("Note (Markdown)").fill("# Deploying\n\nIt deploys itself.");
    await confirm("Save the note");
    await page.getByText("It deploys itself.").first().waitFor();
    await page.locator(".facts").getByRole("link", { name: "deploy" }).click();
    await page.locator(".facts").getByText("deprecated").or(page.locator(".facts").getByText("archived")).first().waitFor();
    await page.locator(".facts").getByRole("link", { name: "deploy/v2" }).waitFor();
    expect(faults()).toEqual([]);
  });

  test("a note that was corrected in the meantime is not overwritten unseen", async () => {
    await dashboard.call("save_knowledge", { id: "race", content: "one", keywords: ["start"] });
    await visit(page, "/ns/default/knowledge/race");
    await page.getByRole("button", { name: "Correct" }).click();
    await dialog().getByLabel("Note (Markdown)").fill("mine");
    await dashboard.call("save_knowledge", { id: "race", content: "theirs" });
    await confirm("Save the note");
    await dialog().getByText("so nothing was changed").waitFor();
    await dialog().locator(".diff").getByText("theirs").waitFor();
    await confirm("Close without saving");
    await page.locator(".prose").getByText("theirs").waitFor();
  });

  test("any tool is called from a form made of its schema, or as JSON; errors are shown with their code", async () => {
    await visit(page, "/ns/default/try/state_set");
    await page.getByRole("button", { name: "Call state_set" }).click();
    await page.getByText("Required.").first().waitFor();
    await page.getByLabel("key (required)").fill("tried");
    await page.getByLabel("value (required)").fill('{"from": "form"}');
    await page.getByText("JSON", { exact: true }).click();
    expect(JSON.parse(await page.getByLabel("Arguments (JSON)").inputValue())).toEqual({ key: "tried", value: { from: "form" } });
    await page.getByRole("button", { name: "Call state_set" }).click();
    await page.getByLabel("Answer of the tool").getByText('"version"').waitFor();
    expect(await dashboard.call("state_get", { key: "tried" })).toMatchObject({ value: { from: "form" }, updated_by: person });
    await page.getByLabel("Arguments (JSON)").fill('{"key": "tried", "value": 1, "nonsense": true}');
    await page.getByRole("button", { name: "Call state_set" }).click();
    await page.getByText("invalid_input").waitFor();
    await visit(page, "/ns/default/try/state_delete");
    await page.getByLabel("key (required)").fill("tried");
    await page.getByRole("button", { name: "Call state_delete" }).click();
    await dialog().getByText("this tool removes data").waitFor();
    await confirm("Call state_delete");
    await page.getByLabel("Answer of the tool").getByText("true").waitFor();
    expect(await dashboard.call("state_get", { key: "tried" })).toMatchObject({ found: false });
    expect(faults().filter((fault) => !fault.includes("400"))).toEqual([]);
  });

  test("every tool has a form", async () => {
    await visit(page, "/ns/default/try");
    await page.getByRole("combobox", { name: "Tool", exact: true }).waitFor();
    const names = await page.getByRole("combobox", { name: "Tool", exact: true }).locator("option").allTextContents();
    expect(names.length).toBeGreaterThan(25);
    for (const name of names) {
      await page.getByRole("combobox", { name: "Tool", exact: true }).selectOption(name);
      await page.getByRole("button", { name: `Call ${name}` }).waitFor();
    }
  });

  test("a token is made, its secret shown once, used and revoked", async () => {
    await visit(page, "/tokens");
    await page.getByRole("button", { name: "New token" }).click();
    await dialog().getByText("A name is still missing.").waitFor();
    await expect.poll(() => dialog().getByRole("button", { name: "Cancel" }).count()).toBe(1);
    await dialog().getByLabel("Name", { exact: true }).fill("nightly");
    await dialog().getByLabel("Role").selectOption("read");
    await dialog().getByLabel("Expires").selectOption("7");
    await confirm("Create the token");
    const secret = (await dialog().locator(".secret code").textContent()) ?? "";
    expect(secret).toMatch(/^hf_/);
    expect((await checkAccessibility(page)).faults).toEqual([]);
    await confirm("I have copied it");
    await gone();
    await expect.poll(() => page.content()).not.toContain(secret);
    expect((await dashboard.server.fetch("/api/me", { token: secret })).status).toBe(200);
    await page.getByRole("button", { name: "Revoke nightly" }).click();
    await confirm("Revoke the token");
    await page.getByText("No tokens yet").waitFor();
    await expect.poll(async () => (await dashboard.server.fetch("/api/me", { token: secret })).status).toBe(401);
    expect(faults()).toEqual([]);
  });
});

describe("by keyboard alone", () => {
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.getAttribute("aria-label") || document.activeElement?.tagName);

  beforeAll(async () => {
    for (let index = 0; index < 60; index += 1) await dashboard.call("state_set", { key: `walk/${String(index).padStart(2, "0")}`, value: index });
  });

  test("the first key leads past the navigation, a slash to the search, and a list is walked by arrows", async () => {
    await page.goto("/ns/default/keys?prefix=walk/");
    await page.getByText("60 keys").waitFor();
    await page.keyboard.press("Tab");
    await expect.poll(() => focused()).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
    await page.keyboard.press("/");
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Search everything");
    await page.keyboard.press("Escape");
    await page.locator(".row-link").first().focus();
    for (let step = 0; step < 45; step += 1) await page.keyboard.press("ArrowDown");
    await expect.poll(focused).toBe("walk/45");
    await page.keyboard.press("End");
    await expect.poll(focused).toBe("walk/59");
    await page.keyboard.press("Home");
    await expect.poll(focused).toBe("walk/00");
    await page.keyboard.press("ArrowDown");
    await expect.poll(focused).toBe("walk/01");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "walk/01" }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
  });

  test("a dialog keeps the focus, closes with Escape and gives the focus back", async () => {
    await visit(page, "/ns/default/keys/walk%2F01");
    await page.getByRole("button", { name: "Delete" }).focus();
    await page.keyboard.press("Enter");
    await dialog().waitFor();
    for (let step = 0; step < 8; step += 1) {
      await page.keyboard.press("Tab");
      expect(await page.evaluate(() => document.activeElement === document.body || document.activeElement?.closest("dialog") !== null)).toBe(true);
    }
    await page.keyboard.press("Escape");
    await gone();
    await expect.poll(focused).toBe("Delete");
    expect(await dashboard.call("state_get", { key: "walk/01" })).toMatchObject({ found: true });
  });

  test("what has the focus can be seen", async () => {
    await visit(page, "/ns/default/keys?prefix=walk/");
    const outlines: string[] = [];
    await page.locator(".brand").focus();
    for (let step = 0; step < 14; step += 1) {
      await page.keyboard.press("Tab");
      outlines.push(
        await page.evaluate(() => {
          const element = document.activeElement as HTMLElement;
          const shown = [element, element.closest(".table-row"), element.closest("label")].some((each) => each !== null && getComputedStyle(each).outlineStyle !== "none");
          return shown ? "" : element.outerHTML.slice(0, 80);
        }),
      );
    }
    expect(outlines.filter((text) => text !== "")).toEqual([]);
  });

  test("on a phone the menu opens, closes with Escape, and leads to a view", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await visit(page, "/ns/default/runs");
    const menu = page.getByRole("button", { name: "Menu" });
    await expect.poll(() => page.getByRole("link", { name: "Journal" }).isVisible()).toBe(false);
    await menu.click();
    await page.getByRole("link", { name: "Journal" }).waitFor();
    expect((await checkAccessibility(page)).faults).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Journal" }).waitFor({ state: "hidden" });
    await menu.click();
    await page.getByRole("link", { name: "Journal" }).click();
    await page.getByRole("heading", { name: "Journal" }).waitFor();
    await expect.poll(() => page.getByRole("link", { name: "Knowledge" }).isVisible()).toBe(false);
  });

  test("on a phone every dialog fits its width", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await dashboard.call("lease_acquire", { resource_id: "narrow", holder_id: "worker-1", ttl_seconds: 600 });
    await dashboard.call("state_set", { key: "narrow", value: 1 });
    await dashboard.call("save_knowledge", { id: "narrow", content: "one" });
    for (const [path, button] of [
      ["/tokens", "New token"],
      ["/ns/default/keys", "New key"],
      ["/ns/default/keys/narrow", "Edit"],
      ["/ns/default/knowledge/narrow", "Supersede"],
      ["/ns/default/leases", "Release narrow"],
    ] as const) {
      await visit(page, path);
      await page.getByRole("button", { name: button }).click();
      await dialog().waitFor();
      expect(
        await dialog().evaluate((element) => [element, ...element.querySelectorAll("footer, .dialog-body")].map((part) => part.scrollWidth - part.clientWidth)),
        button,
      ).toEqual([0, 0, 0]);
      const edges = await dialog().evaluate((element) =>
        [...element.querySelectorAll("button")].map((each) => each.getBoundingClientRect()).every(({ left, right }) => left >= 0 && right <= innerWidth),
      );
      expect(edges, button).toBe(true);
      await page.keyboard.press("Escape");
      await gone();
    }
  });
});
