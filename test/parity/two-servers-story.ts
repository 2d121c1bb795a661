import { expect } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import type { RoundRobin } from "./round-robin.ts";

/** Longer than the story takes, however slowly servers start; the claim of who is lost is cut short. */
const claimSeconds = 300;
const lostClaimSeconds = 1;
const steps = [1, 2, 3, 4, 5, 6, 7, 8] as const;
const stepsOfTheFirst = 4;

/** What the stories of the stdio server tell, told through two servers at a time: share, race, work, be lost, be resumed. */
export async function tellThroughTwoServers(two: RoundRobin): Promise<void> {
  await shareState(two);
  await count(two);
  await handOver(two);
  await takeTurns(two);
  await remember(two);
  const health = await two.readFromAll("sidecar_health");
  expect(health.map(({ status }) => status)).toEqual(["ok", "ok"]);
  expect(new Set(health.map(({ revision }) => revision)).size).toBe(1);
}

async function shareState(two: RoundRobin): Promise<void> {
  const key = "release/plan";
  await two.change("state_set", (label) => ({ key, value: { reviewers: [] }, agent_id: label }));
  expect(await two.read("state_get", { key })).toMatchObject({ found: true, version: 1 });
  const edits = await Promise.all([1, 2].map(() => two.change("state_set", (label) => ({ key, value: { reviewers: [label] }, expected_version: 1, agent_id: label }))));
  expect(edits.map(({ ok, reason }) => (ok ? "won" : reason)).toSorted()).toEqual(["conflict", "won"]);
  // One waits on one server for what another does on the other.
  const waiting = two.read("state_get", { key, wait_for_version_above: 2, wait_seconds: 50 });
  // The one that waits has heard of it when it has answered what was asked of it afterwards: every other call goes to it.
  await two.read("state_get", { key: "elsewhere" });
  await two.read("state_get", { key: "elsewhere" });
  await two.change("state_set", (label) => ({ key, value: "approved", agent_id: label }));
  expect(await waiting).toMatchObject({ found: true, version: 3, value: "approved" });
}

/** Two callers raise one counter, each time from what they have just read. */
async function count(two: RoundRobin): Promise<void> {
  const each = 12;
  const key = "counter";
  const caller = async (): Promise<void> => {
    for (let done = 0; done < each; ) {
      const { value, version } = await two.read("state_get", { key });
      const { ok } = await two.change("state_set", (label) => ({ key, value: (value ?? 0) + 1, expected_version: version, agent_id: label }));
      if (ok) done += 1;
    }
  };
  await Promise.all([caller(), caller()]);
  expect(await two.read("state_get", { key })).toMatchObject({ value: 2 * each, version: 2 * each });
}

/** Claim, checkpoint, crash, resume. */
async function handOver(two: RoundRobin): Promise<void> {
  const { run_id } = await two.change("workflow_create", (label) => ({ name: label, tags: { project: "demo" }, input: { steps } }));
  const claim = () => two.change("workflow_claim", (label) => ({ run_id, agent_id: label, ttl_seconds: claimSeconds }));
  const claims = await Promise.all([claim(), claim()]);
  const [won, ...others] = claims.filter(({ claimed }) => claimed);
  expect(others).toEqual([]);
  expect(claims.find(({ claimed }) => !claimed)).toMatchObject({ reason: "held", agent_id: won.agent_id });
  const outputs: Record<string, string> = {};
  const work = async (holder: { agent_id: string; token: number }, some: readonly number[]): Promise<void> => {
    for (const step of some) {
      const answer = await two.change("workflow_checkpoint", (label) => {
        outputs[step] = label;
        return { run_id, step, output: label, agent_id: holder.agent_id, token: holder.token };
      });
      expect(answer).toMatchObject({ ok: true, last_step: step });
    }
  };
  await work(won, steps.slice(0, stepsOfTheFirst));
  // The agent is gone without a word; another asks until the claim has lapsed.
  let next = await claim();
  expect(next).toMatchObject({ claimed: false, agent_id: won.agent_id });
  // Renewed for less, it ends sooner. Whether that is done once or twice is the same.
  await two.read("lease_renew", { resource_id: `workflow/${run_id}`, holder_id: won.agent_id, ttl_seconds: lostClaimSeconds });
  while (!next.claimed) {
    await systemClock.sleep(100);
    next = await claim();
  }
  expect(next.token).toBeGreaterThan(won.token);
  expect(await two.read("workflow_resume", { run_id })).toMatchObject({ last_step: stepsOfTheFirst, step_outputs: outputs, input: { steps } });
  const late = await two.change("workflow_checkpoint", (label) => ({ run_id, step: 99, output: label, agent_id: won.agent_id, token: won.token }));
  expect(late.error).toMatchObject({ code: "claim_lost" });
  await work(next, steps.slice(stepsOfTheFirst));
  await two.change("workflow_finish", (label) => ({ run_id, status: "done", result: label, agent_id: next.agent_id, token: next.token }));
  expect(await two.read("workflow_resume", { run_id })).toMatchObject({ last_step: steps.length, step_outputs: outputs, meta: { status: "done", attempts: 2 } });
  const { entries } = await two.read("history_log", { key: run_id, kind: "workflow", n: 100 });
  const times = (op: string): number => entries.filter((entry: { op: string }) => entry.op === op).length;
  expect({ created: times("create"), claimed: times("claim"), steps: times("checkpoint"), finished: times("finish") }).toEqual({
    created: 1,
    claimed: 2,
    steps: steps.length,
    finished: 1,
  });
}

/** A lease goes from one to the next; who had it cannot write any more. */
async function takeTurns(two: RoundRobin): Promise<void> {
  const resource_id = "deploy";
  let former = 0;
  for (let turn = 0; turn < 4; turn += 1) {
    const { token, holder } = await two.change("lease_acquire", (label) => ({ resource_id, holder_id: label, ttl_seconds: 60 }));
    expect(token).toBeGreaterThan(former);
    expect(await two.change("lease_acquire", (label) => ({ resource_id, holder_id: label, ttl_seconds: 60 }))).toMatchObject({ acquired: false, holder });
    const write = (by: number) =>
      two.change("state_set", (label) => ({ key: `guarded/${resource_id}`, value: { by: label, token: by }, lease: { resource_id, token: by }, agent_id: label }));
    expect(await write(token)).toMatchObject({ ok: true });
    if (turn > 0) expect((await write(former)).error).toMatchObject({ code: "lease_lost" });
    expect(await two.change("lease_renew", () => ({ resource_id, holder_id: holder, ttl_seconds: 90, token }))).toMatchObject({ renewed: true });
    expect(await two.change("lease_release", () => ({ resource_id, holder_id: holder, token }))).toMatchObject({ released: true });
    former = token;
  }
}

/** Sessions, the journal, research and notes: each saved once, and found again by the other server. */
async function remember(two: RoundRobin): Promise<void> {
  const saved = { journal: 4, notes: 4, research: 2, sessions: 4 };
  const times = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i + 1);
  const by: string[] = [];
  for (const nth of times(saved.sessions)) {
    const answer = await two.change("session_save", (label) => {
      by.push(label);
      return { session_id: "agent-7", context: { by: label, turn: nth } };
    });
    expect(answer).toMatchObject({ ok: true, version: nth });
  }
  expect(await two.read("session_restore", { session_id: "agent-7", version: 2 })).toMatchObject({ context: { by: by[1], turn: 2 } });
  for (const nth of times(saved.journal))
    await two.change("checkpoint", (label) => ({
      description: `Drained the retry queue, part ${nth} (${label})`,
      highlights: [`part ${nth}`],
      workspace: "engine",
      sessionId: "session-7",
    }));
  for (const nth of times(saved.notes))
    await two.change("save_knowledge", (label) => ({ id: `queue-${nth}`, content: `The retry queue holds ${nth}00 items (${label}).`, keywords: ["queue"] }));
  for (const nth of times(saved.research))
    await two.change("save_checkpoint", (label) => ({ core_question: "Why does it lose items?", thesis: `Cause number ${nth}, as ${label} found`, confidence: 0.5 }));
  const { entries } = await two.read("history_log", { n: 200 });
  const records = (kind: string): number => entries.filter((entry: { kind: string }) => entry.kind === kind).length;
  expect({ checkpoints: records("checkpoint"), knowledge: records("knowledge"), sessions: records("session") }).toEqual({
    checkpoints: saved.journal + saved.research,
    knowledge: saved.notes,
    sessions: saved.sessions,
  });
  expect((await two.read("recall_knowledge", { query: "how many items are in the retry queue?", limit: 10 })).items).toHaveLength(saved.notes);
  expect((await two.read("checkpoint", { query: "draining queues", workspace: "engine" })).data.found).toBe(saved.journal);
  const resumed = await two.read("resume", { workspace: "engine", query: "why does the retry queue lose items" });
  expect(resumed.items).toMatchObject({ journal: saved.journal, highlights: saved.journal, research: 1 });
}
