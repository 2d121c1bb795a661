import { effectKeys, leaseKeys, workflowKeys } from "../domain/keyspace.ts";
import type { LogRow } from "../store/store.ts";
import type { EffectLogEvent } from "./checkers/effects.ts";

/** The log rows of effects and of the claims they are begun under, as events for the checker. */
export const effectEvents = (rows: readonly LogRow[]): readonly EffectLogEvent[] => rows.flatMap((row) => eventOf(row) ?? []);

function eventOf(row: LogRow): EffectLogEvent | undefined {
  const { key, op, revision, atMs, writer } = row;
  if (key.startsWith(effectKeys.records.start)) {
    const id = effectKeys.idOf(key);
    if (op !== "put") return { what: "forgotten", revision, id };
    const { state, run } = row.value as { readonly state: string; readonly run?: string };
    return { what: "record", revision, atMs, id, op: row.record?.op as "begin", state, run, by: writer };
  }
  if (key.startsWith(effectKeys.lives.start)) {
    const id = effectKeys.idOf(key);
    return op === "put" ? { what: "alive", revision, id, untilMs: row.expiresAtMs as number } : { what: "silent", revision, id };
  }
  if (key.startsWith(leaseKeys.claimHolders.start)) {
    const run = workflowKeys.runOfResource(leaseKeys.resourceOfHolder(key)) as string;
    return op === "put" ? { what: "claimed", revision, run, by: writer } : { what: "unclaimed", revision, run };
  }
  if (key.startsWith(leaseKeys.claimDeadlines.start) && op === "put") {
    return { what: "claim lives", revision, run: workflowKeys.runOfResource(leaseKeys.resourceOf(key)) as string, untilMs: row.expiresAtMs as number };
  }
  return undefined;
}
