import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { InstalledPackage } from "./installed-package.ts";
import { installPackage, requireService } from "./installed-package.ts";

const script = fileURLToPath(new URL("./python_story.py", import.meta.url));

let installed: InstalledPackage;
let python: string;
beforeAll(async () => {
  [installed, python] = await Promise.all([installPackage(), requireService("python-client.mjs")]);
});
afterAll(() => installed.remove());

describe.each([
  { mode: "legacy", speaks: "2025-11-25" },
  { mode: "2026-07-28", speaks: "2026-07-28" },
])("the installed package and the official Python client, mode $mode", ({ mode, speaks }) => {
  // biome-ignore lint/suspicious/noExplicitAny: facts are looked into freely
  let facts: any;
  beforeAll(async () => {
    const { stdout } = await promisify(execFile)(python, [script, installed.command, installed.pidFile, mode]);
    facts = JSON.parse(stdout);
  });

  test("they agree on the protocol", () => {
    expect(facts.protocol_version).toBe(speaks);
    expect(facts.tools).toContain("workflow_claim");
  });

  test("a call sent again with its request key gives the first answer and no second effect", () => {
    expect(facts.twice[0]).toMatchObject({ ok: true, version: 1 });
    expect(facts.twice[1]).toEqual(facts.twice[0]);
  });

  test("a claimed run is refused to others", () => {
    expect(facts.claim).toMatchObject({ claimed: true });
    expect(facts.rival).toMatchObject({ claimed: false, reason: "held", agent_id: facts.claim.agent_id });
  });

  test("a server killed in the middle of a call is noticed, and what it had acknowledged is there for the successor", () => {
    expect(facts.lost).toEqual(expect.any(String));
    expect(facts.take_over).toMatchObject({ claimed: true });
    expect(facts.take_over.token).toBeGreaterThan(facts.claim.token);
    expect(facts.resumed).toMatchObject({ last_step: 2, step_outputs: { "1": { step: 1 }, "2": { step: 2 } }, input: { steps: 3 } });
  });

  test("the replaced agent changes nothing", () => {
    expect(facts.late.error).toMatchObject({ code: "claim_lost", details: { successor: facts.take_over.agent_id } });
  });

  test("the successor finishes, and history has one record of each step", () => {
    expect(facts.finish).toMatchObject({ status: "done", attempts: 2 });
    expect(facts.history.entries.filter(({ op }: { op: string }) => op === "checkpoint")).toHaveLength(3);
  });
});
