import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineNamed, sharedEngines } from "../support/engines.ts";
import type { Fault } from "../support/faulty-engine.ts";
import type { Program } from "../support/mcp-process.ts";
import { buildProgram } from "../support/mcp-process.ts";
import { workersDir } from "../support/worker-build.ts";
import { tellAndAudit } from "./tell-and-audit.ts";

const killEvery = 8;

let program: Program;
beforeAll(async () => {
  program = await buildProgram();
});
afterAll(() => program?.[Symbol.asyncDispose]());

for (const on of sharedEngines)
  describe(`two servers behind a round-robin client (G1, G9, G12) on ${on.name}`, () => {
    test("tell the story to its end, whichever of them is killed in the middle, and everything acknowledged is there once", async () => {
      const url = await on.freshUrl();
      const startedMs = performance.now();
      const { violations, figures } = await tellAndAudit(url, { file: process.execPath, args: [program.main, "--store", url] }, { killEvery });
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
  test.each(["answerBeforeCommit", "forgottenRequestKeys", "droppedChecks"] satisfies Fault[])("when their engine has the fault %s", async (fault) => {
    const url = await engineNamed("SQLite").freshUrl();
    const told = await tellAndAudit(url, { file: process.execPath, args: [join(workersDir, "faulty-server.mjs"), fault, url] }, { killEvery }).then(
      ({ violations }) => violations.length,
      (error: Error) => error.name,
    );
    expect(told).not.toBe(0);
  });
});
