import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Store } from "../../src/store/store.ts";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { faultsIn, showsLoss } from "../support/campaign.ts";
import { engineNamed } from "../support/engines.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { auditServers } from "../support/kill-server/audit.ts";
import { buildDist } from "../support/kill-server/built-executable.ts";
import type { KillSize } from "../support/kill-server/kill-servers.ts";
import { killServers } from "../support/kill-server/kill-servers.ts";
import type { RecordedCall } from "../support/kill-server/tool-journal.ts";
import { workersDir } from "../support/worker-build.ts";

// What the campaigns of this folder must catch. Neither the faults nor the audits know the driver: once, on this Node, is enough.

describe("the audit after kills of servers catches", () => {
  const small: KillSize = { kills: 8, servers: 3, lanes: 16, seed: 20_261_115 };
  const cleanups: (() => PromiseLike<unknown>)[] = [];
  afterAll(async () => {
    for (const cleanUp of cleanups.toReversed()) await cleanUp();
  });

  /** Kills servers whose engine has the fault, and audits what they left. */
  async function killFaulty(fault: Fault, size: KillSize): Promise<CampaignResult> {
    const storeUrl = await engineNamed("SQLite").freshUrl();
    const { journal } = await killServers({ file: process.execPath, args: [join(workersDir, "faulty-server.mjs"), fault, storeUrl] }, size);
    await using engine = await openEngine(storeUrl);
    return await auditServers(openNamespaceStore(engine, "default", systemClock), journal.calls);
  }

  let made: Promise<{ readonly store: Store; readonly calls: readonly RecordedCall[] }> | undefined;
  /** The store and the journal of one small campaign without a fault, to be tampered with by each test in its own way. */
  const honestRun = () => {
    made ??= makeHonestRun();
    return made;
  };
  async function makeHonestRun() {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-test-"));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const built = await buildDist();
    cleanups.push(() => built.remove());
    const storeUrl = `sqlite:${join(folder, "store.db")}`;
    const { journal } = await killServers({ file: process.execPath, args: [built.main, "--store", storeUrl] }, small);
    const engine = await openEngine(storeUrl);
    cleanups.push(() => engine[Symbol.asyncDispose]());
    const store = openNamespaceStore(engine, "default", systemClock);
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

  test("an acknowledged answer, of any kind, that never happened", async () => {
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

  test("an effect that was not requested, or that was refused", async () => {
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

  test("a log that lost a record", async () => {
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

  test("servers that answer before they commit", async () => {
    expect(faultsIn(await killFaulty("answerBeforeCommit", { ...small, servers: 1 }))).toSatisfy(showsLoss);
  });

  test("servers that forget request keys", async () => {
    expect(faultsIn(await killFaulty("forgottenRequestKeys", small))).toEqual(expect.arrayContaining(["effect_twice", "answers_differ"]));
  });
});
