import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requireService } from "../stories/installed-package.ts";
import type { HttpServer } from "../support/http-server.ts";
import { startHttpServer } from "../support/http-server.ts";
import { conformanceFixtures } from "./fixtures.ts";

interface Verdict {
  readonly exitCode: number | null;
  /** Scenarios that count, by name: did all their checks pass? */
  readonly scored: ReadonlyMap<string, boolean>;
  readonly output: string;
}

let node: string;
let suite: string;
beforeAll(async () => {
  [node, suite] = await Promise.all([requireService("node24.mjs"), requireService("conformance.mjs")]);
});

/** One run of the official suite against a server; it says itself which scenarios count. */
async function runSuite({ url }: HttpServer, requirements: string): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-conformance-"));
  try {
    const child = spawn(node, [suite, "server", "--url", `${url}/mcp`, "--requirements", requirements], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    const [exitCode] = (await once(child, "close")) as [number | null];
    return { exitCode, scored: scoresIn(output), output };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function scoresIn(output: string): ReadonlyMap<string, boolean> {
  const all = output.matchAll(/^([✓✗]) ([\w-]+): \d+ passed, (\d+) failed$/gm);
  const unscored = new Set([...output.matchAll(/^ {2}[✓✗] ([\w-]+) \([\w-]+\)$/gm)].map(([, name]) => name));
  return new Map([...all].filter(([, , name]) => !unscored.has(name)).map(([, mark, name, failed]) => [name as string, mark === "✓" && failed === "0"]));
}

describe.each([
  { requirements: "2025-11-25", scenarios: 30 },
  { requirements: "2026-07-28", scenarios: 37 },
])("the official conformance suite, what $requirements requires", ({ requirements, scenarios }) => {
  const paths = [{ fastPath: true }, { fastPath: false }];
  let verdicts: Verdict[];
  beforeAll(async () => {
    const servers = await Promise.all(paths.map((path) => startHttpServer({ mcp: { ...path, fixtures: conformanceFixtures } })));
    verdicts = await Promise.all(servers.map((server) => runSuite(server, requirements)));
    await Promise.all(servers.map((server) => server.stop()));
  });

  test.each(paths.map(({ fastPath }, i) => ({ fastPath, i })))("is met by every scenario (fast path: $fastPath)", ({ fastPath, i }) => {
    const { exitCode, scored, output } = verdicts[i] as Verdict;
    const passed = [...scored.values()].filter(Boolean).length;
    process.stdout.write(`conformance ${requirements}, fast path ${fastPath ? "on" : "off"}: ${passed}/${scored.size}\n`);
    expect(
      [...scored].filter(([, ok]) => !ok).map(([name]) => name),
      output,
    ).toEqual([]);
    expect(scored.size).toBe(scenarios);
    expect(exitCode).toBe(0);
  });
});

describe("the judgement", () => {
  let broken: HttpServer;
  beforeAll(async () => {
    // Lists nothing beside the product's own and answers nothing else.
    broken = await startHttpServer({ mcp: { fixtures: { ...conformanceFixtures, elsewhere: [], extend: () => {} } } });
  });
  afterAll(() => broken.stop());

  test("finds a server wanting that lacks what the suite calls", async () => {
    const { exitCode, scored } = await runSuite(broken, "2026-07-28");
    expect(scored.size).toBe(37);
    expect(scored.get("tools-call-simple-text")).toBe(true);
    expect(scored.get("tools-call-image")).toBe(false);
    expect(exitCode).not.toBe(0);
  });
});
