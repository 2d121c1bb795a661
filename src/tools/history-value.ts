import { leaseKeys, workflowKeys } from "../domain/keyspace.ts";
import type { StoredHold } from "../domain/leases/lease.ts";
import { holdForm } from "../domain/leases/lease.ts";
import type { Run } from "../domain/workflows/workflow.ts";
import { runForm } from "../domain/workflows/workflow.ts";
import type { Json } from "../kernel/json.ts";
import { toSeconds } from "./fields.ts";

/** Values longer than `whole` as JSON are cut to a preview: ten values of the maximum size would be a million tokens. */
const characters = { whole: 1_000, preview: 500 } as const;

/** A stored value as history shows it: with the tools' field names, and only as long as a reader needs to recognise it. */
export function shownValue(value: Json, storedKey: string): { readonly shown: Json; readonly isCut: boolean } {
  const told = inToolWords(value, storedKey);
  const text = typeof told === "string" ? told : JSON.stringify(told);
  if (text.length <= characters.whole) return { shown: told, isCut: false };
  return { shown: `${text.slice(0, characters.preview).toWellFormed()}… (${text.length} characters)`, isCut: true };
}

function inToolWords(value: Json, storedKey: string): Json {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  if (storedKey.startsWith(workflowKeys.runs.start)) return runForm(value) ? runInToolWords(value) : value;
  return storedKey.startsWith(leaseKeys.deadlines.start) && holdForm(value) ? holdInToolWords(value) : value;
}

/** The position in the indexes is internal and left out. */
const runInToolWords = ({ name, status, tags, priority, lastStep, attempts, createdAtMs, endedBy, result, error }: Run): Json => ({
  name,
  status,
  tags,
  priority,
  last_step: lastStep,
  attempts,
  created_at: toSeconds(createdAtMs),
  ...(endedBy === undefined ? {} : { ended_by: endedBy.agentId }),
  ...(result === undefined ? {} : { result }),
  ...(error === undefined ? {} : { error }),
});

const holdInToolWords = ({ holder, ttlMs }: StoredHold): Json => ({ holder, ttl_seconds: toSeconds(ttlMs) });
