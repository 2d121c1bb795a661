import { limits } from "../../store/limits.ts";
import { partlyDone } from "../../store/partly-done.ts";
import type { HistoryRecord, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { journalKeys, knowledgeKeys, leaseKeys, researchKeys, sessionKeys, stateKeys, workflowKeys } from "../keyspace.ts";

/**
 * Deletes every entry that was there when it began, or at the revision given; what others wrote since stays. Revisions go on counting,
 * so that no version or token is ever given twice. History keeps one record for each thing that was removed.
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
  /** Things that history names, and entries of any kind. */
  readonly cleared: number;
  readonly removed: number;
  readonly next: string | undefined;
}

async function clearPage({ store, writer, agent }: Scope, start: string, began: Revision): Promise<ClearedPage> {
  const page = await store.read({ start }, { limit: limits.commitWritesMax, values: false });
  const old = page.entries.filter((entry) => entry.revision <= began);
  if (old.length > 0) {
    const checks = old.map(({ key, revision }) => ({ key, revision }));
    const result = await store.commit({ checks, writes: old.map(({ key }) => ({ op: "delete", key, record: recordOfKey(key, "reset") })), writer, agent });
    // Somebody wrote one of these since the page was read: look again, and leave theirs alone.
    if (!result.ok) return { cleared: 0, removed: 0, next: start };
  }
  const last = page.entries.at(-1);
  return {
    cleared: old.filter(({ key }) => recordOfKey(key, "reset") !== undefined).length,
    removed: old.length,
    next: page.more && last !== undefined ? `${last.key}\0` : undefined,
  };
}

/** What history says when an operator changes what is under a key. Bookkeeping keys (indexes, queues, holders) have no record of their own. */
export function recordOfKey(key: string, op: string): HistoryRecord | undefined {
  const named = (kind: string, prefix: string): HistoryRecord | undefined => (key.startsWith(prefix) ? { kind, op, subject: key.slice(prefix.length) } : undefined);
  return (
    named("state", stateKeys.all.start) ??
    named("session", sessionKeys.all.start) ??
    named("workflow", workflowKeys.runs.start) ??
    named("lease", leaseKeys.deadlines.start) ??
    named("checkpoint", journalKeys.entries.start) ??
    named("checkpoint", researchKeys.all.start) ??
    named("knowledge", knowledgeKeys.all.start)
  );
}
