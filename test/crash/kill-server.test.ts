import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Store } from "../../src/store/store.ts";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { faultsIn, runAndPrint } from "../support/campaign.ts";
import { engineNamed, sharedEngines } from "../support/engines.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { auditServers } from "../support/kill-server/audit.ts";
import { buildDist } from "../support/kill-server/built-executable.ts";
import type { KillSize } from "../support/kill-server/kill-servers.ts";
import { killServers } from "../support/kill-server/kill-servers.ts";
import type { RecordedCall } from "../support/kill-server/tool-journal.ts";
import { workersDir } from "../support/worker-build.ts";

let built: Awaited<ReturnType<typeof buildDist>>;
beforeAll(async () => {
  built = await buildDist();
}, 60_000);
afterAll(() => built?.remove());

const small: KillSize = { kills: 8, servers: 3, lanes: 16, seed: 20_261_115 };

/** Kills servers on a new file: the executable, or one whose engine has a fault. */
async function killOn(storeUrl: string, size: KillSize, fault?: Fault) {
  const args = fault === undefined ? [built.main, "--store", storeUrl] : [join(workersDir, "faulty-server.mjs"), fault, storeUrl];
  return killServers({ file: process.execPath, args }, size);
}

const newStore = (): Promise<string> => engineNamed("SQLite").freshUrl();

/** The audit's own connection, opened when the last server is gone. */
async function openAudited(storeUrl: string): Promise<Store> {
  const engine = await openEngine(storeUrl);
  onTestFinished(() => engine[Symbol.asyncDispose]());
  return openNamespaceStore(engine, "default", systemClock);
}

for (const on of sharedEngines)
  describe(`MCP servers on one store, killed at random under load (G1, G4, G5, G7, G9, G11, G12) on ${on.name}`, () => {
    const kills = on.isServer ? 60 : 300;

    test(`lose nothing acknowledged, leave no gap, and do nothing twice when asked again, in ${kills} kills`, { timeout: 240_000 }, async () => {
      const storeUrl = await on.freshUrl();
      const result = await runAndPrint(`kill -9 of MCP servers on ${on.name}`, async (): Promise<CampaignResult> => {
        const { journal, figures } = await killOn(storeUrl, { kills, servers: 4, lanes: 20, seed: 20_261_115 });
        const audit = await auditServers(await openAudited(storeUrl), journal.calls);
        return { figures: { ...figures, ...audit.figures }, violations: audit.violations };
      });
      expect(result.violations).toEqual([]);
      expect(result.figures.kills).toBeGreaterThanOrEqual(kills);
      // A campaign in which nothing was answered, or nothing was cut, proves nothing.
      expect(result.figures.in_flight_at_a_kill_at_least).toBeGreaterThanOrEqual(16);
      expect(result.figures.acknowledged_by_killed_servers).toBeGreaterThan(on.isServer ? kills : 1_000);
      expect(result.figures.cut).toBeGreaterThan(on.isServer ? 3 * kills : 1_000);
      expect(result.figures.retried).toBeGreaterThan(on.isServer ? 3 * kills : 1_000);
    });
  });

describe("the audit after kills of servers catches", () => {
  /** One small campaign's store and journal, to be tampered with. */
  async function honestRun(): Promise<{ readonly store: Store; readonly calls: RecordedCall[] }> {
    const storeUrl = await newStore();
    const { journal } = await killOn(storeUrl, small);
    const store = await openAudited(storeUrl);
    expect((await auditServers(store, journal.calls)).violations).toEqual([]);
    return { store, calls: journal.calls };
  }
  const answered = (structured: Record<string, unknown>) => ({ isError: false, structured, text: JSON.stringify(structured) });
  const forged = (tool: string, args: Record<string, unknown>, structured: Record<string, unknown>): RecordedCall => ({
    label: "forged",
    tool,
    args,
    answers: [answered(structured)],
    cuts: 0,
    sent: 1,
  });

  test("an acknowledged answer, of any kind, that never happened", { timeout: 60_000 }, async () => {
    const { store, calls } = await honestRun();
    const withForged = async (...call: Parameters<typeof forged>) => faultsIn(await auditServers(store, [...calls, forged(...call)]));
    const set = { key: "k", value: "v", agent_id: "forged" };
    expect(await withForged("state_set", set, { ok: true, key: "k", version: 1, revision: 10_000_000 })).toEqual(["acknowledged_commit_missing", "revision_unknown"]);
    // At a revision that another commit has.
    expect(await withForged("state_set", set, { ok: true, key: "k", version: 1, revision: 1 })).not.toEqual([]);
    expect(await withForged("session_save", { session_id: "s", context: {} }, { ok: true, session_id: "s", version: 1 })).toEqual(["acknowledged_commit_missing"]);
    expect(await withForged("lease_release", { resource_id: "r", holder_id: "forged" }, { released: true, resource_id: "r" })).toEqual(["acknowledged_write_missing"]);
    expect(await withForged("workflow_checkpoint", { run_id: "w", step: 1, output: "o" }, { ok: true, run_id: "w", step: 1, last_step: 1 })).toEqual([
      "acknowledged_write_missing",
    ]);
    expect(await withForged("workflow_claim", { agent_id: "forged" }, { claimed: true, run_id: "w", token: 10_000_000 })).toEqual([
      "acknowledged_write_missing",
      "revision_unknown",
    ]);
  });

  test("an effect that nobody asked for, or that was refused", { timeout: 60_000 }, async () => {
    const { store, calls } = await honestRun();
    const done = (tool: string) => calls.find((call) => call.tool === tool && call.requestKey !== undefined && call.answers[0]?.structured.revision !== undefined) as RecordedCall;
    const set = done("state_set");
    const others = calls.filter((call) => call !== set);
    expect(faultsIn(await auditServers(store, others))).toEqual(["unsent_commit_found"]);
    const refused = { ...set, answers: [answered({ ok: false, reason: "conflict" })] };
    expect(faultsIn(await auditServers(store, [...others, refused]))).toEqual(["unsent_commit_found", "refused_took_effect"]);
    const twoAnswers = { ...set, answers: [...set.answers, answered({ ok: true, revision: 1 })] };
    expect(faultsIn(await auditServers(store, [...others, twoAnswers]))).toEqual(["answers_differ"]);
  });

  test("a log that lost a record", { timeout: 60_000 }, async () => {
    const { store, calls } = await honestRun();
    const lost = calls.find(({ tool, answers }) => tool === "state_set" && answers[0]?.structured.ok === true)?.answers[0]?.structured.revision;
    const forgetful: Store = {
      ...store,
      async log(query) {
        const page = await store.log(query);
        return { ...page, rows: page.rows.filter((row) => row.revision !== lost) };
      },
    };
    expect(faultsIn(await auditServers(forgetful, calls))).toEqual(expect.arrayContaining(["acknowledged_commit_missing", "revision_gap"]));
  });

  test("servers that answer before they commit", { timeout: 60_000 }, async () => {
    const storeUrl = await newStore();
    const { journal } = await killOn(storeUrl, { ...small, servers: 1 }, "answerBeforeCommit");
    const found = faultsIn(await auditServers(await openAudited(storeUrl), journal.calls));
    expect(found.filter((fault) => fault === "acknowledged_commit_missing" || fault === "acknowledged_commit_differs")).not.toEqual([]);
  });

  test("servers that forget request keys", { timeout: 60_000 }, async () => {
    const storeUrl = await newStore();
    const { journal } = await killOn(storeUrl, small, "forgottenRequestKeys");
    expect(faultsIn(await auditServers(await openAudited(storeUrl), journal.calls))).toEqual(expect.arrayContaining(["effect_twice", "answers_differ"]));
  });
});
