import { test } from "vitest";
import { openMemoryApi } from "./open-api.ts";

test("smoke", async () => {
  const api = openMemoryApi();
  const { agent, get, clock } = api;
  await agent("state_set", { key: "a/b", value: { x: 1 }, agent_id: "worker-1" });
  await agent("state_set", { key: "a/b", value: { x: 2 }, agent_id: "worker-1" });
  await agent("state_set", { key: "c", value: 5, agent_id: "worker-1" });
  const { run_id } = await agent("workflow_create", { name: "nightly", tags: { t: "1" }, input: { n: 1 } });
  await agent("workflow_claim", { run_id, agent_id: "worker-1", ttl_seconds: 10 });
  await agent("workflow_checkpoint", { run_id, step: 1, output: "one", agent_id: "worker-1" });
  clock.advance(11_000);
  await agent("workflow_claim", { run_id, agent_id: "worker-2", ttl_seconds: 10 });
  await agent("workflow_checkpoint", { run_id, step: 2, output: "two", agent_id: "worker-2" });
  await agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 60 });
  await agent("session_save", { session_id: "secret-session", context: { a: 1 } });
  await agent("checkpoint", { action: "save", description: "did the thing", workspace: "shop" }).catch((e) => console.log(String(e)));
  await agent("save_knowledge", { id: "ports", content: "# Ports\nUse 8000." });
  await agent("save_knowledge", { id: "ports", content: "# Ports\nUse 8000.", skill: "web" });
  await agent("save_checkpoint", { core_question: "Why?", thesis: "Because of ports", confidence: 0.5 }).catch((e) => console.log(String(e)));
  for (const [path, query] of [["me"], ["tools"], ["tokens"]] as const) {
    const v = await get(`/api/${path}`, query ?? {});
    console.log(path, JSON.stringify(v).slice(0, 400));
  }
  for (const [path, query] of [
    ["overview", {}],
    ["activity", {}],
    ["keys", {}],
    ["folders", {}],
    ["key", { key: "a/b" }],
    ["runs", {}],
    ["run", { id: String(run_id) }],
    ["leases", {}],
    ["journal", {}],
    ["notes", {}],
    ["note", { name: "ports" }],
    ["research", {}],
    ["search", { q: "ports" }],
    ["search", { q: "night" }],
    ["health", {}],
  ] as [string, Record<string, string>][]) {
    console.log(path, JSON.stringify(await get(`/api/ns/team/${path}`, query), null, 1));
  }
});
