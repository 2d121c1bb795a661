import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { startPostgres } from "../../test/support/servers/postgres-server.ts";
import { startRedis } from "../../test/support/servers/redis-server.ts";
import { appendRate } from "../durable.ts";
import type { Budget, Figure } from "../report.ts";
import { against } from "../report.ts";
import { measureAgainst, spreadOf } from "../rounds.ts";
import type { Surroundings } from "../surroundings.ts";
import type { EngineWorkload } from "./engine-workload.ts";
import { openEngineWorkload } from "./engine-workload.ts";
import { openPgbench } from "./pgbench.ts";
import { openRedisBenchmark } from "./redis-benchmark.ts";

const rounds = 5;
const latencies = 60;

/** The results of an engine's own tool on the same server: commits one at a time, commits at its best, and reads. Per second. */
export interface Floors {
  readonly name: string;
  oneCommit(): Promise<number>;
  manyCommits(): Promise<number>;
  reads(): Promise<number>;
}

export const engineNames = ["sqlite", "postgres", "redis"] as const;
export type EngineName = (typeof engineNames)[number];

/** Each engine through the same store interface, compared with the benchmark tool of the engine itself, alternating on the same server. */
export const measureEngine: Readonly<Record<EngineName, (surroundings: Surroundings) => Promise<Figure[]>>> = {
  async sqlite({ folder, progress }) {
    await using workload = await openEngineWorkload(`sqlite:${join(folder, "engines.db")}`);
    const descriptor = openSync(join(folder, "engines-floor.log"), "a");
    const append = async (): Promise<number> => appendRate(descriptor);
    try {
      return await measure("SQLite", workload, { name: "append + fdatasync", oneCommit: append, manyCommits: append, reads: append }, { atLeast: 8 }, progress);
    } finally {
      closeSync(descriptor);
    }
  },
  async postgres({ progress }) {
    await using server = await startPostgres();
    await using workload = await openEngineWorkload(server.url);
    const floors = await openPgbench(server);
    return [...(await measure("PostgreSQL", workload, floors, { atLeast: 1.5 }, progress)), ...(await spreading(workload, progress))];
  },
  async redis({ progress }) {
    await using server = await startRedis({ appendfsync: "always" });
    await using workload = await openEngineWorkload(server.url);
    // Awaited here, because the server must outlive it.
    return await measure("Redis (appendfsync always)", workload, await openRedisBenchmark(server), { atLeast: 0.6 }, progress);
  },
};

async function measure(engine: string, workload: EngineWorkload, floors: Floors, budget: Budget, progress: (text: string) => void): Promise<Figure[]> {
  const said = (what: string) => (round: number) => progress(`${engine}, ${what}: round ${round} of ${rounds}`);
  const { one } = await measureAgainst(floors.oneCommit, { one: () => workload.commitRate(1) }, rounds, said("commits"));
  const { many } = await measureAgainst(floors.manyCommits, { many: () => workload.commitRate(64) }, rounds, said("commits, 64 in flight"));
  const { reads } = await measureAgainst(floors.reads, { reads: () => workload.readRate(64) }, rounds, said("reads"));
  progress(`${engine}, latencies`);
  const handOvers = await workload.handOverTimes(latencies);
  const watches = await workload.watchTimes(latencies);
  return [
    against(`${engine}: commits, one at a time`, "per second", floors.name, one),
    against(`${engine}: commits, 64 in flight, one namespace`, "per second", `${floors.name} at its best`, many, budget),
    against(`${engine}: reads of a key, 64 in flight`, "per second", `${floors.name} at its best`, reads),
    { what: `${engine}: lease hand-over, release to the next holder's answer`, unit: "ms", value: spreadOf(handOvers) },
    { what: `${engine}: watch, commit to a watcher on another connection`, unit: "ms", value: spreadOf(watches) },
  ];
}

/** Commits of one namespace are sequential; this measures several namespaces together. */
async function spreading(workload: EngineWorkload, progress: (text: string) => void): Promise<Figure[]> {
  const counts = [4, 16, 64] as const;
  const taken = await measureAgainst(
    () => workload.commitRate(64, 1),
    Object.fromEntries(counts.map((count) => [count, () => workload.commitRate(64, count)])),
    rounds,
    (round) => progress(`PostgreSQL, namespaces: round ${round} of ${rounds}`),
  );
  return counts.map((count) =>
    against(`PostgreSQL: commits, 64 in flight over ${count} namespaces`, "per second", "one namespace", taken[count] as NonNullable<(typeof taken)[string]>),
  );
}
