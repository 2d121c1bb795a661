import { recordOfKey } from "../../domain/admin/reset.ts";
import { findableText } from "../../domain/findable/findable-text.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { limits } from "../../store/limits.ts";
import { partlyDone } from "../../store/partly-done.ts";
import { compareKeys, everything, isLive, rangeAfter } from "../../store/ranges.ts";
import type { Check, Entry, Range, Snapshot, Store, Write } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";

/** How often one page may lose to concurrent writers. */
const attemptsMax = 50;
const pageEntries = 64;

export interface RestoredInPlace {
  readonly written: number;
  readonly removed: number;
  readonly same: number;
  /** The revision of the last commit, or the current one if nothing had to be changed. */
  readonly revision: number;
}

/** Leases describe the present: restoring a past one would give a resource to an agent that is gone. */
const isLease = (key: string): boolean => key.startsWith("lease/");

/**
 * Restores the namespace's state of another moment as new commits: nothing is lost, versions and tokens keep increasing, and history shows who did it.
 * It works page by page, with checks on what it replaces. Concurrent writes make a page fail and be read again, so the result matches the past state.
 */
export async function restoreInPlace(
  scope: Scope,
  past: (range: Range, limit: number) => Promise<Snapshot>,
  onEntries: (count: number) => Promise<void> = async () => {},
): Promise<RestoredInPlace> {
  const { store } = scope;
  let [written, removed, same, revision] = [0, 0, 0, 0];
  for (let range: Range | undefined = everything; range !== undefined; ) {
    const page: Page = await commitPage(scope, store, past, range).catch((error: unknown) => {
      throw written + removed === 0 ? error : partlyDone(error, "A part of the namespace was restored", "Run the same command again; what is already restored remains.");
    });
    written += page.written;
    removed += page.removed;
    same += page.same;
    revision = Math.max(revision, page.revision);
    await onEntries(written + removed + same);
    range = page.next;
  }
  return { written, removed, same, revision };
}

interface Page {
  readonly written: number;
  readonly removed: number;
  readonly same: number;
  readonly revision: number;
  readonly next: Range | undefined;
}

async function commitPage(scope: Scope, store: Store, past: (range: Range, limit: number) => Promise<Snapshot>, range: Range): Promise<Page> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const [was, is] = [await past(range, pageEntries), await store.read(range, { limit: pageEntries })];
    // Both snapshots are complete up to the nearer of their ends, and one commit has limited space.
    const end = [...[was, is].flatMap(({ entries, more }) => (more ? [(entries.at(-1) as Entry).key] : [])), ...fullAt(was.entries)].sort(compareKeys)[0];
    const within = ({ key }: Entry): boolean => (end === undefined || compareKeys(key, end) <= 0) && !isLease(key);
    const change = changesBetween(was.entries.filter(within), is.entries.filter(within), is.nowMs);
    const next = end === undefined ? undefined : rangeAfter(range, end);
    const counts = { written: change.puts, removed: change.writes.length - change.puts, same: change.same, next };
    if (change.writes.length === 0) return { ...counts, revision: is.revision };
    const result = await store.commit({ checks: change.checks, writes: change.writes, writer: scope.writer, agent: scope.agent });
    if (result.ok) return { ...counts, revision: result.revision };
  }
  throw new HoldfastError("conflict", "Others kept writing to the same keys; the restore is incomplete.", {
    hint: "Stop the agents for a moment and run the same command again; what is already restored remains.",
  });
}

/** The key at which long values have filled a commit. */
function fullAt(entries: readonly Entry[]): string[] {
  let bytes = 0;
  for (const { key, value } of entries) {
    bytes += Buffer.byteLength(JSON.stringify(value)) + Buffer.byteLength(key);
    if (bytes > limits.commitBytesMax - limits.valueBytesMax - limits.engineKeyBytesMax) return [key];
  }
  return [];
}

function changesBetween(was: readonly Entry[], is: readonly Entry[], nowMs: number) {
  const now = new Map(is.map((entry) => [entry.key, entry]));
  const checks: Check[] = [];
  const writes: Write[] = [];
  let same = 0;
  // Entries that would have expired since are not restored.
  for (const entry of was.filter((one) => isLive(one, nowMs))) {
    const current = now.get(entry.key);
    now.delete(entry.key);
    if (current !== undefined && current.expiresAtMs === entry.expiresAtMs && canonicalJson(current.value) === canonicalJson(entry.value)) {
      same += 1;
      continue;
    }
    checks.push({ key: entry.key, version: current?.version ?? 0 });
    writes.push(putOf(entry, nowMs));
  }
  const puts = writes.length;
  for (const { key, version } of now.values()) {
    checks.push({ key, version });
    writes.push({ op: "delete", key, record: recordOfKey(key, "restore") });
  }
  return { checks, writes, puts, same };
}

function putOf({ key, value, expiresAtMs }: Entry, nowMs: number): Write {
  const ttl = expiresAtMs === undefined ? {} : { ttlMs: expiresAtMs - nowMs, lapse: recordOfKey(key, "expire") };
  return { op: "put", key, value, ...ttl, index: findableText(key, value), record: recordOfKey(key, "restore") };
}
