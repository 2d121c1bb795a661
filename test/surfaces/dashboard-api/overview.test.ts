import { describe, expect, test } from "vitest";
import { newRateMemory, readCommitRate } from "../../../src/domain/overview/commit-rate.ts";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import type { ActivityAnswer, Overview, RunDetail } from "../../../src/surfaces/dashboard/api.ts";
import { engines } from "../../support/engines.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { workAsTeam, writeJournal } from "./busy-team.ts";
import { openApi, openMemoryApi } from "./open-api.ts";

const path = "/api/ns/team/overview";
const startMs = 1_800_000_000_000;

describe("the overview", () => {
  test("of an empty namespace is empty and not an error", async () => {
    const overview = await openMemoryApi().get<Overview>(path);
    expect(overview).toMatchObject({
      revision: 0,
      counts: { keys: 0, runs: 0, leases: 0, waiting: 0, journal: 0, notes: 0, research: 0 },
      runDurations: [],
      leaseOccupancy: [],
      agents: [],
      stuck: [],
    });
    expect(overview.commitsPerMinute.minutes).toHaveLength(60);
    expect(overview.commitsPerMinute).toMatchObject({ complete: true });
  });

  test("is of one moment: a run that is taken meanwhile still has no worker, and its lease is not held", async () => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    let onRead: (() => Promise<unknown>) | undefined;
    const interleaved = new Proxy(engine, {
      get(target, name) {
        const member = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          const answer = await member.apply(target, args);
          const then = name === "read" || name === "position" ? onRead : undefined;
          onRead = then === undefined ? onRead : undefined;
          await then?.();
          return answer;
        };
      },
    });
    const [api, other] = [openApi({ engine: interleaved, clock }), openApi({ engine, clock })];
    await other.agent("workflow_create", { name: "job", run_id: "r" });
    await other.agent("workflow_claim", { run_id: "r", agent_id: "a", ttl_seconds: 30 });
    clock.advance(31_000);
    const { revision } = await other.base.store.position();
    onRead = () => other.agent("workflow_claim", { run_id: "r", agent_id: "b" });
    const overview = await api.get<Overview>(path);
    expect(onRead).toBeUndefined();
    expect(overview).toMatchObject({ revision, stuck: [{ kind: "run", id: "r", why: expect.stringContaining("a stopped") }] });
    expect((await other.get<Overview>(path)).stuck).toEqual([]);
  });

  test("counts what there is, and tells how runs ended and how long they took from their first worker on", async () => {
    const api = openMemoryApi();
    await workAsTeam(api, api.clock);
    await writeJournal(api, "done", "shop");
    const overview = await api.get<Overview>(path);
    expect(overview.counts).toEqual({ keys: 2, runs: 2, runsHeld: 0, runsWaiting: 1, leases: 1, waiting: 0, journal: 1, notes: 2, research: 1 });
    expect(overview.failedRuns).toEqual({ count: 0, of: 2 });
    expect(overview.runDurations).toEqual([{ runId: "import", name: "nightly import", status: "done", startedAtMs: startMs + 60_000, endedAtMs: startMs + 90_000 }]);
  });

  test("counts runs at work and waiting over all of them, lapsed claims among the waiting, and says over how many it counted the failed", async () => {
    const api = openMemoryApi();
    const create = (id: string) => api.agent("workflow_create", { name: id, run_id: id });
    const claim = (id: string, ttl_seconds: number) => api.agent("workflow_claim", { run_id: id, agent_id: "worker-1", ttl_seconds });
    // Older than the hundred that the overview reads.
    for (const id of ["failed-long-ago", "lapsed", "held", "returned", "never-claimed"]) await create(id);
    await claim("failed-long-ago", 60);
    await api.agent("workflow_finish", { run_id: "failed-long-ago", status: "failed", agent_id: "worker-1" });
    await claim("lapsed", 30);
    await claim("held", 600);
    await claim("returned", 600);
    const { run } = await api.get<RunDetail>("/api/ns/team/run", { id: "returned" });
    await api.post("/api/ns/team/runs/return", { runId: "returned", token: run.token });
    for (let i = 0; i < 100; i += 1) {
      await create(`run-${i}`);
      await claim(`run-${i}`, 60);
      await api.agent("workflow_finish", { run_id: `run-${i}`, status: i < 3 ? "failed" : "done", agent_id: "worker-1" });
    }
    api.clock.advance(31_000);
    const { counts, failedRuns } = await api.get<Overview>(path);
    expect(counts).toMatchObject({ runs: 105, runsHeld: 1, runsWaiting: 3 });
    expect(failedRuns).toEqual({ count: 3, of: 100 });
  });

  test("draws the runs that ended within the range", async () => {
    const api = openMemoryApi();
    await workAsTeam(api, api.clock);
    api.clock.advance(2 * 3_600_000);
    const ended = async (range: string) => (await api.get<Overview>(path, { range })).runDurations.map(({ runId }) => runId);
    expect([await ended("1h"), await ended("6h")]).toEqual([[], ["import"]]);
  });

  test("says which revision each step of the chart of commits ended with", async () => {
    const api = openMemoryApi();
    await api.agent("state_set", { key: "k", value: 1 });
    api.clock.advance(10 * 60_000);
    await api.agent("state_set", { key: "k", value: 2 });
    const { minutes } = (await api.get<Overview>(path)).commitsPerMinute;
    expect(minutes.filter(({ commits }) => commits > 0).map(({ through }) => through)).toEqual([1, 2]);
  });

  test("covers the range that is requested, in sixty steps", async () => {
    const api = openMemoryApi();
    await api.agent("state_set", { key: "k", value: 1 });
    await api.agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 60 });
    api.clock.advance(3 * 3_600_000);
    await api.agent("state_set", { key: "k", value: 2 });
    const read = async (range?: string) => {
      const { rangeMs, commitsPerMinute, leaseOccupancy } = await api.get<Overview>(path, range === undefined ? {} : { range });
      expect(commitsPerMinute.minutes).toHaveLength(60);
      return [rangeMs, commitsPerMinute.minutes.reduce((sum, { commits }) => sum + commits, 0), leaseOccupancy.length];
    };
    expect(await read()).toEqual([3_600_000, 1, 0]);
    expect(await read("15m")).toEqual([900_000, 1, 0]);
    expect(await read("6h")).toEqual([6 * 3_600_000, 3, 1]);
    expect(await read("7d")).toEqual([168 * 3_600_000, 3, 1]);
    await expect(api.get(path, { range: "2h" })).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("says when there were more agents than it lists", async () => {
    const api = openMemoryApi();
    const write = (agent: number) => api.agent("state_set", { key: "k", value: agent, agent_id: `agent-${agent}` });
    for (let i = 0; i < 30; i += 1) await write(i);
    expect(await api.get<Overview>(path)).toMatchObject({ agentsMore: false });
    await write(30);
    const { agents, agentsMore } = await api.get<Overview>(path);
    expect([agents.length, agentsMore]).toEqual([30, true]);
  });

  test("shows who held what and until when: renewals are one span, a lapse ends at its time, what is held now has no end", async () => {
    const api = openMemoryApi();
    await workAsTeam(api, api.clock);
    const { leaseOccupancy, leaseOccupancyOf, leaseOccupancyComplete } = await api.get<Overview>(path);
    expect(leaseOccupancyComplete).toBe(true);
    expect(leaseOccupancyOf).toEqual({ resources: 2, heldNow: 1 });
    expect(leaseOccupancy).toEqual([
      {
        resource: "deploy",
        spans: [
          { holder: "worker-1", fromMs: startMs + 90_000, untilMs: startMs + 105_000 },
          { holder: "worker-2", fromMs: startMs + 105_000 },
        ],
      },
      {
        resource: "workflow/import",
        title: "nightly import",
        spans: [
          { holder: "worker-1", fromMs: startMs + 60_000, untilMs: startMs + 70_000 },
          { holder: "worker-2", fromMs: startMs + 90_000, untilMs: startMs + 90_000 },
        ],
      },
    ]);
  });

  test("says how many resources were held in all, also those that it has no room for", async () => {
    const api = openMemoryApi();
    for (let i = 0; i < 30; i += 1) await api.agent("lease_acquire", { resource_id: `r${i}`, holder_id: "worker-1", ttl_seconds: 600 });
    for (let i = 0; i < 4; i += 1) await api.agent("lease_release", { resource_id: `r${i}`, holder_id: "worker-1" });
    const { leaseOccupancy, leaseOccupancyOf } = await api.get<Overview>(path);
    expect(leaseOccupancy).toHaveLength(24);
    expect(leaseOccupancyOf).toEqual({ resources: 30, heldNow: 26 });
  });

  test("draws nothing of the time before the oldest renewal that history still has", async () => {
    const api = openMemoryApi();
    await api.agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 50 });
    for (let i = 0; i < 7; i += 1) {
      api.clock.advance(20_000);
      await api.agent("lease_renew", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 50 });
    }
    await api.agent("lease_release", { resource_id: "deploy", holder_id: "worker-1" });
    await api.engine.compact("team", { ageMs: 1e12, revisions: 2, tombstones: 10 }, 1_000);
    const { leaseOccupancy, leaseOccupancyComplete, leaseOccupancySinceMs } = await api.get<Overview>(path);
    expect(leaseOccupancyComplete).toBe(false);
    expect(leaseOccupancySinceMs).toBe(leaseOccupancy[0]?.spans[0]?.fromMs);
    expect(leaseOccupancy).toEqual([{ resource: "deploy", spans: [{ holder: "worker-1", fromMs: startMs + 120_000, untilMs: startMs + 140_000 }] }]);
  });

  test("keeps the picture up from look to look, and shows the same as one that looks for the first time", async () => {
    const api = openMemoryApi();
    const withoutHealth = ({ health: _, ...overview }: Overview) => overview;
    for (let i = 0; i < 40; i += 1) {
      await api.agent("lease_acquire", { resource_id: `r${i % 3}`, holder_id: `worker-${i % 4}`, ttl_seconds: 50 });
      if (i % 5 === 0) await api.agent("lease_release", { resource_id: `r${i % 3}`, holder_id: `worker-${i % 4}` });
      api.clock.advance(i % 7 === 0 ? 600_000 : 20_000);
      const kept = await api.get<Overview>(path);
      const fresh = await openApi({ engine: api.engine, clock: api.clock }).get<Overview>(path);
      expect(withoutHealth(kept)).toEqual(withoutHealth(fresh));
    }
  });

  test("names who was active, the last one first, with what it did and how much it holds", async () => {
    const api = openMemoryApi();
    await workAsTeam(api, api.clock);
    const { agents } = await api.get<Overview>(path);
    expect(agents).toEqual([
      { agent: "fleet", writer: "fleet", lastAtMs: startMs + 105_000, lastDid: "saved research on Why is it slow?", holds: 0 },
      { agent: "worker-2", writer: "fleet", lastAtMs: startMs + 105_000, lastDid: "acquired deploy", holds: 1 },
      { agent: "worker-1", writer: "fleet", lastAtMs: startMs + 105_000, lastDid: "released deploy", holds: 0 },
    ]);
  });

  test("points out what is stuck and why: a run that was not taken over, a lease that others wait for, one held for hours", async () => {
    const api = openMemoryApi();
    await api.agent("workflow_create", { name: "import", run_id: "r" });
    await api.agent("workflow_claim", { run_id: "r", agent_id: "worker-1", ttl_seconds: 10 });
    await api.agent("workflow_checkpoint", { run_id: "r", step: 3, output: 1, agent_id: "worker-1" });
    await api.agent("lease_acquire", { resource_id: "old", holder_id: "worker-2", ttl_seconds: 10_000 });
    expect((await api.get<Overview>(path)).stuck).toEqual([]);
    api.clock.advance(3_700_000);
    await api.agent("lease_acquire", { resource_id: "awaited", holder_id: "worker-2", ttl_seconds: 600 });
    const waiting = api.agent("lease_acquire", { resource_id: "awaited", holder_id: "worker-3", ttl_seconds: 5, wait_seconds: 55 });
    const passing = (async () => {
      for (let i = 0; i < 65; i += 1) await api.clock.advanceBy(1_000);
    })();
    await Promise.all([waiting, passing]);
    const late = api.agent("lease_acquire", { resource_id: "awaited", holder_id: "worker-4", ttl_seconds: 5, wait_seconds: 5 });
    await api.clock.settle();
    const { stuck, counts } = await api.get<Overview>(path);
    expect(counts.waiting).toBe(1);
    expect(stuck).toMatchObject([
      { kind: "run", id: "r", title: "import", token: expect.any(Number), why: "worker-1 stopped after step 3, and no agent has taken over", sinceMs: startMs },
      {
        kind: "lease",
        id: "awaited",
        lease: { resource: "awaited", holder: "worker-2", token: expect.any(Number) },
        why: "worker-4 waits for worker-2, who has held it for 1m 5s",
        sinceMs: startMs + 3_700_000,
      },
      { kind: "lease", id: "old", lease: { resource: "old", holder: "worker-2", token: expect.any(Number) }, why: "held by worker-2 for 1h 2m", sinceMs: startMs },
    ]);
    await api.clock.advanceBy(6_000);
    await late;
    // Taken over, it is not stuck any more.
    await api.agent("workflow_claim", { run_id: "r", agent_id: "worker-5", ttl_seconds: 600 });
    expect((await api.get<Overview>(path)).stuck.map(({ id }) => id)).not.toContain("r");
  });
});

describe("commits per minute", () => {
  const count = (api: ReturnType<typeof openMemoryApi>, commits: number) =>
    Promise.all(Array.from({ length: commits }, (_, i) => api.base.store.commit({ writes: [{ op: "put", key: `state/${i}`, value: i }], writer: "fleet" })));

  test("are what happened in each minute, whether they came evenly or in bursts", async () => {
    const random = seededRandom(5);
    const api = openMemoryApi();
    const happened = new Map<number, number>();
    for (let i = 0; i < 200; i += 1) {
      const commits = random(10) === 0 ? 60 : random(3);
      await count(api, commits);
      const minute = Math.floor(api.clock.nowMs() / 60_000) * 60_000;
      happened.set(minute, (happened.get(minute) ?? 0) + commits);
      api.clock.advance(random(60_000));
    }
    const memory = newRateMemory();
    for (const later of [0, 90_000, 1_200_000, 4_000_000]) {
      api.clock.advance(later);
      const { revision, nowMs } = await api.base.store.read({ start: "", end: "" });
      const asked = { revision, nowMs, gaps: [] };
      while ((await readCommitRate(api.base.store, memory, asked)).estimated) expect(later).toBe(0);
      const rate = await readCommitRate(api.base.store, memory, asked);
      expect(rate.complete).toBe(true);
      expect(rate.minutes.map(({ commits }) => commits)).toEqual(rate.minutes.map(({ atMs }) => happened.get(atMs) ?? 0));
    }
  });

  test("of a very busy hour cost a bounded number of looks, add up from the first answer on and are right after a few", async () => {
    const random = seededRandom(6);
    const api = openMemoryApi();
    const happened = new Map<number, number>();
    for (let minute = 0; minute < 60; minute += 1) {
      const commits = 40 + random(160) * (minute % 7 === 0 ? 3 : 1);
      happened.set(api.clock.nowMs(), commits);
      for (let part = 0; part < 10; part += 1) {
        await count(api, Math.floor(commits / 10) + (part === 0 ? commits % 10 : 0));
        api.clock.advance(6_000);
      }
    }
    let looks = 0;
    const { store } = api.base;
    const watched = {
      ...store,
      log: (query: Parameters<typeof store.log>[0]) => {
        looks += 1;
        return store.log(query);
      },
    };
    const { revision, nowMs } = await store.read({ start: "", end: "" });
    const memory = newRateMemory();
    const off: number[] = [];
    for (let estimated = true; estimated; ) {
      looks = 0;
      const rate = await readCommitRate(watched, memory, { revision, nowMs: nowMs - 1, gaps: [] });
      estimated = rate.estimated;
      expect(looks).toBeLessThan(130);
      expect(rate.minutes.reduce((sum, { commits }) => sum + commits, 0)).toBe(revision);
      off.push(Math.max(...rate.minutes.map(({ atMs, commits }) => Math.abs(commits - (happened.get(atMs) as number)))));
    }
    expect(off.length).toBeLessThanOrEqual(6);
    // A bar stands between two beginnings, each off by what is promised at most.
    expect(off.at(-1)).toBeLessThanOrEqual(Math.ceil(revision / 2_000));
    looks = 0;
    await readCommitRate(watched, memory, { revision, nowMs: nowMs - 1, gaps: [] });
    expect(looks).toBeLessThan(5);
  });

  test("leave out the revisions that a store leapt over when its history went back", async () => {
    const api = openMemoryApi();
    await count(api, 5);
    const { revision, nowMs } = await api.base.store.read({ start: "", end: "" });
    const rate = await readCommitRate(api.base.store, newRateMemory(), { revision, nowMs, gaps: [[1, 4]] });
    expect(rate.minutes.at(-1)).toMatchObject({ commits: 3 });
  });

  test("say so where history does not reach back", async () => {
    const api = openMemoryApi();
    await count(api, 20);
    api.clock.advance(120_000);
    await count(api, 10);
    await api.engine.compact("team", { ageMs: 1e12, revisions: 5, tombstones: 10 }, 1_000);
    const { commitsPerMinute, leaseOccupancyComplete } = await api.get<Overview>(path);
    expect([commitsPerMinute.complete, leaseOccupancyComplete]).toEqual([false, false]);
  });
});

describe("the same answers", () => {
  test.each(engines)("overview and activity are as the memory engine has them on $name", async (under) => {
    const play = async (open: typeof under) => {
      const clock = manualClock();
      await using engine = await open.openOnClock(await open.freshUrl(), clock);
      const api = openApi({ engine, clock });
      await workAsTeam(api, clock);
      const first = await api.get<Overview>(path);
      clock.advance(130_000);
      await api.agent("state_set", { key: "later", value: 1, agent_id: "worker-9" });
      const { health, ...second } = await api.get<Overview>(path);
      const activity = await api.get<ActivityAnswer>("/api/ns/team/activity", { heartbeats: "true", limit: "200" });
      return { first: { ...first, health: undefined }, second, activity, engine: health.engine };
    };
    const memory = engines.find(({ name }) => name === "memory") ?? under;
    const { engine, ...answers } = await play(under);
    const { engine: _, ...expected } = await play(memory);
    expect(answers).toEqual(expected);
    expect(engine).toBe(under.name === "PostgreSQL" ? "postgres" : under.name.toLowerCase());
  });
});
