import type { Teller } from "../teller.ts";

const here = (args: object = {}): object => ({ workspace: "engine", ...args });

const entries = [
  { description: "Read the code of the retry queue", highlights: ["the queue is the bottleneck", "it has no limit"], tags: ["queue"] },
  {
    description: "Fixed how retryQueue ends in src/worker.ts",
    highlights: ["it lost the last item"],
    activeFiles: ["src/worker.ts"],
    gitBranch: "fix/queue",
    workContext: "Release is on Friday",
  },
  { description: "Die Warteschlange verliert nichts mehr", highlights: ["the queue is the bottleneck"], sessionId: "session of bob" },
  { description: "キューの再試行を直した 🎉", global: true, tags: ["日本語"] },
  { description: "A note that does not last", ttl_days: 1 },
] as const;

/** What an agent writes down of its work, and finds again. */
export async function journalScene({ call, clock }: Teller): Promise<void> {
  let last = "";
  for (const entry of entries) {
    const saved = await call("checkpoint", here(entry));
    last = saved.data.checkpointId;
    clock.advance(3_600_000);
  }
  await call("checkpoint", here({ description: "Saved twice under one request" }), { requestKey: "journal-1" });
  await call("checkpoint", here({ description: "Saved twice under one request" }), { requestKey: "journal-1" });
  for (const query of ["why did the queue lose items?", "worker.ts", "queues ending", "再試行", "Warteschlangen", "bottlenecks of retrying", "cooking recipes"])
    await call("checkpoint", here({ query }));
  await call("checkpoint", here({ query: "queue", since: "3h", limit: 1 }));
  for (const depth of ["minimal", "highlights", "full"]) await call("checkpoint", here({ depth }));
  for (const outputFormat of ["emoji", "json", "dual"]) await call("checkpoint", here({ outputFormat }));
  await call("checkpoint", { checkpointId: last });
  await call("checkpoint", { checkpointId: "cp-20270115" });
  await call("checkpoint", { workspace: "another place", depth: "full" });
  const page = await call("checkpoint", here({ range: "7d", limit: 2, format: "detailed" }));
  await call("checkpoint", here({ range: "7d", limit: 2, cursor: page.data.cursor }));
  await call("checkpoint", here({ range: "the day before" }));
  clock.advance(24 * 3_600_000);
  await call("checkpoint", here({ query: "a note that does not last" }));
}

/** States of an investigation, and lasting facts. */
export async function researchScene({ call, clock }: Teller): Promise<void> {
  const first = {
    core_question: "Why does the queue lose items?",
    thesis: "The last item is dropped on shutdown",
    confidence: 0.8,
    open_questions: ["Does it also happen on a crash?"],
    sources: [
      { id: "src/worker.ts", type: "code", take: "the loop ends before the flush", relation: "supports" },
      { id: "ops", type: "person", take: "seen on Fridays only", relation: "nuances" },
    ],
    tensions: [{ between: ["src/worker.ts", "ops"], nature: "the loop runs every day" }],
    unique_contributions: [{ type: "experiment", content: "1,000 shutdowns lost 3 items" }],
    action: { goal: "no loss", type: "implementation" },
    skill: "debugging",
    workspace: "engine",
  };
  const { checkpoint_id } = await call("save_checkpoint", first);
  await call("save_checkpoint", first);
  clock.advance(1_000);
  await call("save_checkpoint", { ...first, thesis: "The last item is lost on every shutdown", confidence: 0.95, continues: checkpoint_id });
  await call("save_checkpoint", { core_question: "Wie schnell?", thesis: "Schnell genug für 64 Anfragen", confidence: 0.5, trigger: "branch_point" });
  await call("save_checkpoint", { core_question: "?", thesis: "x", confidence: 2 });
  const page = await call("list_checkpoints", { limit: 1 });
  await call("list_checkpoints", { limit: 1, cursor: page.cursor });
  await call("list_checkpoints", { skill: "debugging" });
  await call("list_checkpoints", { query: "losing items at shutdown" });
  await call("load_checkpoint", { checkpoint_id });
  await call("load_checkpoint", { checkpoint_id: checkpoint_id.slice(0, 12) });
  await call("load_checkpoint", { checkpoint_id: "schnell" });
  await call("load_checkpoint", { checkpoint_id: "nothing like it" });
}

export async function knowledgeScene({ call }: Teller): Promise<void> {
  await call("save_knowledge", {
    id: "queue-shutdown",
    content: "The retry queue must be drained before shutdown.",
    keywords: ["queue", "drain"],
    source: "worker.ts",
    trust: "high",
  });
  await call("save_knowledge", { id: "queue-shutdown", content: "The retry queue must be drained before every shutdown.", keywords: ["queue", "drain"] });
  await call("save_knowledge", { id: "queue-limit", content: "The retry queue holds 10,000 items; more are refused.", keywords: ["queue"], trust: "low" });
  await call("save_knowledge", { id: "deploy-day", content: "Deploys happen on Tuesdays, never on Fridays.", skill: "release" });
  await call("save_knowledge", { id: "deploy-time", content: "Deploys start at nine.", skill: "release", supersedes: "deploy-day" });
  await call("save_knowledge", { id: "rumour", content: "The queue is haunted.", trust: "quarantined" });
  await call("save_knowledge", { id: "old", content: "The queue was once a file.", status: "archived" });
  await call("save_knowledge", { id: "long", content: `The queue in detail. ${"Every word of it. ".repeat(200)}` });
  for (const query of ["when must the queue be drained?", "queue", "draining queues", "how many items fit", "ghosts", "the price of fish"])
    await call("recall_knowledge", { query });
  await call("recall_knowledge", { query: "deploys", skill: "release" });
  await call("recall_knowledge", { query: "when do deploys start", skill: "release", limit: 20 });
  await call("recall_knowledge", { query: "queue", limit: 20, max_tokens: 40 });
  await call("history_log", { kind: "knowledge", n: 20 });
}

/** After all that, an agent comes back and wants to go on. */
export async function resumeScene({ call }: Teller): Promise<void> {
  const { revision } = await call("resume", here({ agent_id: "ann" }));
  await call("resume", here());
  await call("resume", here({ query: "what about the queue?", since_revision: revision - 12, max_tokens: 300 }));
  await call("resume", here({ since_revision: revision + 100, skill: "release", query: "deploys" }));
}
