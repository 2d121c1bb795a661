import { isLive } from "../../store/ranges.ts";
import type { Entry, LogRow } from "../../store/store.ts";
import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

export interface HistoryAndState {
  /** The whole log, oldest first. */
  readonly rows: readonly LogRow[];
  readonly entries: readonly Entry[];
  /** The time of the snapshot that returned the entries. */
  readonly nowMs: number;
  /** The number of acknowledged changes, by writer. Absent if some were not answered. */
  readonly changesByWriter?: Readonly<Record<string, number>>;
}

/** G11. Replaying the log from its beginning gives the live state; each change is in it once, with its writer's name. */
export function checkHistoryEqualsState({ rows, entries, nowMs, changesByWriter }: HistoryAndState): readonly Violation[] {
  const violations = new Violations("G11");
  const played = new Map<string, LogRow>();
  for (const row of rows) {
    const before = played.get(row.key);
    if (row.op === "put") {
      played.set(row.key, row);
      continue;
    }
    if (before === undefined) violations.add("ended_twice", `${row.op} of ${row.key} at revision ${row.revision}, but the key did not exist.`);
    else if (before.version !== row.version)
      violations.add("ended_other_version", `${row.op} of ${row.key} at revision ${row.revision} ends version ${row.version}; the newest was ${before.version}.`);
    if (row.op === "expire" && before?.expiresAtMs !== undefined && row.atMs < before.expiresAtMs)
      violations.add("expired_early", `${row.key} expired ${before.expiresAtMs - row.atMs} ms before its time.`);
    played.delete(row.key);
  }
  const live = new Map([...played].filter(([, row]) => isLive(row, nowMs)));
  for (const entry of entries) {
    const row = live.get(entry.key);
    live.delete(entry.key);
    if (row === undefined) violations.add("state_without_history", `${entry.key} is at version ${entry.version}, but the log has no such write.`);
    else if (summary(row) !== summary(entry)) violations.add("state_differs", `${entry.key}: the log gives ${summary(row)}, the state ${summary(entry)}.`);
  }
  for (const [key, row] of live) violations.add("history_without_state", `${key} was written at revision ${row.revision} and is not there.`);
  if (changesByWriter !== undefined) checkCounts(rows, changesByWriter, violations);
  return violations.list();
}

function checkCounts(rows: readonly LogRow[], changesByWriter: Readonly<Record<string, number>>, violations: Violations): void {
  const counted = new Map<string, number>();
  for (const row of rows) if (row.op !== "expire") counted.set(row.writer, (counted.get(row.writer) ?? 0) + 1);
  for (const [writer, told] of Object.entries(changesByWriter)) {
    const found = counted.get(writer) ?? 0;
    if (found < told) violations.add("record_lost", `${writer} made ${told} changes; the log has ${found}.`);
    if (found > told) violations.add("record_twice", `${writer} made ${told} changes; the log has ${found}.`);
    counted.delete(writer);
  }
  for (const [writer, found] of counted) violations.add("unknown_writer", `The log has ${found} changes by ${writer}, who made none.`);
}

const summary = ({ value, version, revision, expiresAtMs, writer }: LogRow | Entry): string => JSON.stringify([value, version, revision, expiresAtMs ?? null, writer]);
