import { limits } from "../../store/limits.ts";
import { everything } from "../../store/ranges.ts";
import type { HistoryRecord } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { journalKeys, knowledgeKeys, leaseKeys, researchKeys, sessionKeys, stateKeys, workflowKeys } from "../keyspace.ts";

/**
 * Deletes every entry that was there when it began, or at the revision given; what others wrote since stays. Revisions go on counting,
 * so that no version or token is ever given twice. History keeps one record for each thing that was removed.
 */
export async function resetNamespace({ store, writer, agent }: Scope, upTo?: number): Promise<{ readonly cleared: number }> {
  const began = upTo ?? (await store.read(everything, { limit: 1, values: false })).revision;
  let cleared = 0;
  let start = "";
  for (;;) {
    const page = await store.read({ start }, { limit: limits.commitWritesMax, values: false });
    const old = page.entries.filter((entry) => entry.revision <= began);
    if (old.length > 0) {
      const checks = old.map(({ key, revision }) => ({ key, revision }));
      const result = await store.commit({ checks, writes: old.map(({ key }) => ({ op: "delete", key, record: recordOf(key, "reset") })), writer, agent });
      // Somebody wrote one of these since the page was read: look again, and leave theirs alone.
      if (!result.ok) continue;
      cleared += old.filter(({ key }) => recordOf(key, "reset") !== undefined).length;
    }
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) return { cleared };
    start = `${last.key}\0`;
  }
}

/** What history says when an operator changes what is under a key. Bookkeeping keys (indexes, queues, holders) have no record of their own. */
export function recordOf(key: string, op: string): HistoryRecord | undefined {
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
