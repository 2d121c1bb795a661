import type { Json } from "../../kernel/json.ts";
import type { Write } from "../../store/store.ts";
import type { Tag } from "../keyspace.ts";
import { workflowKeys } from "../keyspace.ts";
import { toStored } from "../stored-record.ts";
import type { Run } from "./workflow.ts";

/**
 * Finding work must cost the same with a million runs as with ten, so an unfinished run is in one of two indexes:
 * `ready`, in the order runs are handed out, or `claimed`, sorted by when to check whether the claim has lapsed.
 * These functions produce the writes that move a run between them.
 */

const tagsOf = (run: Run): Tag[] => Object.entries(run.tags);

/** The index keys of an unclaimed run. The first is in the index of all runs, the others in the indexes by tag. */
export const readyKeys = (runId: string, run: Run): string[] => [
  workflowKeys.ready.key(run.priority, run.place, runId),
  ...tagsOf(run).map((tag) => workflowKeys.readyTagged.key(tag, run.priority, run.place, runId)),
];

const indexKeys = (runId: string, run: Run): string[] => {
  if (run.indexed === undefined) return [];
  return run.indexed.zone === "ready" ? readyKeys(runId, run) : [workflowKeys.claimed.key(run.indexed.lookAtMs, runId)];
};

const marker: Json = null;

/** The writes for a changed run and its index keys. `op`: the operation for history; undefined = another write of the commit carries the record. */
export function runWrites(runId: string, before: Run | undefined, after: Run, op: string | undefined): Write[] {
  const oldKeys = before === undefined ? [] : indexKeys(runId, before);
  const newKeys = indexKeys(runId, after);
  return [
    { op: "put", key: workflowKeys.run(runId), value: toStored(after), record: op === undefined ? undefined : { kind: "workflow", op, subject: runId } },
    ...oldKeys.filter((key) => !newKeys.includes(key)).map((key): Write => ({ op: "delete", key })),
    // The index entry repeats the tags, so that a search for several tags need not read the runs.
    ...newKeys.filter((key) => !oldKeys.includes(key)).map((key): Write => ({ op: "put", key, value: after.tags })),
  ];
}

/** The entries that listings use; written once, at creation. */
export const listingWrites = (runId: string, run: Run): Write[] => [
  { op: "put", key: workflowKeys.listed.key(run.place, runId), value: marker },
  ...tagsOf(run).map((tag): Write => ({ op: "put", key: workflowKeys.tagged.key(tag, run.place, runId), value: marker })),
];
