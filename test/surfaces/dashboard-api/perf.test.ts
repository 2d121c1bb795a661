import { expect, test } from "vitest";
import { createRun } from "../../../src/domain/workflows/workflows.ts";
import { readCommitRate } from "../../../src/domain/overview/commit-rate.ts";
import { readCounts } from "../../../src/domain/overview/counts.ts";
import { readOccupancy, readRecentAgents } from "../../../src/domain/overview/recent-work.ts";
import { findStuckWork } from "../../../src/domain/overview/stuck-work.ts";
import { readLeaseOverview } from "../../../src/domain/leases/lease-overview.ts";
import { findRuns } from "../../../src/domain/workflows/find-runs.ts";
import { prepareCommit } from "../../../src/store/prepare-commit.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { engineNamed } from "../../support/engines.ts";
import { openApi } from "./open-api.ts";
const names = (process.env.PERF ?? "SQLite").split(",");
const revisions = Number(process.env.REVS ?? 1_000_000);
test.each(names)("on %s", async (name) => {
  const url = await engineNamed(name).freshUrl();
  const clock = manualClock(Date.now() - 3_600_000);
  const engine = await engineNamed(name).openOnClock(url, clock);
  const api = openApi({ engine, clock });
  let t = performance.now();
  const lap = (what: string) => { const n = performance.now(); console.log(name, what, (n - t).toFixed(1)); t = n; };
  for (let made = 0; made < revisions; made += 500) {
    await engine.commit("team", Array.from({ length: 500 }, (_, i) => { const key = `project-${(made + i) % 97}/agent-${(made + i) % 31}/k-${(made + i) % 100_000}`; return prepareCommit({ writes: [{ op: "put", key: `state/${key}`, value: { n: made + i, t: "Checked the deployment, two hosts answered late" }, record: { kind: "state", op: "set", subject: key } }], writer: "fleet", agent: `w-${i % 7}` }); }));
    clock.advance(Math.ceil(7_200_000 / (revisions / 500)));
  }
  for (let made = 0; made < 10_000; made += 250) { await Promise.all(Array.from({ length: 250 }, (_, i) => createRun(api.base, { name: "nightly import", runId: `run-${made + i}` }))); }
  lap("fill");
  for (let i = 0; i < 300; i += 1) {
    const { run_id } = await api.agent("workflow_claim", { agent_id: `worker-${i % 9}`, ttl_seconds: 60 });
    if (i % 3) await api.agent("workflow_checkpoint", { run_id, step: 1, output: { i }, agent_id: `worker-${i % 9}` });
    if (i % 4) await api.agent("workflow_finish", { run_id, status: "done", agent_id: `worker-${i % 9}` });
    if (i % 5 === 0) await api.agent("lease_acquire", { resource_id: `r${i}`, holder_id: `worker-${i % 9}`, ttl_seconds: 600 });
  }
  lap("work");
  {
    const { base } = api; const { store } = base;
    for (let round = 0; round < 2; round += 1) {
      t = performance.now();
      await readCounts(base); lap("counts");
      await findRuns(base, { tags: [], claimable: false, limit: 200 }); lap("findRuns");
      const held = await readLeaseOverview(base, 500); lap("leases");
      let probes = 0; const counting = { ...store, log: (q: any) => { probes += 1; return store.log(q); } };
      const marks = new Map();
      const rate = await readCommitRate(counting, { nowMs: held.nowMs, revision: held.revision, gaps: [], marks }); lap("rate cold " + probes + " " + rate.minutes.slice(0, 5).map((m) => m.commits).join(",") + " " + rate.complete); probes = 0;
      await readCommitRate(counting, { nowMs: held.nowMs, revision: held.revision, gaps: [], marks }); lap("rate warm " + probes);
      const after = held.revision - 10_000;
      await readRecentAgents(base, { after, systemWriter: "holdfast", limit: 30 }); lap("agents");
      await readOccupancy(base, { after, sinceMs: held.nowMs - 3_600_000, nowMs: held.nowMs, live: held.leases }); lap("occupancy");
      await findStuckWork(base, held.leases, held.nowMs); lap("stuck");
      await engine.health("team"); lap("health");
    }
  }
  for (const [path, query] of [["overview", {}], ["overview", {}], ["overview", {}], ["activity", {}], ["activity", { kind: "lease" }], ["activity", { kind: "knowledge" }], ["keys", {}], ["keys", { prefix: "project-1" }], ["folders", {}], ["folders", { prefix: "project-1/" }], ["runs", {}], ["runs", { status: "failed" }], ["leases", {}], ["journal", {}], ["notes", {}], ["search", { q: "nightly" }], ["search", { q: "zzz" }], ["health", {}]] as [string, Record<string, string>][]) {
    const laps: number[] = [];
    for (let i = 0; i < (path === "overview" ? 1 : 5); i += 1) { const b = performance.now(); await api.get(`/api/ns/team/${path}`, query); laps.push(performance.now() - b); }
    console.log(name, path, JSON.stringify(query), laps.map((x) => x.toFixed(1)).join(" "));
  }
  await engine[Symbol.asyncDispose]();
  expect(1).toBe(1);
}, 600_000);
