import { describe, expect, test } from "vitest";
import { auditBlobs } from "../../src/domain/blobs/audit-blobs.ts";
import { blobGraceMs, renewalMs } from "../../src/domain/blobs/blob.ts";
import { openBlobChore } from "../../src/domain/blobs/collect-blobs.ts";
import { findBlob } from "../../src/domain/blobs/find-blob.ts";
import { blobKeys } from "../../src/domain/keyspace.ts";
import { deleteState, readState } from "../../src/domain/state/state.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Engine, Store } from "../../src/store/store.ts";
import type { EngineUnderTest } from "../support/engines.ts";
import { engineNamed, sharedEngines } from "../support/engines.ts";
import { manualClock } from "../support/manual-clock.ts";
import { scaled } from "../support/scale.ts";
import { spawnWorker } from "../support/spawn-worker.ts";

const mebibyte = 1_048_576;

interface Told {
  readonly put?: string;
  readonly named?: string;
  readonly done?: number;
  readonly calls?: readonly ("read" | "commit")[];
  readonly before?: Memory;
  readonly peak?: Memory;
}
interface Memory {
  readonly liveBytes: number;
  readonly rssBytes: number;
}

/** Everything that a writer told before it ended, by itself or not. */
async function work(job: Readonly<Record<string, unknown>>, nodeFlags: readonly string[] = []): Promise<Told> {
  const worker = spawnWorker<Told>("blob-writer", job, { nodeFlags });
  let told: Told = {};
  for (;;) {
    try {
      told = { ...told, ...(await worker.next()) };
      if (told.done !== undefined) return told;
    } catch (error) {
      // Only the kill that was asked for ends a writer early.
      if (!/signal SIGKILL/.test(String(error))) throw error;
      return told;
    }
  }
}

interface Site extends AsyncDisposable {
  readonly url: string;
  readonly engine: Engine;
  readonly clock: ReturnType<typeof manualClock>;
}

async function openSite(on: EngineUnderTest): Promise<Site> {
  const url = await on.freshUrl();
  const clock = manualClock(Date.now());
  const engine = await on.openOnClock(url, clock);
  return { url, engine, clock, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

/** Lets the grace time pass and collects, until a chunk of a blob that is gone is gone too. */
async function collectAll({ clock }: Site, store: Store): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    clock.advance(blobGraceMs + renewalMs);
    await openBlobChore()(store);
  }
}

for (const on of sharedEngines)
  describe(`a writer of a blob that is killed, on ${on.name}`, () => {
    const bytes = (on.isServer ? 8 : 50) * mebibyte + 77;

    test("leaves nothing dangling and loses nothing, at whatever step it dies; what it leaves is collected", async () => {
      await using site = await openSite(on);
      const job = { url: site.url, bytes };
      const { calls = [] } = await work({ ...job, namespace: "counting", seed: 0 });
      const points = calls.flatMap((kind, i) => (["answered", ...(kind === "commit" ? ["sent"] : [])] as const).map((when) => ({ dieAt: i + 1, when })));
      const every = Math.max(1, Math.floor(points.length / scaled(points.length, 24)));
      const chosen = points.filter((_, i) => i % every === 0);
      const figures = { kills: 0, before_put: 0, put: 0, named: 0, leftovers: 0 };
      for (const [run, point] of chosen.entries()) {
        const namespace = `run ${run}`;
        const told = await work({ ...job, ...point, namespace, seed: run + 1 });
        const where = { point, told };
        expect(told.done, JSON.stringify(where)).toBe(undefined);
        const store = openNamespaceStore(site.engine, namespace, site.clock);
        const scope = { store, clock: site.clock, writer: "auditor" };
        const audit = await auditBlobs(store);
        expect({ ...where, problems: audit.problems }).toEqual({ ...where, problems: [] });
        // What was acknowledged is there, and the audit has read its content.
        if (told.put !== undefined) expect(await findBlob(scope, told.put)).toMatchObject({ bytes });
        const owner = await readState(scope, "owner");
        if (told.named !== undefined) expect(owner).toMatchObject({ value: told.named });
        figures.kills += 1;
        figures[told.named !== undefined ? "named" : told.put !== undefined ? "put" : "before_put"] += 1;
        figures.leftovers += audit.unnamed;
        await collectAll(site, store);
        expect({ ...where, kept: (await auditBlobs(store)).blobs, problems: (await auditBlobs(store)).problems }).toEqual({
          ...where,
          kept: owner === undefined ? 0 : 1,
          problems: [],
        });
        await deleteState(scope, { key: "owner" });
        await collectAll(site, store);
        expect({ ...where, left: await store.count(blobKeys.all) }).toEqual({ ...where, left: 0 });
        // The disk is not to hold the history of every run.
        const retention = { ageMs: 0, revisions: 1, tombstones: 0 };
        while ((await site.engine.compact(namespace, retention, 500)).more);
      }
      console.log(`blob writers killed on ${on.name}: ${JSON.stringify({ bytes, steps: calls.length, ...figures, dangling: 0, lost: 0 })}`);
      // Kills before, between and after what is acknowledged: a campaign without one of them proves less than it says.
      expect(Math.min(figures.before_put, figures.put + figures.named, figures.leftovers)).toBeGreaterThan(0);
    });
  });

test("the same audit finds what a store leaves that applies the writes of a commit one by one", async () => {
  await using site = await openSite(engineNamed("SQLite"));
  const job = { url: site.url, bytes: 3 * mebibyte, torn: true };
  const { calls = [] } = await work({ ...job, namespace: "counting", seed: 0 });
  const faults = new Set<string>();
  const commits = calls.flatMap((kind, i) => (kind === "commit" ? [i + 1] : []));
  for (const [run, dieAt] of commits.entries()) {
    await work({ ...job, namespace: `run ${run}`, seed: run + 1, dieAt, when: "answered" });
    const { problems } = await auditBlobs(openNamespaceStore(site.engine, `run ${run}`, site.clock));
    for (const { fault } of problems) faults.add(fault);
  }
  console.log(`torn commits: ${commits.length} kills, found ${[...faults].join(", ")}`);
  expect([...faults].sort()).toEqual(expect.arrayContaining(["left_over", "use_differs"]));
});

test("a blob is written and read in memory that does not grow with it", async () => {
  await using site = await openSite(engineNamed("SQLite"));
  const measure = async (size: number) => {
    const { before, peak, done } = await work({ url: site.url, namespace: `size ${size}`, bytes: size, seed: size, measured: true }, ["--expose-gc"]);
    expect(done).toBe(size);
    if (before === undefined || peak === undefined) throw new Error("The writer told no figures.");
    return { live: peak.liveBytes - before.liveBytes, rss: peak.rssBytes - before.rssBytes };
  };
  const [small, large] = [await measure(8 * mebibyte), await measure(64 * mebibyte)];
  console.log(`memory above the start, in MiB: ${JSON.stringify({ small, large }, (_, value) => (typeof value === "number" ? Math.round(value / 104_857.6) / 10 : value))}`);
  // Content that were kept in memory would add 56 MiB, and more as base64.
  expect(large.live - small.live).toBeLessThan(4 * mebibyte);
  expect(large.live).toBeLessThan(24 * mebibyte);
  expect(large.rss - small.rss).toBeLessThan(56 * mebibyte);
});
