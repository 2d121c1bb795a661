import { limits } from "../../store/limits.ts";
import { partlyDone } from "../../store/partly-done.ts";
import { inRange } from "../../store/ranges.ts";
import type { HistoryRecord, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { blobKeys, effectKeys, journalKeys, knowledgeKeys, leaseKeys, researchKeys, sessionKeys, stateKeys, workflowKeys } from "../keyspace.ts";

/**
 * Deletes every entry that existed at the given revision, or when the reset began. Entries that others wrote later stay.
 * Revision numbers continue, so no version or token is ever handed out twice. History keeps one record for each named thing that was removed.
 */
export async function resetNamespace(scope: Scope, upTo?: number): Promise<{ readonly cleared: number }> {
  const began = upTo ?? (await scope.store.position()).revision;
  let [cleared, removed] = [0, 0];
  for (let start: string | undefined = ""; start !== undefined; ) {
    try {
      const page: ClearedPage = await clearPage(scope, start, began);
      cleared += page.cleared;
      removed += page.removed;
      start = page.next;
    } catch (error) {
      throw removed === 0 ? error : partlyDone(error, "A part of the namespace was cleared", "Call again to clear the rest.");
    }
  }
  return { cleared };
}

interface ClearedPage {
  /** `cleared` counts things that history names; `removed` counts entries of any kind. */
  readonly cleared: number;
  readonly removed: number;
  readonly next: string | undefined;
}

async function clearPage({ store, writer, agent }: Scope, start: string, began: Revision): Promise<ClearedPage> {
  const page = await store.read({ start }, { limit: limits.commitWritesMax, values: false });
  // A blob may be newer than the chunks it is made of. Nothing refers to the old ones any more, so they are collected after their grace time.
  const old = page.entries.filter((entry) => entry.revision <= began && !inRange(entry.key, blobKeys.all));
  if (old.length > 0) {
    const checks = old.map(({ key, revision }) => ({ key, revision }));
    const result = await store.commit({ checks, writes: old.map(({ key }) => ({ op: "delete", key, record: recordOfKey(key, "reset") })), writer, agent });
    // Another writer changed one of these entries after the page was read: read the page again and keep the new entry.
    if (!result.ok) return { cleared: 0, removed: 0, next: start };
  }
  const last = page.entries.at(-1);
  return {
    cleared: old.filter(({ key }) => recordOfKey(key, "reset") !== undefined).length,
    removed: old.length,
    next: page.more && last !== undefined ? `${last.key}\0` : undefined,
  };
}

/** The history record for an operator's change to a key. Bookkeeping keys (indexes, queues, holders) get no record. */
export function recordOfKey(key: string, op: string): HistoryRecord | undefined {
  const named = (kind: string, prefix: string): HistoryRecord | undefined => (key.startsWith(prefix) ? { kind, op, subject: key.slice(prefix.length) } : undefined);
  return (
    named("state", stateKeys.all.start) ??
    named("session", sessionKeys.all.start) ??
    named("workflow", workflowKeys.runs.start) ??
    named("effect", effectKeys.records.start) ??
    named("lease", leaseKeys.deadlines.start) ??
    named("checkpoint", journalKeys.entries.start) ??
    named("checkpoint", researchKeys.all.start) ??
    named("knowledge", knowledgeKeys.all.start)
  );
}
