import type { ChildProcess } from "node:child_process";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Era } from "./inspector.ts";
import { openInspector } from "./inspector.ts";
import type { InstalledPackage } from "./installed-package.ts";
import { installPackage, requireService } from "./installed-package.ts";

const run = promisify(execFile);
const pythonStory = fileURLToPath(new URL("./python_http_story.py", import.meta.url));
const graphStory = fileURLToPath(new URL("./langgraph_story.mjs", import.meta.url));

let installed: InstalledPackage;
let server: ChildProcess;
let url: string;
let token: string;

/** The installed package serves, and callers need a token, as on a machine that others can reach. */
beforeAll(async () => {
  installed = await installPackage();
  const { holdfast } = installed;
  const store = ["--store", `sqlite:${join(installed.folder, "served", "holdfast.db")}`];
  ({ stdout: token } = await run(holdfast, ["token", "create", "--name", "story", "--role", "write", "--namespace", "team", ...store]));
  token = token.trim();
  const child = spawn(holdfast, ["serve", "--json", "--port", "0", "--auth", "token", "--profile", "all", ...store], { stdio: ["ignore", "pipe", "inherit"] });
  server = child;
  const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  url = JSON.parse(line).mcp_url;
});
afterAll(async () => {
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  expect((await ended)[0]).toBe(0);
  await installed.remove();
});

describe.each<Era>(["legacy", "modern"])("the served package and the official Inspector, %s era", (era) => {
  const open = (credential = token) => openInspector(installed, era, ["--transport", "http", "--server-url", url, "--header", `Authorization: Bearer ${credential}`]);

  test("lists its tools without a portability error", async () => {
    const inspector = await open();
    const { exitCode, result, stderr } = await inspector.inspect("--method", "tools/list", "--strict");
    expect(stderr).toMatch(/\b0 errors\b/);
    expect(exitCode).toBe(0);
    expect(result.tools.map(({ name }: { name: string }) => name)).toContain("workflow_claim");
  });

  test("a call sent again with its request key has one effect, under the token's name", async () => {
    const inspector = await open();
    const send = () => inspector.call("state_set", { key: `counter-${era}`, value: { n: 1 } }, `key-${era}`);
    const first = await send();
    expect(await send()).toEqual(first);
    const { result } = await inspector.inspect("--method", "resources/read", "--uri", `holdfast://state/counter-${era}`);
    expect(JSON.parse(result.contents[0].text)).toMatchObject({ version: 1, updated_by: "story" });
  });

  test("a wrong token is refused", async () => {
    const inspector = await open(`hf_${"x".repeat(43)}`);
    expect((await inspector.inspect("--method", "tools/list")).exitCode).not.toBe(0);
  });
});

describe.each([
  { mode: "legacy", speaks: "2025-11-25" },
  { mode: "2026-07-28", speaks: "2026-07-28" },
])("the served package and the official Python client, mode $mode", ({ mode, speaks }) => {
  // biome-ignore lint/suspicious/noExplicitAny: facts are looked into freely
  let facts: any;
  beforeAll(async () => {
    const python = await requireService("python-client.mjs");
    const { stdout } = await run(python, [pythonStory, url, token, mode]);
    facts = JSON.parse(stdout);
  });

  test("they agree on the protocol", () => {
    expect(facts.protocol_version).toBe(speaks);
    expect(facts.tools).toContain("workflow_claim");
  });

  test("a call sent again with its request key has one effect, under the token's name", () => {
    expect(facts.twice[0]).toMatchObject({ ok: true, version: 1 });
    expect(facts.twice[1]).toEqual(facts.twice[0]);
    expect(facts.read).toMatchObject({ found: true, version: 1, updated_by: "story" });
    expect(facts.wrong.error.code).toBe("not_found");
  });

  test("it is notified of another client's changes", () => {
    expect(facts.heard).toBe(`holdfast://state/watched-${mode}`);
  });

  test("it stops waiting, and continues", () => {
    expect(facts.gave_up).toBe("cancelled");
    expect(facts.after).toEqual(facts.read);
  });
});

describe("the served package and LangGraph", () => {
  interface Answer {
    readonly status: string;
    readonly text: string;
  }
  let facts: Readonly<Record<string, readonly Answer[]>> & { readonly tools: readonly string[] };
  beforeAll(async () => {
    const adapter = await requireService("langgraph.mjs");
    const { stdout } = await run(process.execPath, [graphStory, adapter, url, token]);
    facts = JSON.parse(stdout);
  });
  // The adapter hands a model the text and the structured content together.
  const structured = (name: string) => (facts[name] as readonly Answer[]).map(({ text }) => JSON.parse(text).structuredContent);

  test("a graph's tool node is made of the server's tools and calls them, several at once too", () => {
    expect(facts.tools).toContain("state_set");
    expect(structured("together")).toMatchObject([
      { ok: true, key: "graph/a" },
      { ok: true, key: "graph/b" },
    ]);
    expect(structured("read")).toMatchObject([{ found: true, value: { n: 1 }, updated_by: "story" }]);
  });

  test("it claims a run and reports a step, and sees a refusal as an error with a code", () => {
    expect(structured("claimed")).toMatchObject([{ claimed: true, agent_id: "graph" }]);
    expect(structured("step")).toMatchObject([{ ok: true, last_step: 1 }]);
    expect(facts.wrong).toMatchObject([{ status: "error", text: expect.stringContaining("not_found") }]);
  });
});
