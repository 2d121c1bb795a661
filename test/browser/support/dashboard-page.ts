import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromium } from "playwright-core";
import type { HttpServer } from "../../support/http-server.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { projectRoot } from "../../support/servers/server-programs.ts";
import { sharedBuild } from "../../support/shared-builds.ts";
import { patienceMs } from "../../support/soon.ts";

const run = promisify(execFile);

export interface OpenOptions extends Pick<BrowserContextOptions, "colorScheme" | "viewport" | "reducedMotion"> {
  /** Signed in with this token; left out: the operator of this machine, or the sign-in view. */
  readonly token?: string;
  /** By this address instead of the server's own: something in between. */
  readonly through?: string;
  /** Answers of the server that this test means to cause: the browser logs each as an error. */
  readonly expects?: readonly number[];
}

/** A tab, and everything in it that must not happen. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  /** Errors in the console, thrown errors, requests to other places, violations of the content security policy. */
  readonly faults: readonly string[];
}

/** A real server with the page, and a real browser in front of it. */
export interface DashboardPage extends AsyncDisposable {
  readonly server: HttpServer;
  /** The URL of the server's store, for what need not go through the server. */
  readonly store: string;
  readonly browser: Browser;
  open(path: string, options?: OpenOptions): Promise<Tab>;
  /** One call of a tool, as an agent makes it over MCP; its answer. */
  call(tool: string, args: Readonly<Record<string, unknown>>, token?: string): Promise<Record<string, unknown>>;
}

export interface DashboardPageOptions {
  readonly flags?: Readonly<Record<string, string | boolean>>;
  /** Fills the store before the server opens it. */
  fill?(storeUrl: string): Promise<void>;
  /** Of another page; omitted: its own. */
  readonly browser?: Browser;
}

export async function openDashboardPage({ flags = {}, fill, browser: shared }: DashboardPageOptions = {}): Promise<DashboardPage> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-browser-"));
  const store = `sqlite:${join(folder, "store.db")}`;
  const [executablePath, dashboardFolder] = await Promise.all([findChromium(), sharedBuild("page"), fill?.(store)]);
  const server = await startHttpServer({ flags: { store, ...flags }, dashboardFolder });
  const browser = shared ?? (await chromium.launch({ executablePath, chromiumSandbox: false }));
  return {
    server,
    store,
    browser,
    open: (path, options = {}) => openTab(browser, options.through ?? server.url, path, options),
    async call(tool, args, token) {
      const { result, error } = (await server.callTool(tool, args, { token })) as { result?: { isError?: boolean; structuredContent: Record<string, unknown> }; error?: unknown };
      if (result === undefined || result.isError === true) throw new Error(`${tool}: ${JSON.stringify(result?.structuredContent ?? error)}`);
      return result.structuredContent;
    },
    async [Symbol.asyncDispose]() {
      if (shared === undefined) await browser.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

let chromiumPath: Promise<string> | undefined;

/** Looked for once in each process. */
function findChromium(): Promise<string> {
  chromiumPath ??= run(process.execPath, [join(projectRoot, "scripts", "test-services", "chromium.mjs")]).then(({ stdout }) => stdout.trim().split("\n").at(-1) ?? "");
  return chromiumPath;
}

async function openTab(browser: Browser, url: string, path: string, { token, expects = [], through: _, ...options }: OpenOptions): Promise<Tab> {
  const context = await browser.newContext({ baseURL: url, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    const status = /status of (\d+)/.exec(message.text())?.[1];
    if (message.type() === "error" && !(status !== undefined && expects.includes(Number(status)))) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`thrown: ${error.message}`));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) faults.push(`request off the origin: ${request.url()}`);
  });
  await page.exposeFunction("reportViolation", (what: string) => faults.push(`policy: ${what}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      (globalThis as unknown as { reportViolation(what: string): void }).reportViolation(`${violatedDirective} ${blockedURI}`);
    });
  });
  if (token !== undefined) await page.addInitScript((secret) => sessionStorage.setItem("holdfast-token", secret), token);
  page.setDefaultTimeout(patienceMs);
  await page.goto(path);
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
}

/** Goes to a view as a link does: the page stays. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate((address) => {
    history.pushState({ key: address }, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
  }, path);
  await settled(page);
}

/** What was done to the page before this is drawn: a change of its size, a scroll. */
export const drawn = (page: Page): Promise<void> => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))));

/** The view is drawn and nothing of it is still being read. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".loading") === null);
}
