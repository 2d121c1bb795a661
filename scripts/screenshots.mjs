// Pictures of every view in both themes and at phone width, over a real server with a demo store, into build/screenshots/.
// `node scripts/screenshots.mjs [PART OF A NAME …]` takes only those whose name contains one of the parts; `--docs` takes those of the documentation, into
// docs/images/. Everything is built from the sources.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { buildDashboard } from "./build-dashboard.mjs";
import { requireChromium } from "./test-services/chromium.mjs";
import { cachedFolder, unpackPackages } from "./test-services/debian-packages.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: flags, positionals: wanted } = parseArgs({ options: { docs: { type: "boolean", default: false } }, allowPositionals: true });
const target = flags.docs ? join(root, "docs", "images") : join(root, "build", "screenshots");

const views = {
  overview: "/ns/default",
  runs: "/ns/default/runs",
  run: "/ns/default/runs/migrate-invoices-2026-11",
  leases: "/ns/default/leases",
  effects: "/ns/default/effects",
  keys: "/ns/default/keys",
  folder: "/ns/default/keys?prefix=config/",
  key: "/ns/default/keys/config%2Ffeature-flags",
  journal: "/ns/default/journal",
  knowledge: "/ns/default/knowledge",
  note: "/ns/default/knowledge/deploy%2Frollback",
  research: "/ns/default/research",
  activity: "/ns/default/activity",
  search: "/ns/default/search?q=invoices",
  try: "/ns/default/try/state_set",
  tokens: "/tokens",
  health: "/ns/default/health",
  "no-run": "/ns/default/runs/nowhere",
  "empty-runs": "/ns/fresh/runs",
  "empty-overview": "/ns/fresh",
};
/** Actions before the picture is taken. */
const stories = {
  "dialog-cancel": ["/ns/default/runs/migrate-invoices-2026-11", (page) => page.getByRole("button", { name: "Cancel run" }).click()],
  "dialog-edit": ["/ns/default/keys/config%2Ffeature-flags", (page) => page.getByRole("button", { name: "Edit" }).click()],
  "dialog-release": ["/ns/default/leases", (page) => page.getByRole("button", { name: "Release deploy/production" }).click()],
  "dialog-resolve": ["/ns/default/effects", (page) => page.getByRole("button", { name: "Resolve payment-88" }).click()],
  "effect-detail": ["/ns/default/effects", (page) => page.getByRole("link", { name: "payment-88" }).click()],
  "dialog-key": ["/ns/default/keys", (page) => page.getByRole("button", { name: "New key" }).click()],
  "health-details": ["/ns/default/health", (page) => page.getByText("For the operator of the server").click()],
  "dialog-token": ["/tokens", (page) => page.getByRole("button", { name: "New token" }).click()],
  "research-detail": ["/ns/default/research", (page) => page.locator(".card-link").first().click()],
  "sign-in": ["/", (page) => signOut(page)],
};

const workplace = await mkdtemp(join(tmpdir(), "holdfast-screenshots-"));
try {
  await run();
} finally {
  await rm(workplace, { recursive: true, force: true });
}

async function run() {
  await mkdir(target, { recursive: true });
  const common = {
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    external: ["@photostructure/sqlite", "pg", "ioredis"],
    loader: { ".lua": "text" },
    logLevel: "warning",
    absWorkingDir: root,
  };
  const banner = { js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);' };
  // Inside the project, so that Node finds the drivers, which are not bundled.
  const built = join(root, "build", `screenshots.${process.pid}`);
  try {
    await build({
      ...common,
      entryPoints: [join(root, "src/main.ts"), join(root, "test/browser/support/demo-store.ts")],
      outdir: built,
      entryNames: "[name]",
      splitting: true,
      banner,
    });
    const store = `sqlite:${join(workplace, "demo.db")}`;
    const { fillDemoStore } = await import(pathToFileURL(join(built, "demo-store.js")));
    await fillDemoStore(store);
    await buildDashboard(join(built, "dashboard"));
    await takeAll(join(built, "main.js"), store);
  } finally {
    await rm(built, { recursive: true, force: true });
  }
}

async function takeAll(main, store) {
  const server = spawn(process.execPath, [main, "serve", "--port", "0", "--store", store], { stdio: ["ignore", "pipe", "pipe"] });
  let browser;
  try {
    const url = await addressOf(server);
    await enliven(url);
    const { path } = requireChromium();
    browser = await chromium.launch({ executablePath: path, env: { ...process.env, ...(await fonts()) }, chromiumSandbox: false });
    const shots = [
      ...Object.entries(views).map(([name, address]) => [name, address, undefined]),
      ...Object.entries(stories).map(([name, [address, act]]) => [name, address, act]),
    ].filter(([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
    if (flags.docs) return await takeForDocs(browser, url);
    for (const [size, viewport] of Object.entries({ wide: { width: 1280, height: 860 }, phone: { width: 360, height: 740 } }))
      for (const colorScheme of size === "phone" ? ["light"] : ["light", "dark"]) {
        const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor: size === "phone" ? 2 : 1, baseURL: url });
        const page = await context.newPage();
        page.on("console", (message) => message.type() === "error" && process.stdout.write(`  ${page.url()}: ${message.text()}\n`));
        page.on("pageerror", (error) => process.stdout.write(`  ${page.url()}: ${error.stack}\n`));
        for (const [name, address, act] of shots) await take(page, viewport, `${name}-${size}-${colorScheme}`, address, act);
        await context.close();
      }
  } finally {
    await browser?.close();
    server.kill();
    await once(server, "exit");
  }
}

/** As much as fits a window, small enough for a repository. */
async function takeForDocs(browser, url) {
  const viewport = { width: 1120, height: 720 };
  for (const [name, address, colorScheme] of [
    ["dashboard-overview", views.overview, "light"],
    ["dashboard-run", views.run, "dark"],
  ]) {
    const page = await (await browser.newContext({ viewport, colorScheme, baseURL: url })).newPage();
    await page.goto(address);
    await page.locator(".chart svg").first().waitFor();
    await page.waitForTimeout(350);
    await page.screenshot({ path: join(target, `${name}.png`) });
  }
}

/** A bare machine's system font is not the one that people see: pictures are taken with a similar one if it can be fetched. */
async function fonts() {
  const folder = cachedFolder("fonts");
  if (!existsSync(folder)) unpackPackages(folder, ["fonts-inter", "fonts-jetbrains-mono"], {});
  if (!existsSync(folder)) return {};
  const file = join(workplace, "fonts.conf");
  const alias = (family, prefer) => `<alias binding="same"><family>${family}</family><prefer><family>${prefer}</family></prefer></alias>`;
  const aliases = [alias("system-ui", "Inter"), alias("sans-serif", "Inter"), alias("monospace", "JetBrains Mono"), alias("ui-monospace", "JetBrains Mono")].join("");
  await writeFile(
    file,
    `<?xml version="1.0"?><fontconfig><dir>${join(folder, "usr/share/fonts")}</dir><dir>/usr/share/fonts</dir><cachedir>${join(workplace, "fonts")}</cachedir>${aliases}</fontconfig>\n`,
  );
  return { FONTCONFIG_FILE: file };
}

async function addressOf(server) {
  server.stderr.pipe(process.stderr);
  for await (const line of createInterface({ input: server.stdout })) {
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
    if (found !== null) return found[0];
  }
  throw new Error("The server ended before it printed its address.");
}

/** Things that only a running fleet shows: agents that wait in line, a token that was used, a recent change. */
async function enliven(url) {
  const post = (path, body) => fetch(`${url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const tool = (name, args) => post(`/api/ns/default/tools/${name}`, args);
  for (const holder of ["coder-1", "tester"])
    void tool("lease_acquire", { resource_id: "deploy/production", holder_id: holder, ttl_seconds: 60, wait_seconds: 55 }).catch(() => {});
  const day = 86_400_000;
  await post("/api/tokens", { name: "fleet", role: "write", namespaces: ["default"], expiresAtMs: Date.now() + 90 * day });
  await post("/api/tokens", { name: "ci", role: "write", namespaces: ["builds", "default"] });
  await post("/api/tokens", { name: "wallboard", role: "read", namespaces: "*", expiresAtMs: Date.now() + 6 * day });
  await tool("state_set", { key: "builds/482/status", value: "passed", agent_id: "tester" });
  await tool("workflow_checkpoint", { run_id: "nightly-index-0412", step: 7, output: { shard: 7, of: 16, documents: 437_500 }, agent_id: "indexer" });
}

async function take(page, viewport, name, address, act) {
  await page.goto(address);
  await page.locator("h1").waitFor();
  await page.waitForFunction(() => document.querySelector(".loading") === null);
  await act?.(page);
  // As tall as the view, so that sticky elements and those drawn only near the window are where people see them.
  if (act === undefined)
    await page.setViewportSize({
      width: viewport.width,
      height: Math.min(2_400, Math.max(viewport.height, await page.evaluate(() => document.querySelector("#page").scrollHeight))),
    });
  await page.waitForTimeout(350);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await page.screenshot({ path: join(target, `${name}.png`) });
  await page.setViewportSize(viewport);
  process.stdout.write(`${name}${wide > 0 ? `  scrolls sideways by ${wide} px` : ""}\n`);
}

async function signOut(page) {
  await page.route("**/api/me", (route) =>
    route.fulfill({ status: 401, contentType: "application/json", body: '{"error":{"code":"unauthenticated","message":"A token is needed."}}' }),
  );
  await page.goto("/");
  await page.getByLabel("Token").waitFor();
  await page.unroute("**/api/me");
}
