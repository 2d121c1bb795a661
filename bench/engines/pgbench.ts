import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { startPostgres } from "../../test/support/servers/postgres-server.ts";
import { requirePostgresPrograms } from "../../test/support/servers/server-programs.ts";
import { keysInUse, noteOf } from "../workload.ts";
import type { Floors } from "./measure-engines.ts";

const clientCounts = [8, 16, 32, 64] as const;
const secondsMax = 8;

/** PostgreSQL's own benchmark: one row per transaction, upserted or read by its key, at the number of clients that is fastest here. */
export async function openPgbench(server: Awaited<ReturnType<typeof startPostgres>>): Promise<Floors> {
  const programs = await requirePostgresPrograms();
  const folder = await mkdtemp(join(tmpdir(), "holdfast-pgbench-"));
  const value = JSON.stringify(noteOf(0)).replaceAll("'", "''");
  const scripts = {
    upsert: `\\set k random(1, ${keysInUse})\nINSERT INTO bench_floor VALUES (:k, '${value}') ON CONFLICT (k) DO UPDATE SET v = excluded.v;\n`,
    read: `\\set k random(1, ${keysInUse})\nSELECT v FROM bench_floor WHERE k = :k;\n`,
  };
  for (const [name, text] of Object.entries(scripts)) writeFileSync(join(folder, `${name}.sql`), text);
  await server.query(`CREATE TABLE bench_floor (k bigint PRIMARY KEY, v text NOT NULL)`);
  await server.query(`INSERT INTO bench_floor SELECT k, '${value}' FROM generate_series(1, ${keysInUse}) AS k`);
  const rate = async (script: keyof typeof scripts, clients: number, seconds = 1): Promise<number> => {
    const args = [
      "-n",
      "-M",
      "prepared",
      "-f",
      join(folder, `${script}.sql`),
      "-c",
      String(clients),
      "-j",
      String(Math.min(clients, 2)),
      "-T",
      String(seconds),
      server.superuserUrl,
    ];
    const { stdout } = await promisify(execFile)(programs.path("pgbench"), args);
    const found = /tps = ([\d.]+) \(without/.exec(stdout)?.[1] ?? /tps = ([\d.]+)/.exec(stdout)?.[1];
    // On a busy machine, it can take a second until the clients are connected.
    if (found === undefined && seconds < secondsMax) return rate(script, clients, seconds * 2);
    if (found === undefined) throw new Error(`pgbench did not print a rate:\n${stdout}`);
    return Number(found);
  };
  const best = async (script: keyof typeof scripts): Promise<number> => {
    const tried: [number, number][] = [];
    for (const clients of clientCounts) tried.push([await rate(script, clients), clients]);
    return tried.reduce((top, each) => (each[0] > top[0] ? each : top))[1];
  };
  const atBest = { upsert: await best("upsert"), read: await best("read") };
  return {
    name: "pgbench",
    oneCommit: () => rate("upsert", 1),
    manyCommits: () => rate("upsert", atBest.upsert),
    reads: () => rate("read", atBest.read),
  };
}
