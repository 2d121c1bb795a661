import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkAccessibility } from "./support/accessibility.ts";
import type { DashboardPage } from "./support/dashboard-page.ts";
import { openDashboardPage, settled, visit } from "./support/dashboard-page.ts";
import { fillDemoStore } from "./support/demo-store.ts";

let dashboard: DashboardPage;
const tokens = { read: "", write: "", admin: "" };
beforeAll(async () => {
  dashboard = await openDashboardPage({ flags: { auth: "token" }, fill: fillDemoStore });
  for (const role of ["read", "write", "admin"] as const)
    tokens[role] = await dashboard.server.token({ name: `a-${role}er`, role, namespaces: role === "admin" ? "*" : ["default"] });
});
afterAll(() => dashboard?.[Symbol.asyncDispose]());

/** What changes something. Themes, menus, filters and stepping through versions do not. */
const actions = /^(Release|Return|Cancel|New |Edit|Write again|Delete|Correct|Supersede|Deprecate|Archive|Make|Revoke)/;
const views = [
  "/ns/default",
  "/ns/default/runs/migrate-invoices-2026-11",
  "/ns/default/leases",
  "/ns/default/keys",
  "/ns/default/keys/config%2Ffeature-flags",
  "/ns/default/knowledge",
  "/ns/default/knowledge/deploy%2Frollback",
];

const buttonsOn = async (page: import("playwright-core").Page, path: string): Promise<readonly string[]> => {
  await visit(page, path);
  await page.locator("main .panel, main .table, main .cards").first().waitFor();
  const names = await page.locator("main button").evaluateAll((buttons) => buttons.map((button) => button.getAttribute("aria-label") ?? button.textContent ?? ""));
  return names.map((name) => name.trim()).filter((name) => actions.test(name));
};

describe("signing in", () => {
  test("without a token nothing is shown but the way in; a wrong one is refused; the right one leads to where one was going", async () => {
    await using tab = await dashboard.open("/ns/default/leases", { expects: [401] });
    const { page } = tab;
    await page.getByRole("heading", { name: "Holdfast" }).waitFor();
    expect(await page.locator("body").textContent()).not.toContain("deploy/production");
    expect((await checkAccessibility(page)).faults).toEqual([]);
    // Somebody who comes to paste a token can do so at once, and again after a wrong one.
    const inField = () => page.getByLabel("Token").evaluate((field) => field === document.activeElement);
    await expect.poll(inField).toBe(true);
    await page.getByLabel("Token").fill(`hf_${"x".repeat(43)}`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator(".field-error").getByText("This token is not valid.").waitFor();
    await expect.poll(inField).toBe(true);
    await page.getByLabel("Token").fill(tokens.write);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("deploy/production").first().waitFor();
    await page.locator(".person").getByText("a-writeer").waitFor();
    await page.locator(".connection.live").waitFor();
    expect(page.url()).not.toContain("hf_");
    expect(await page.evaluate(() => document.cookie + JSON.stringify(localStorage))).not.toContain("hf_");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.locator("body").textContent()).not.toContain("deploy/production");
    await expect.poll(() => page.evaluate(() => sessionStorage.length)).toBe(0);
    await page.reload();
    await page.getByLabel("Token").waitFor();
    expect(tab.faults).toEqual([]);
  });

  test("a token that is revoked while the page is open leads back to the way in", async () => {
    const secret = await dashboard.server.token({ name: "short-lived", role: "read", namespaces: ["default"] });
    await using tab = await dashboard.open("/ns/default/runs", { token: secret, expects: [401] });
    await settled(tab.page);
    const { tokens: all } = (await (await dashboard.server.fetch("/api/tokens", { token: tokens.admin })).json()) as { tokens: { id: string; name: string }[] };
    const id = all.find(({ name }) => name === "short-lived")?.id ?? "";
    expect((await dashboard.server.fetch(`/api/tokens/${id}`, { method: "DELETE", token: tokens.admin })).ok).toBe(true);
    await expect.poll(async () => (await dashboard.server.fetch("/api/me", { token: secret })).status).toBe(401);
    await tab.page.getByRole("link", { name: "Keys" }).click();
    await tab.page.getByText("Your token is no longer valid").waitFor();
    // The open stream is cut by the server, which the browser notes as a broken answer.
    expect(tab.faults.filter((fault) => !fault.includes("ERR_INCOMPLETE_CHUNKED_ENCODING"))).toEqual([]);
  });
});

describe("roles", () => {
  test("one who may write sees the buttons", async () => {
    await using tab = await dashboard.open("/", { token: tokens.write });
    await settled(tab.page);
    const seen = new Set<string>();
    for (const path of views) for (const name of await buttonsOn(tab.page, path)) seen.add(name.split(" ")[0] ?? "");
    expect([...seen].sort()).toEqual(["Archive", "Cancel", "Correct", "Delete", "Deprecate", "Edit", "New", "Release", "Return", "Supersede"]);
    await expect.poll(() => tab.page.getByRole("link", { name: "Tokens" }).count()).toBe(0);
    expect(tab.faults).toEqual([]);
  });

  test("a read-only viewer sees everything but no buttons, and the server refuses the same actions", async () => {
    await using tab = await dashboard.open("/", { token: tokens.read });
    const { page } = tab;
    await settled(page);
    await page.getByText("You have read-only access.").waitFor();
    for (const path of views) expect(await buttonsOn(page, path), path).toEqual([]);
    await visit(page, "/ns/default/try");
    const tools = await page.getByRole("combobox", { name: "Tool", exact: true }).locator("option").allTextContents();
    expect(tools).toContain("state_get");
    expect(tools).not.toContain("state_set");
    expect(tab.faults).toEqual([]);
    const before = JSON.stringify(await (await dashboard.server.fetch("/api/ns/default/leases", { token: tokens.read })).json());
    const lease = (JSON.parse(before) as { leases: { resource: string; token: number; holder: string }[] }).leases[0];
    const refused = await page.evaluate(
      async ({ resource, token, holder, secret }) => {
        const post = async (path: string, body: object) =>
          (await fetch(path, { method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${secret}` }, body: JSON.stringify(body) })).status;
        return [
          await post("/api/ns/default/leases/release", { resource, token }),
          await post("/api/ns/default/tools/lease_release", { resource_id: resource, holder_id: holder }),
          await post("/api/ns/default/tools/state_set", { key: "config/limits", value: 0 }),
          await post("/api/ns/default/runs/cancel", { runId: "nightly-index-0412" }),
          await post("/api/ns/default/notes/change", { name: "deploy/rollback", version: 2, status: "archived" }),
          await post("/api/tokens", { name: "mine", role: "admin", namespaces: "*" }),
        ];
      },
      { resource: lease?.resource ?? "", token: lease?.token ?? 0, holder: lease?.holder ?? "", secret: tokens.read },
    );
    expect(refused.every((status) => status === 403 || status === 404)).toBe(true);
    expect(await (await dashboard.server.fetch("/api/ns/default/key?key=config/limits", { token: tokens.read })).json()).toMatchObject({ version: 1 });
  });

  test("a namespace that was not granted says so instead of showing anything, and leads to one that was", async () => {
    await using tab = await dashboard.open("/ns/builds/keys", { token: tokens.read, expects: [403] });
    await tab.page.getByRole("alert").first().waitFor();
    await tab.page.locator(".connection.stopped").waitFor();
    expect(await tab.page.locator("main").textContent()).not.toContain("cache/warm");
    await tab.page.getByText("You cannot access builds").waitFor();
    await expect.poll(() => tab.page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    expect((await checkAccessibility(tab.page)).faults).toEqual([]);
    await tab.page.locator("main").getByRole("link", { name: "default" }).click();
    await tab.page.getByText("Commits per minute").waitFor();
    await tab.page.locator(".connection.live").waitFor();
    expect(tab.faults).toEqual([]);
  });
});

describe("a read-only server", () => {
  test("shows no buttons, also not to the operator", async () => {
    await using quiet = await openDashboardPage({ flags: { "read-only": true }, fill: fillDemoStore, browser: dashboard.browser });
    await using tab = await quiet.open("/");
    await settled(tab.page);
    await tab.page.getByText("This server is read-only.").waitFor();
    for (const path of [...views, "/tokens"]) expect(path === "/tokens" ? [] : await buttonsOn(tab.page, path), path).toEqual([]);
    expect(
      (await quiet.server.fetch("/api/ns/default/tools/state_set", { method: "POST", headers: { "content-type": "application/json" }, body: '{"key":"a","value":1}' })).ok,
    ).toBe(false);
    expect(tab.faults).toEqual([]);
  });
});
