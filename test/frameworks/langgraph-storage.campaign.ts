import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { requireService } from "../stories/installed-package.ts";
import { PaceSampler } from "../support/pace.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { startPostgres } from "../support/servers/postgres-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { GraphCommand, GraphWorkerArguments } from "../workers/graph-worker.ts";
import { next, startGraphWorker } from "./graph-takeover.ts";

const steps = 200;
const resumeMsMax = 10;

/** A megabyte that cannot be compressed well. */
const text = ((): string => {
  const random = seededRandom(7);
  return Array.from({ length: 65_536 }, () => (random(2 ** 24) * 2 ** 24 + random(2 ** 24)).toString(36).padStart(16, "0").slice(-16)).join("");
})();

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;

/** Runs the graph of many steps, then reads its latest checkpoint. */
async function play(how: Omit<GraphWorkerArguments, "name">): Promise<{ readonly resumeMs: number; readonly floorMs: number; readonly pace: number }> {
  const worker = await startGraphWorker({ ...how, name: "one" });
  const file = join(await temporaryFolder(), "state.json");
  await writeFile(file, JSON.stringify({ text }));
  const tell = (command: GraphCommand): void => worker.send(command);
  tell({ op: "grow", thread: "t", text, steps });
  await next(worker, "ended", 1);
  using pace = new PaceSampler();
  const startMs = performance.now();
  tell({ op: "resume", thread: "t", file, times: 41 });
  const [{ ms, floorMs } = { ms: [], floorMs: [] }] = await next(worker, "resumed", 1);
  const result = { resumeMs: median(ms), floorMs: median(floorMs), pace: pace.since(startMs) };
  await worker.kill();
  return result;
}

async function sqliteBytes(folder: string): Promise<number> {
  const [name = ""] = (await readdir(folder)).filter((file) => file.endsWith(".db"));
  const database = new DatabaseSync(join(folder, name));
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  const sizes = await Promise.all((await readdir(folder)).map(async (file) => (await stat(join(folder, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const print = (what: string, bytes: number, { resumeMs, floorMs, pace }: Awaited<ReturnType<typeof play>>): void =>
  console.log(
    `${what}: ${(bytes / 1e6).toFixed(2)} MB after ${steps} steps over 1 MB; the latest checkpoint in ${resumeMs.toFixed(1)} ms, a file of the same text in ${floorMs.toFixed(1)} ms (pace ${pace.toFixed(1)})`,
  );

test("200 steps over a megabyte that stays take at most a twentieth of the bytes of LangGraph's SQLite saver, and the latest checkpoint is read in 10 ms", async () => {
  const beside = await requireService("langgraph-savers.mjs");
  const [ours, theirs] = [await temporaryFolder(), await temporaryFolder()];
  const holdfast = await play({ saver: "holdfast", url: `sqlite:${join(ours, "store.db")}`, beside });
  const stock = await play({ saver: "sqlite", url: join(theirs, "stock.db"), beside });
  const [holdfastBytes, stockBytes] = [await sqliteBytes(ours), await sqliteBytes(theirs)];
  print("HoldfastSaver on SQLite", holdfastBytes, holdfast);
  print("LangGraph's SQLite saver", stockBytes, stock);
  expect(stockBytes / holdfastBytes).toBeGreaterThanOrEqual(20);
  expect(holdfast.resumeMs).toBeLessThan(resumeMsMax * holdfast.pace);
});

test("on PostgreSQL, both savers store a value once", async () => {
  const beside = await requireService("langgraph-savers.mjs");
  await using postgres = await startPostgres();
  const databaseBytes = async (): Promise<number> => Number(await postgres.query("SELECT sum(pg_database_size(datname)) FROM pg_database"));
  const grown = async (how: Omit<GraphWorkerArguments, "name">): Promise<readonly [number, Awaited<ReturnType<typeof play>>]> => {
    const before = await databaseBytes();
    const played = await play(how);
    await postgres.query("CHECKPOINT");
    return [(await databaseBytes()) - before, played];
  };
  const [holdfastBytes, holdfast] = await grown({ saver: "holdfast", url: postgres.url, beside });
  const [stockBytes, stock] = await grown({ saver: "postgres", url: postgres.superuserUrl, beside });
  print("HoldfastSaver on PostgreSQL", holdfastBytes, holdfast);
  print("LangGraph's PostgreSQL saver", stockBytes, stock);
  // The static megabyte and what the steps wrote; 200 copies would be 200 MB.
  for (const bytes of [holdfastBytes, stockBytes]) expect(bytes).toBeLessThan(20_000_000);
});
