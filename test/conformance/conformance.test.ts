import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HttpServer } from "../support/http-server.ts";
import { startHttpServer } from "../support/http-server.ts";
import { conformanceFixtures } from "./fixtures.ts";
import type { Verdict } from "./run-suite.ts";
import { runSuite } from "./run-suite.ts";

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
