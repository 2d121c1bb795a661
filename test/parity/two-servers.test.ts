import { expect, test } from "vitest";
import { engineNamed } from "../support/engines.ts";
import { buildProgram } from "../support/mcp-process.ts";
import { tellAndAudit } from "./tell-and-audit.ts";

// With servers that are killed meanwhile, on every engine and with planted faults: round-robin.campaign.ts.
test("two servers on one store tell one story: every other call goes to the other, and everything acknowledged is there once, on SQLite", async () => {
  await using program = await buildProgram();
  const url = await engineNamed("SQLite").freshUrl();
  const { violations, figures } = await tellAndAudit(url, { file: process.execPath, args: [program.main, "--store", url] }, { killEvery: Number.POSITIVE_INFINITY });
  expect(violations).toEqual([]);
  expect(figures).toMatchObject({ kills: 0, cut: 0 });
});
