import { describe, expect, test } from "vitest";
import { adoptRun } from "../../src/domain/workflows/adopt-run.ts";
import { ConnectionClaims } from "../../src/tools/claim-identity.ts";
import type { ToolBase } from "../../src/tools/run-tool.ts";
import { runTool } from "../../src/tools/run-tool.ts";
import type { Answer, TestTools } from "./open-tools.ts";
import { openTools, toolNamed } from "./open-tools.ts";

/** The same store, reached on another connection or by another principal. */
async function callAs(base: ToolBase, changes: Partial<ToolBase>, name: string, args: object): Promise<Answer> {
  const outcome = await runTool(toolNamed(name), args, { ...base, ...changes }, {}, () => {});
  return outcome.ok ? outcome.structured : outcome.error;
}

describe("a worker of the State Sidecar, which names itself only when it claims", () => {
  const openSidecar = () => openTools({ server: { profile: "sidecar", claims: new ConnectionClaims() }, connection: "one" });

  test("runs from its claim to its last checkpoint", async () => {
    const { call } = openSidecar();
    const { run_id } = await call("workflow_create", { name: "nightly" });
    await call("workflow_claim", { run_id, agent_id: "worker-1" });
    for (const step of [1, 2]) expect(await call("workflow_checkpoint", { run_id, step, output: { step } })).toMatchObject({ ok: true, last_step: step });
    expect(await call("workflow_resume", { run_id })).toMatchObject({ last_step: 2, meta: { agent_id: "worker-1", status: "running" } });
  });

  test("extends its claim with every checkpoint, as if it had named itself", async () => {
    const { call, clock } = openSidecar();
    const { run_id } = await call("workflow_create", { name: "nightly" });
    await call("workflow_claim", { run_id, agent_id: "worker-1", ttl_seconds: 10 });
    clock.advance(6_000);
    await call("workflow_checkpoint", { run_id, step: 1, output: 1 });
    clock.advance(6_000);
    expect((await call("workflow_status", { run_id })).claim_expires_at).not.toBeNull();
  });

  test("gets an error after it was replaced, and changes nothing", async () => {
    const { call, fails, base, clock } = openSidecar();
    const { run_id } = await call("workflow_create", { name: "nightly" });
    await call("workflow_claim", { run_id, agent_id: "worker-1", ttl_seconds: 1 });
    clock.advance(2_000);
    expect(await callAs(base, { connection: "two" }, "workflow_claim", { run_id, agent_id: "worker-2" })).toMatchObject({ claimed: true });
    expect(await fails("workflow_checkpoint", { run_id, step: 1, output: 1 })).toMatchObject({ code: "claim_lost", details: { successor: "worker-2" } });
  });

  test("is unknown on another connection, and after it gave the run back", async () => {
    const { call, base } = openSidecar();
    const { run_id } = await call("workflow_create", { name: "nightly" });
    await call("workflow_claim", { run_id, agent_id: "worker-1" });
    expect(await callAs(base, { connection: "two" }, "workflow_checkpoint", { run_id, step: 1, output: 1 })).toMatchObject({ code: "claim_held" });
    await call("lease_release", { resource_id: `workflow/${run_id}`, holder_id: "worker-1" });
    expect(await call("workflow_checkpoint", { run_id, step: 1, output: 1 })).toMatchObject({ ok: true });
  });

  test("finishes its run without a name too; cancelling stays an operator's right", async () => {
    const { call, base } = openSidecar();
    const [first, second] = [await call("workflow_create", { name: "a" }), await call("workflow_create", { name: "b" })];
    for (const { run_id } of [first, second]) await call("workflow_claim", { run_id, agent_id: "worker-1" });
    expect(await callAs(base, { connection: "two" }, "workflow_finish", { run_id: first.run_id, status: "done" })).toMatchObject({ code: "claim_held" });
    expect(await call("workflow_finish", { run_id: first.run_id, status: "done" })).toMatchObject({ ok: true, status: "done" });
    expect(await callAs(base, { connection: "two" }, "workflow_finish", { run_id: second.run_id, status: "cancelled" })).toMatchObject({ status: "cancelled" });
  });

  describe("over the network, where a call may come on any connection", () => {
    const remote = { server: { profile: "sidecar", claims: new ConnectionClaims(), tellsOf: "namespace" as const }, writer: "fleet" };

    test("is known by its principal", async () => {
      const { call, base } = openTools(remote);
      const { run_id } = await call("workflow_create", { name: "nightly" });
      await call("workflow_claim", { run_id, agent_id: "worker-1" });
      expect(await call("workflow_checkpoint", { run_id, step: 1, output: 1 })).toMatchObject({ ok: true });
      expect(await callAs(base, { writer: "somebody else" }, "workflow_checkpoint", { run_id, step: 2, output: 1 })).toMatchObject({ code: "claim_held" });
    });

    test("must name itself once two agents of one principal have held the run", async () => {
      const { call, fails, clock } = openTools(remote);
      const { run_id } = await call("workflow_create", { name: "nightly" });
      await call("workflow_claim", { run_id, agent_id: "worker-1", ttl_seconds: 1 });
      clock.advance(2_000);
      await call("workflow_claim", { run_id, agent_id: "worker-2" });
      expect(await fails("workflow_checkpoint", { run_id, step: 1, output: 1 })).toMatchObject({ code: "claim_held" });
      expect(await call("workflow_checkpoint", { run_id, step: 1, output: 1, agent_id: "worker-2" })).toMatchObject({ ok: true });
    });

    /** From a claimed run to one whose live claim is the principal's own, in every way that leads there. */
    const returns: Readonly<Record<string, (tools: TestTools, runId: string) => Promise<unknown>>> = {
      "gave it back": ({ call }, runId) => call("lease_release", { resource_id: `workflow/${runId}`, holder_id: "worker-1" }),
      "failed and wanted another attempt": ({ call }, runId) => call("workflow_finish", { run_id: runId, status: "failed", retry: true, agent_id: "worker-1" }),
      "let its claim lapse": async ({ clock }) => clock.advance(2_000),
      "still held it": async () => {},
    };

    test.each(Object.keys(returns))("is known again after it %s and claimed again; a successor is not taken for it", async (way) => {
      const tools = openTools(remote);
      const { call, fails } = tools;
      const { run_id } = await call("workflow_create", { name: "nightly" });
      for (const step of [1, 2]) {
        await call("workflow_claim", { run_id, agent_id: "worker-1", ttl_seconds: 1 });
        expect(await call("workflow_checkpoint", { run_id, step, output: step })).toMatchObject({ ok: true, last_step: step });
        await returns[way]?.(tools, run_id);
      }
      tools.clock.advance(2_000_000);
      await call("workflow_claim", { run_id, agent_id: "worker-2" });
      expect(await fails("workflow_checkpoint", { run_id, step: 3, output: 3 })).toMatchObject({ code: "claim_held", details: { agent_id: "worker-2" } });
    });

    test("is known on a run that was brought in from a sidecar where it held it", async () => {
      const { base, call } = openTools(remote);
      const run = {
        runId: "wf-0123456789ab",
        name: "nightly",
        tags: {},
        status: "running" as const,
        createdAtMs: 1,
        lastStep: 1,
        steps: [{ step: 1, output: 1 }],
        formerAgent: "worker-1",
      };
      await adoptRun(base, run, { dryRun: false });
      await call("workflow_claim", { run_id: run.runId, agent_id: "worker-1" });
      expect(await call("workflow_checkpoint", { run_id: run.runId, step: 2, output: 2 })).toMatchObject({ ok: true, last_step: 2 });
    });

    test("is not known to a principal that only extended another's claim under the same name", async () => {
      const { base, call } = openTools(remote);
      const { run_id } = await call("workflow_create", { name: "nightly" });
      await call("workflow_claim", { run_id, agent_id: "worker-1" });
      const other = { writer: "somebody else" };
      expect(await callAs(base, other, "workflow_claim", { run_id, agent_id: "worker-1" })).toMatchObject({ claimed: true });
      expect(await callAs(base, other, "workflow_checkpoint", { run_id, step: 1, output: 1 })).toMatchObject({ code: "claim_held" });
      expect(await call("workflow_checkpoint", { run_id, step: 1, output: 1 })).toMatchObject({ ok: true });
    });

    test("reports on the run it holds alone: another run of the same principal is another claim", async () => {
      const { call, fails, clock } = openTools(remote);
      const [mine, theirs] = [await call("workflow_create", { name: "a" }), await call("workflow_create", { name: "b" })];
      await call("workflow_claim", { run_id: mine.run_id, agent_id: "worker-1" });
      await call("workflow_claim", { run_id: theirs.run_id, agent_id: "worker-2", ttl_seconds: 1 });
      clock.advance(2_000);
      await call("workflow_claim", { run_id: theirs.run_id, agent_id: "worker-3" });
      expect(await call("workflow_checkpoint", { run_id: mine.run_id, step: 1, output: 1 })).toMatchObject({ ok: true });
      expect(await fails("workflow_checkpoint", { run_id: theirs.run_id, step: 1, output: 1 })).toMatchObject({ code: "claim_held", details: { agent_id: "worker-3" } });
    });
  });

  test("gets claimed:false for a run that is not there; elsewhere it is an error", async () => {
    expect(await openSidecar().call("workflow_claim", { run_id: "wf-gone", agent_id: "worker-1" })).toEqual({
      claimed: false,
      run_id: "wf-gone",
      agent_id: null,
      token: null,
      expires_at: null,
      reason: "not_found",
    });
    expect(await openTools().fails("workflow_claim", { run_id: "wf-gone", agent_id: "worker-1" })).toMatchObject({ code: "not_found" });
  });

  test("reads a history of keys alone, with whole numbers that grow", async () => {
    const { call } = openSidecar();
    await call("state_set", { key: "a", value: 1 });
    await call("lease_acquire", { resource_id: "r", holder_id: "h", ttl_seconds: 5 });
    await call("state_commit", {
      writes: [
        { key: "a", value: 2 },
        { key: "b", value: 1 },
      ],
    });
    const { entries, total } = await call("history_log");
    expect(entries.map(({ kind }: Answer) => kind)).toEqual(["state", "state", "state"]);
    expect(total).toBe(3);
    const ids: number[] = entries.map(({ id }: Answer) => id);
    expect(ids.every(Number.isSafeInteger)).toBe(true);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a));
    expect((await call("history_log", { kind: "lease" })).entries).toHaveLength(1);
  });
});

describe("AgentCheckpoint", () => {
  test("tells times as text in its own profile, as seconds elsewhere", async () => {
    const own = openTools({ server: { profile: "agentcheckpoint" } });
    await own.call("set_state", { key: "k", value: "1" });
    expect((await own.call("get_state", { key: "k" })).updated_at).toBe("2027-01-15 08:00:00");
    expect((await own.call("list_state")).keys[0].updated_at).toBe("2027-01-15 08:00:00");
    const other = openTools();
    await other.call("set_state", { key: "k", value: "1" });
    expect((await other.call("get_state", { key: "k" })).updated_at).toBe(1_800_000_000);
  });
});

describe("Goldfish", () => {
  const save = { description: "Größe fixed", highlights: "O(n²) became O(n)" };

  test("takes highlights as one text, and shows what it has saved", async () => {
    const own = openTools({ server: { profile: "goldfish" } });
    const { formattedOutput, data, meta } = await own.call("checkpoint", save);
    expect(formattedOutput).toContain("> - O(n\\u00b2) became O(n)");
    expect(formattedOutput).toContain("> Grosse fixed");
    expect(data.highlights).toBe(1);
    expect(meta.outputFormat).toBe("plain");
  });

  test("takes every argument that version 7 sends, without a warning, and finds the entry by each", async () => {
    const { call } = openTools({ server: { profile: "goldfish" } });
    const answer = await call("checkpoint", {
      description: "Queue in one table",
      tags: '["db","ops"]',
      type: "decision",
      context: "The importer needs a queue",
      decision: "Keep the queue in one table",
      alternatives: ["Redis streams"],
      impact: "One service less",
      evidence: '["p95 of 4 ms"]',
      symbols: ["claimNext"],
      next: "Index the claim column",
      confidence: 4,
      unknowns: ["rate in December"],
    });
    expect(answer.warning).toBe("tags: read the JSON text as a list; send a list");
    expect(answer.formattedOutput).toContain("Tags: db, ops");
    const [entry] = (await call("checkpoint", { checkpointId: answer.data.checkpointId })).data.checkpoints;
    expect(entry.tags).toEqual(["db", "ops"]);
    expect(entry.workContext.split("\n")).toEqual([
      "Type: decision",
      "Context: The importer needs a queue",
      "Decision: Keep the queue in one table",
      "Alternatives: Redis streams",
      "Impact: One service less",
      "Evidence: p95 of 4 ms",
      "Symbols: claimNext",
      "Next: Index the claim column",
      "Confidence: 4",
      "Unknowns: rate in December",
    ]);
    for (const query of ["Redis streams", "claimNext", "December rate"]) expect((await call("checkpoint", { query })).data.found).toBe(1);
  });

  test("keeps what no version knows as text, and says so", async () => {
    const { warning } = await openTools({ server: { profile: "goldfish" } }).call("checkpoint", { description: "Done", mood: "fine", next: "Rest" });
    expect(warning).toBe("mood: unknown argument; its text was kept in workContext");
  });

  test('knows "current" as the workspace at hand, and saves nothing in "all"', async () => {
    const { call, fails } = openTools({ server: { profile: "goldfish" } });
    const here = await call("checkpoint", { description: "Done" });
    expect((await call("checkpoint", { description: "Done again", workspace: "current" })).meta.workspace).toEqual(here.meta.workspace);
    expect(await fails("checkpoint", { description: "Done", workspace: "all" })).toMatchObject({ code: "invalid_input", details: { field: "workspace" } });
  });
});

describe("Sage", () => {
  const research = {
    core_question: "Which cache?",
    thesis: "None is needed yet.",
    confidence: 0.5,
    key_evidence: ["4 ms"],
    reasoning_trace: "Measured first.",
    auto_code_context: true,
  };

  test("keeps its own arguments without a warning in its profile; elsewhere the answer says where they went", async () => {
    const { call } = openTools({ server: { profile: "sage" } });
    expect((await call("save_checkpoint", { ...research, mood: "fine" })).warning).toBe("mood: unknown argument; its text was kept in unique_contributions");
    expect((await call("load_checkpoint", { checkpoint_id: "none-is" })).checkpoint.unique_contributions.map(({ content }: Answer) => content)).toEqual([
      "key_evidence: 4 ms",
      "reasoning_trace: Measured first.",
      "mood: fine",
    ]);
    expect((await call("save_knowledge", { knowledge_id: "ask", content: "Ask first.", keywords: ["ask"], item_type: "preference" })).warning).toBeUndefined();
    expect((await openTools().call("save_checkpoint", research)).warning).toContain("key_evidence: unknown argument");
  });
});
