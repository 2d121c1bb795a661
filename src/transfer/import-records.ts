import type { AdoptOptions, Landing } from "../domain/adoption.ts";
import { adoptEntry } from "../domain/journal/adopt-entry.ts";
import { adoptNote } from "../domain/knowledge/adopt-note.ts";
import type { Mirror } from "../domain/mirror/mirror.ts";
import { mirrorCheckpoint, mirrorNote } from "../domain/mirror/mirror.ts";
import { adoptCheckpoint } from "../domain/research/adopt-checkpoint.ts";
import { adoptSession } from "../domain/sessions/adopt-session.ts";
import { adoptState } from "../domain/state/adopt-state.ts";
import { adoptRun } from "../domain/workflows/adopt-run.ts";
import type { KnownWorkspace } from "../domain/workspace/known-workspaces.ts";
import { isHoldfastError } from "../kernel/errors.ts";
import { canonicalJson } from "../kernel/json.ts";
import type { Scope } from "../store/transact.ts";
import type { Found, FoundRecord, Problem, Reading } from "./originals/reading.ts";
import { idOf } from "./originals/reading.ts";

export interface ImportOptions extends AdoptOptions {
  /** The workspace for entries whose workspace is known only by name. */
  readonly workspaceOf: (name: string) => Promise<KnownWorkspace>;
  readonly mirror?: Mirror;
  /** Called after each record. */
  readonly onProgress?: (done: number, all: number) => void;
}

export type KindCounts = Readonly<Record<Landing, number>>;

export interface ImportReport {
  readonly source: Reading["source"];
  readonly dryRun: boolean;
  readonly kinds: Readonly<Record<string, KindCounts>>;
  /** Existing records with the same name but different content, which stay. */
  readonly different: readonly { readonly kind: string; readonly id: string }[];
  /** Records that could not be read or are not allowed here, with the reason. */
  readonly problems: readonly Problem[];
  readonly adjusted: readonly { readonly kind: string; readonly id: string; readonly what: string }[];
  readonly leftBehind: Reading["leftBehind"];
}

/**
 * Imports the records one by one or, in a dry run, reports what that would do. Names, times and contents decide,
 * so repeating an import changes nothing, and an interrupted import is completed by repeating it.
 */
export async function importRecords(scope: Scope, reading: Reading, options: ImportOptions): Promise<ImportReport> {
  const kinds: Record<string, Record<Landing, number>> = {};
  const different: { kind: string; id: string }[] = [];
  const adjusted: { kind: string; id: string; what: string }[] = [];
  const problems: Problem[] = [...reading.problems];
  const planned = new Map<string, string>();
  const landings = await landAll(scope, reading.records, options);
  for (const [i, record] of reading.records.entries()) {
    const landing = besides(planned, record, landings[i] as Landing | Problem, options);
    if (typeof landing === "object") {
      problems.push(landing);
      continue;
    }
    const counts = kinds[record.kind] ?? { new: 0, same: 0, different: 0, lapsed: 0 };
    kinds[record.kind] = counts;
    counts[landing] += 1;
    if (landing === "different") different.push({ kind: record.kind, id: idOf(record) });
    if (landing === "new") adjusted.push(...(record.adjusted ?? []).map((what) => ({ kind: record.kind, id: idOf(record), what })));
  }
  return { source: reading.source, dryRun: options.dryRun, kinds, different, problems, adjusted, leftBehind: reading.leftBehind };
}

/** Commits in flight together share one disk write. */
const inFlightMax = 64;

/** Records of the same queue are imported one after the other: entries of a session, so that its highlights keep their order, and records with the same name. */
const queueOf = (record: FoundRecord): string => (record.kind === "journal entry" ? `session ${record.entry.sessionId}` : `${record.kind} ${idOf(record)}`);

async function landAll(scope: Scope, records: readonly FoundRecord[], options: ImportOptions): Promise<readonly (Landing | Problem)[]> {
  const landings: (Landing | Problem)[] = [];
  const queues = new Map<string, number[]>();
  for (const [i, record] of records.entries()) {
    const queue = queues.get(queueOf(record)) ?? [];
    queue.push(i);
    queues.set(queueOf(record), queue);
  }
  const waiting = queues.values();
  let done = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    for (const queue of waiting) {
      for (const i of queue) {
        if (failed) return;
        landings[i] = await land(scope, records[i] as FoundRecord, options);
        done += 1;
        options.onProgress?.(done, records.length);
      }
    }
  };
  const outcomes = await Promise.allSettled(
    Array.from({ length: inFlightMax }, () =>
      work().catch((error: unknown) => {
        failed = true;
        throw error;
      }),
    ),
  );
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure !== undefined) throw failure.reason;
  return landings;
}

/** A record found twice is imported once. A dry run writes nothing, so it must remember what it has seen. */
function besides(
  planned: Map<string, string>,
  { where: _, author: __, adjusted: ___, ...found }: FoundRecord,
  landing: Landing | Problem,
  { dryRun }: AdoptOptions,
): Landing | Problem {
  if (!dryRun || landing !== "new") return landing;
  const name = `${found.kind} ${idOf(found as Found)}`;
  const before = planned.get(name);
  const content = canonicalJson(found);
  planned.set(name, before ?? content);
  if (before === undefined) return "new";
  return before === content ? "same" : "different";
}

/** A rejected record is reported as a problem; any other error, such as a full disk, ends the import. */
async function land(scope: Scope, record: FoundRecord, options: ImportOptions): Promise<Landing | Problem> {
  try {
    const landing = await adoptFound({ ...scope, agent: record.author ?? scope.agent }, record, options);
    if (landing === "new" && !options.dryRun) await mirror(scope, record, options.mirror);
    return landing;
  } catch (error) {
    if (!isHoldfastError(error, "invalid_input") && !isHoldfastError(error, "limit_exceeded") && !isHoldfastError(error, "ambiguous")) throw error;
    return { where: record.where, reason: error.message };
  }
}

async function adoptFound(scope: Scope, found: Found, options: ImportOptions): Promise<Landing> {
  switch (found.kind) {
    case "state":
      return adoptState(scope, found.state, options);
    case "run":
      return adoptRun(scope, found.run, options);
    case "session":
      return adoptSession(scope, found.session, options);
    case "journal entry":
      return adoptEntry(scope, found.entry, await options.workspaceOf(found.workspaceName), options);
    case "research checkpoint":
      return adoptCheckpoint(scope, found.checkpoint, options);
    case "note":
      return adoptNote(scope, found.note, options);
  }
}

/** The mirror logs a copy that cannot be written; the record is in the store either way. */
async function mirror(scope: Scope, found: Found, to: Mirror | undefined): Promise<void> {
  if (found.kind === "research checkpoint") await mirrorCheckpoint(scope, to, found.checkpoint.id);
  else if (found.kind === "note") await mirrorNote(scope, to, idOf(found));
}
