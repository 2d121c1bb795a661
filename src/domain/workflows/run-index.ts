import type { Json } from "../../kernel/json.ts";
import type { Write } from "../../store/store.ts";
import type { Tag } from "../keyspace.ts";
import { workflowKeys } from "../keyspace.ts";
import { toStored } from "../stored-record.ts";
import type { Run } from "./workflow.ts";

/**
 * Finding work must cost the same among a million runs as among ten, so a run stands in one of two places:
 * in `ready`, sorted as it is to be taken, or in `claimed`, sorted by when to look whether its claim has lapsed.
 * These functions turn "the run moves from there to here" into writes.
 */

const tagsOf = (run: Run): Tag[] => Object.entries(run.tags);

/** Where the run stands while nobody has claimed it; the first is its place among all of them. */
export const readyKeys = (runId: string, run: Run): string[] => [
  workflowKeys.ready.key(run.priority, run.place, runId),
  ...tagsOf(run).map((tag) => workflowKeys.readyTagged.key(tag, run.priority, run.place, runId)),
];

const indexKeys = (runId: string, run: Run): string[] => {
  if (run.indexed === undefined) return [];
  return run.indexed.zone === "ready" ? readyKeys(runId, run) : [workflowKeys.claimed.key(run.indexed.lookAtMs, runId)];
};

const marker: Json = null;

/** The run record and its place in the index, after a change. `record`: what history says; undefined = another write says it. */
export function runWrites(runId: string, before: Run | undefined, after: Run, op: string | undefined): Write[] {
  const oldKeys = before === undefined ? [] : indexKeys(runId, before);
  const newKeys = indexKeys(runId, after);
  return [
    { op: "put", key: workflowKeys.run(runId), value: toStored(after), record: op === undefined ? undefined : { kind: "workflow", op, subject: runId } },
    ...oldKeys.filter((key) => !newKeys.includes(key)).map((key): Write => ({ op: "delete", key })),
    // The tags stand beside the key, so that a search for several of them need not read the runs.
    ...newKeys.filter((key) => !oldKeys.includes(key)).map((key): Write => ({ op: "put", key, value: after.tags })),
  ];
}

/** Where listings find the run; written once, at creation. */
export const listingWrites = (runId: string, run: Run): Write[] => [
  { op: "put", key: workflowKeys.listed.key(run.place, runId), value: marker },
  ...tagsOf(run).map((tag): Write => ({ op: "put", key: workflowKeys.tagged.key(tag, run.place, runId), value: marker })),
];
