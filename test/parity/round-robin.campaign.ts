import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { WorkerCommand } from "../../src/verify/worker-process.ts";
import { engineNamed, sharedEngines } from "../support/engines.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { auditServers } from "../support/kill-server/audit.ts";
import type { Program } from "../support/mcp-process.ts";
import { buildProgram } from "../support/mcp-process.ts";
import { workersDir } from "../support/worker-build.ts";
import { RoundRobin } from "./round-robin.ts";
import { tellThroughTwoServers } from "./two-servers-story.ts";

const killEvery = 8;

let program: Program;
beforeAll(async () => {
  program = await buildProgram();
});
afterAll(() => program?.[Symbol.asyncDispose]());

/** The story through two servers, then the audit of what they left, by a connection of its own. */
async function tellAndAudit(url: string, command: WorkerCommand) {
  const two = new RoundRobin(command, killEvery);
  try {
    await tellThroughTwoServers(two);
  } finally {
    await two[Symbol.asyncDispose]();
  }
  await using engine = await openEngine(url);
  const { violations, figures } = await auditServers(openNamespaceStore(engine, "default", systemClock), two.journal.calls);
  return { violations, figures: { ...figures, calls: two.journal.calls.length, kills: two.kills, cut: two.cuts } };
}

for (const on of sharedEngines)
  describe(`two servers behind a round-robin client (G1, G9, G12) on ${on.name}`, () => {
    test("tell the story to its end, whichever of them is killed in the middle, and everything acknowledged is there once", { timeout: 120_000 }, async () => {
      const url = await on.freshUrl();
      const startedMs = performance.now();
      const { violations, figures } = await tellAndAudit(url, { file: process.execPath, args: [program.main, "--store", url] });
      console.log(
        `two servers on ${on.name}: ${Object.entries(figures)
          .map(([name, count]) => `${name.replaceAll("_", " ")} ${count}`)
          .join(", ")}; violations ${violations.length}; ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`,
      );
      expect(violations).toEqual([]);
      expect(figures.kills).toBeGreaterThanOrEqual(8);
      expect(figures.cut).toBeGreaterThan(0);
    });
  });

describe("the story through two servers fails", () => {
  test.each(["answerBeforeCommit", "forgottenRequestKeys", "droppedChecks"] satisfies Fault[])("when their engine has the fault %s", { timeout: 60_000 }, async (fault) => {
    const url = await engineNamed("SQLite").freshUrl();
    const told = await tellAndAudit(url, { file: process.execPath, args: [join(workersDir, "faulty-server.mjs"), fault, url] }).then(
      ({ violations }) => violations.length,
      (error: Error) => error.name,
    );
    expect(told).not.toBe(0);
  });
});
