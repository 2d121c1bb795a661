import { expect, test } from "vitest";
import { createRun } from "../../../src/domain/workflows/workflows.ts";
import { prepareCommit } from "../../../src/store/prepare-commit.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { engineNamed } from "../../support/engines.ts";
import { openApi } from "./open-api.ts";
const names = (process.env.PERF ?? "SQLite").split(",");
const revisions = Number(process.env.REVS ?? 1_000_000);
test.each(names)("on %s", async (name) => {
  const url = await engineNamed(name).freshUrl();
  const clock = manualClock(Date.now() - 7_200_000);
  const engine = await engineNamed(name).openOnClock(url, clock);
  const api = openApi({ engine, clock });
  for (let made = 0; made < revisions; made += 500) {
    await engine.commit("team", Array.from({ length: 500 }, (_, i) => { const m = (made + i) % 100_000; const key = `project-${m % 97}/agent-${m % 31}/k-${m}`; return prepareCommit({ writes: [{ op: "put", key: `state/${key}`, value: { n: made + i, t: "Checked the deployment, two hosts answered late" }, record: { kind: "state", op: "set", subject: key } }], writer: "fleet", agent: `w-${i % 7}` }); }));
    clock.advance(Math.ceil(7_200_000 / (revisions / 500)));
  }
  for (let made = 0; made < 10_000; made += 250) { await Promise.all(Array.from({ length: 250 }, (_, i) => createRun(api.base, { name: "nightly import", runId: `run-${made + i}` }))); }
  for (let i = 0; i < 200; i += 1) {
    const { run_id } = await api.agent("workflow_claim", { agent_id: `worker-${i % 9}`, ttl_seconds: 60 });
    if (i % 3) await api.agent("workflow_checkpoint", { run_id, step: 1, output: { i }, agent_id: `worker-${i % 9}` });
    if (i % 4) await api.agent("workflow_finish", { run_id, status: "done", agent_id: `worker-${i % 9}` });
    if (i % 5 === 0) await api.agent("lease_acquire", { resource_id: `r${i}`, holder_id: `worker-${i % 9}`, ttl_seconds: 600 });
  }
  for (const [path, query] of [["overview", {}], ["activity", {}], ["activity", { kind: "lease" }], ["activity", { kind: "knowledge" }], ["activity", { subject: "project-1/" }], ["activity", { who: "worker-3" }], ["keys", {}], ["key", { key: "project-7/agent-7/k-7" }], ["folders", {}], ["runs", {}], ["run", { id: "run-3" }], ["leases", {}], ["search", { q: "nightly" }]] as [string, Record<string, string>][]) {
    const laps: string[] = [];
    for (let i = 0; i < 5; i += 1) { const c = process.cpuUsage(); const b = performance.now(); await api.get(`/api/ns/team/${path}`, query); const { user, system } = process.cpuUsage(c); laps.push(`${((user + system) / 1000).toFixed(1)}/${(performance.now() - b).toFixed(0)}`); if (path === "overview") await api.agent("state_set", { key: "x", value: i }); }
    console.log(name, path, JSON.stringify(query), "cpu/wall", laps.join(" "));
  }
  await engine[Symbol.asyncDispose]();
  expect(1).toBe(1);
}, 600_000);
