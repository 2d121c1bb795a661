import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { loadSqliteDriver } from "../../../src/engines/sqlite/driver.ts";
import { openSqliteEngine } from "../../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { checkCommits } from "../../../src/verify/checkers/commits.ts";
import { checkHistoryEqualsState } from "../../../src/verify/checkers/history-equals-state.ts";
import { checkRevisions } from "../../../src/verify/checkers/revisions.ts";
import { CommitJournal } from "../../../src/verify/commit-journal.ts";
import type { Random } from "../../../src/verify/random.ts";
import { seededRandom } from "../../../src/verify/random.ts";
import { readWhole } from "../../../src/verify/read-whole.ts";
import type { WorkerMessage } from "../../../src/verify/worker-process.ts";
import { openProgress } from "../open-progress.ts";
import { workersDir } from "../worker-build.ts";
import { DiskModel } from "./disk-model.ts";
import type { DiskEvent } from "./read-trace.ts";
import { readTrace, tracedCalls } from "./read-trace.ts";

const namespace = "power";

export interface PowerLossRun {
  /** Groups of workers: those of a group run at once, the groups one after the other. */
  readonly groups: readonly number[];
  readonly actions: number;
  readonly states: number;
  /** Planted fault: synchronous=NORMAL. */
  readonly normal?: boolean;
  /** Planted fault: as if the folders above the store's own had never been synced. */
  readonly withoutFolderSyncs?: boolean;
  readonly seed: number;
}

export interface PowerLossResult {
  readonly states: number;
  readonly bad: number;
  readonly diskEvents: number;
  readonly syncs: number;
  readonly acknowledged: number;
  /** States in which something not yet synced was at risk. */
  readonly statesAtRisk: number;
  /** Of the bad ones: how often each fault was found, and the first in words. */
  readonly faults: Readonly<Record<string, number>>;
  readonly firstDetail?: string;
}

/** Traces real writers, then rebuilds the disk as a loss of power could leave it, again and again, and audits what our engine finds there. */
export async function runPowerLoss(run: PowerLossRun): Promise<PowerLossResult> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-power-"));
  const remains = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "holdfast-remains-"));
  try {
    const root = join(folder, "disk");
    const said = join(folder, "said");
    await mkdir(root);
    await mkdir(said);
    const trace = await traceWriters(folder, root, said, run);
    // The bell is a doorbell, and the shared index is rebuilt: neither carries data.
    const isStored = (path: string): boolean => (path === root || path.startsWith(`${root}/`)) && !path.endsWith("-shm") && !path.endsWith("-bell");
    const events = await readTrace(trace, (path) => isStored(path) || path.startsWith(`${said}/`));
    const kept = run.withoutFolderSyncs ? events.filter((event) => event.what !== "sync" || (event.path !== root && event.path !== join(root, "data"))) : events;
    return await auditStates(kept, root, said, remains, run);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await rm(remains, { recursive: true, force: true });
  }
}

/** In folders that do not exist yet, so that their making is part of the story. */
const storePath = (root: string): string => join(root, "data", "deeper", "holdfast.db");

async function traceWriters(folder: string, root: string, said: string, { groups, actions, normal, seed }: PowerLossRun): Promise<string> {
  const trace = join(folder, "trace");
  let count = 0;
  const commands: string[] = [];
  for (const size of groups) {
    for (let i = 0; i < size; i += 1) {
      count += 1;
      const name = `load-${count}`;
      const job = join(folder, `${name}.json`);
      await writeFile(job, `${JSON.stringify({ job: "load", name, store: `sqlite:${storePath(root)}`, namespace, seed: seed + count, actions })}\n`);
      commands.push(`"${process.execPath}" "${join(workersDir, "power-writer.mjs")}" --checkpoint-pages 40 ${normal ? "--normal" : ""} < "${job}" > "${join(said, name)}" &`);
    }
    commands.push("wait");
  }
  const strace = (await promisify(execFile)(process.execPath, [join(workersDir, "..", "..", "scripts", "test-services", "strace.mjs")])).stdout.trim();
  const child = spawn(strace, ["-f", "--seccomp-bpf", "-y", "-xx", "-s", "1000000", "-e", `trace=${tracedCalls}`, "-o", trace, "bash", "-c", commands.join("\n")], {
    stdio: "inherit",
  });
  const code = await new Promise<number | null>((resolve, reject) => child.once("error", reject).once("exit", resolve));
  if (code !== 0) throw new Error(`The traced writers ended with ${code}.`);
  return trace;
}

async function auditStates(events: readonly DiskEvent[], root: string, said: string, remains: string, { states, seed }: PowerLossRun): Promise<PowerLossResult> {
  const random = seededRandom(seed);
  const disk = new DiskModel(root);
  const journal = new CommitJournal();
  const cuts = chooseCuts(events, said, states, random);
  const faults: Record<string, number> = {};
  let firstDetail: string | undefined;
  let bad = 0;
  let statesAtRisk = 0;
  let done = 0;
  const tell = openProgress("states of the disk");
  const spoken = new Map<string, string>();
  for (const [index, event] of events.entries()) {
    if (event.what === "append" && event.path.startsWith(`${said}/`)) hear(journal, spoken, event.path, event.data.toString());
    else if (!event.path.startsWith(`${said}/`)) disk.apply(event);
    for (let times = cuts.get(index) ?? 0; times > 0; times -= 1) {
      done += 1;
      tell(done, states);
      const place = join(remains, String(done));
      await mkdir(place);
      disk.writeRemains(place, random);
      if (disk.bytesAtRisk > 0) statesAtRisk += 1;
      const found = await auditRemains(storePath(place), journal);
      await rm(place, { recursive: true });
      if (found.length === 0) continue;
      bad += 1;
      firstDetail ??= `after event ${index} (${event.what} ${basename(event.path)}): ${found[0]?.fault}: ${found[0]?.detail}`;
      for (const fault of new Set(found.map((violation) => violation.fault))) faults[fault] = (faults[fault] ?? 0) + 1;
    }
  }
  const acknowledged = journal.commits.filter((commit) => commit.answer !== undefined && commit.answer !== "refused").length;
  return { states: done, bad, diskEvents: events.length, syncs: events.filter((event) => event.what === "sync").length, acknowledged, statesAtRisk, faults, firstDetail };
}

/** Where power fails: often right after an answer was given, which is when the promise is youngest, else anywhere. */
function chooseCuts(events: readonly DiskEvent[], said: string, states: number, random: Random): ReadonlyMap<number, number> {
  const answers = events.flatMap((event, index) => (event.what === "append" && event.path.startsWith(said) && event.data.includes("answered") ? [index] : []));
  if (answers.length === 0) throw new Error("The traced writers were answered nothing.");
  const cuts = new Map<number, number>();
  for (let i = 0; i < states; i += 1) {
    const index = random() < 0.4 ? (answers[Math.floor(random() * answers.length)] as number) : Math.floor(random() * events.length);
    cuts.set(index, (cuts.get(index) ?? 0) + 1);
  }
  return cuts;
}

function hear(journal: CommitJournal, spoken: Map<string, string>, path: string, text: string): void {
  const lines = ((spoken.get(path) ?? "") + text).split("\n");
  spoken.set(path, lines.pop() ?? "");
  for (const line of lines) {
    const message = JSON.parse(line) as WorkerMessage;
    if (message.ready !== true) journal.hear(basename(path), message);
  }
}

interface Found {
  readonly fault: string;
  readonly detail: string;
}

/** Opens what is left with our own engine, as a user would after the power is back. */
async function auditRemains(path: string, journal: CommitJournal): Promise<readonly Found[]> {
  try {
    await using engine = await openSqliteEngine({ path });
    const store = openNamespaceStore(engine, namespace, systemClock);
    const { rows, revision, entries, nowMs } = await readWhole(store);
    const next = await store.commit({ writes: [{ op: "put", key: "after", value: true }], writer: "auditor" });
    return [
      ...checkCommits(journal.commits, rows),
      ...checkRevisions({ rows, acknowledged: journal.acknowledged, revision }),
      ...checkHistoryEqualsState({ rows, entries, nowMs }),
      ...(next.ok && next.revision === revision + 1 ? [] : [{ fault: "does_not_go_on", detail: `The next commit after revision ${revision} gave ${JSON.stringify(next)}.` }]),
      ...(await checkFile(path)),
    ];
  } catch (error) {
    return [{ fault: "store_does_not_open", detail: String(error) }];
  }
}

async function checkFile(path: string): Promise<readonly Found[]> {
  const database = (await loadSqliteDriver()).open(path);
  try {
    const answer = Object.values(database.prepare("PRAGMA integrity_check").get() as Record<string, unknown>)[0];
    return answer === "ok" ? [] : [{ fault: "file_damaged", detail: String(answer) }];
  } finally {
    database.close();
  }
}
