import type { ManualClock } from "../../support/manual-clock.ts";
import type { Api } from "./open-api.ts";

export const sessionId = "context-of-worker-1-7f3a";

/** A little of everything that agents do, by the clock: what every view has something to show of. Ids are fixed where a caller may choose them. */
export async function workAsTeam({ agent }: Pick<Api, "agent">, clock: ManualClock): Promise<void> {
  await agent("state_set", { key: "config/flags", value: { beta: false }, agent_id: "worker-1" });
  await agent("state_set", { key: "config/flags", value: { beta: true }, agent_id: "worker-2" });
  await agent("state_set", { key: "config/limits", value: 10, agent_id: "worker-1" });
  await agent("state_set", { key: "cache", value: "warm", ttl_seconds: 5, agent_id: "worker-1" });
  await agent("workflow_create", { name: "nightly import", run_id: "import", tags: { team: "shop" }, input: { from: "feed" }, priority: 3 });
  await agent("workflow_create", { name: "link check", run_id: "links" });
  clock.advance(60_000);
  await agent("workflow_claim", { run_id: "import", agent_id: "worker-1", ttl_seconds: 10 });
  await agent("workflow_checkpoint", { run_id: "import", step: 1, output: { rows: 10 }, agent_id: "worker-1" });
  clock.advance(30_000);
  await agent("workflow_claim", { run_id: "import", agent_id: "worker-2", ttl_seconds: 300 });
  await agent("workflow_checkpoint", { run_id: "import", step: 2, output: { rows: 20 }, agent_id: "worker-2" });
  await agent("workflow_finish", { run_id: "import", status: "done", result: "imported", agent_id: "worker-2" });
  await agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 20 });
  clock.advance(10_000);
  await agent("lease_renew", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 20 });
  clock.advance(5_000);
  await agent("lease_release", { resource_id: "deploy", holder_id: "worker-1" });
  await agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-2", ttl_seconds: 7_200 });
  await agent("session_save", { session_id: sessionId, context: { plan: "go on" } });
  await agent("save_knowledge", { id: "ports", content: "# Which port\n\nThe server listens on 8000.", keywords: ["listen"], source: "run book" });
  await agent("save_knowledge", { id: "window", skill: "deploy", content: "Deploy between nine and three.", status: "archived" });
  await agent("save_checkpoint", { core_question: "Why is it slow?", thesis: "The cache expires everywhere at once.", confidence: 0.6 });
}

export const writeJournal = ({ agent }: Pick<Api, "agent">, description: string, workspace: string): Promise<Record<string, unknown>> =>
  agent("checkpoint", { action: "save", description, workspace, highlights: ["one thing"], activeFiles: ["a.ts"], tags: ["t"], gitBranch: "main" });
