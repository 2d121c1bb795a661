import { createHash } from "node:crypto";
import { keyRange, prefixRange } from "../store/ranges.ts";
import type { Range } from "../store/store.ts";

/** Every prefix on one page. What users name comes last in a key, so that no name can reach into another's keys. */

export const stateKeys = {
  all: prefixRange("state/"),
  key: (key: string) => `state/${key}`,
  /** The user's name for an engine key. */
  nameOf: (engineKey: string) => engineKey.slice("state/".length),
  prefix: (prefix: string) => prefixRange(`state/${prefix}`),
};

/**
 * A lease is two keys: `holder`, whose revision is the fencing token, and `deadline`, which expires with the lease
 * and is rewritten by renewals, so that a guard on the holder survives them.
 */
export const leaseKeys = {
  holders: prefixRange("lease/holder/"),
  deadlines: prefixRange("lease/deadline/"),
  holder: (resource: string) => `lease/holder/${resource}`,
  deadline: (resource: string) => `lease/deadline/${resource}`,
  resourceOf: (deadlineKey: string) => deadlineKey.slice("lease/deadline/".length),
  resourceOfHolder: (holderKey: string) => holderKey.slice("lease/holder/".length),
  /** Present while someone waits in line: newcomers must not overtake. */
  waiting: (resource: string) => `lease/waiting/${resource}`,
  queue: (resource: string) => prefixRange(`lease/queue/${digest(resource)}/`),
  /** Tickets sort by the revision their owner had seen: who joined later has seen a later one. */
  ticket: (resource: string, seenRevision: number, nonce: string) => `lease/queue/${digest(resource)}/${padded(seenRevision)}-${nonce}`,
};

export const workflowKeys = {
  runs: prefixRange("workflow/run/"),
  run: (runId: string) => `workflow/run/${runId}`,
  input: (runId: string) => `workflow/input/${runId}`,
  step: (runId: string, step: number) => `workflow/step/${runId}/${padded(step)}`,
  steps: (runId: string) => prefixRange(`workflow/step/${runId}/`),
  stepOf: (stepKey: string) => Number(stepKey.slice(-padded(0).length)),
  /** All runs by age; and those of one tag. The run's id stands last. */
  listed: { range: prefixRange("workflow/list/"), key: (createdAtMs: number, runId: string) => `workflow/list/${padded(createdAtMs)}/${runId}` },
  tagged: {
    range: (tag: Tag) => prefixRange(`workflow/tag/${tagDigest(tag)}/`),
    key: (tag: Tag, createdAtMs: number, runId: string) => `workflow/tag/${tagDigest(tag)}/${padded(createdAtMs)}/${runId}`,
  },
  /** Runs nobody has claimed, in the order they are to be taken: high priority first, then old before young. */
  ready: { range: prefixRange("workflow/ready/"), key: (priority: number, createdAtMs: number, runId: string) => `workflow/ready/${order(priority, createdAtMs)}/${runId}` },
  readyTagged: {
    range: (tag: Tag) => prefixRange(`workflow/ready-tag/${tagDigest(tag)}/`),
    key: (tag: Tag, priority: number, createdAtMs: number, runId: string) => `workflow/ready-tag/${tagDigest(tag)}/${order(priority, createdAtMs)}/${runId}`,
  },
  /** Claimed runs by the time at which somebody should look whether the claim has lapsed. */
  claimed: {
    dueBy: (nowMs: number): Range => ({ start: "workflow/claimed/", end: `workflow/claimed/${padded(nowMs)}~` }),
    key: (lookAtMs: number, runId: string) => `workflow/claimed/${padded(lookAtMs)}/${runId}`,
  },
  idOf: (indexKey: string) => indexKey.slice(indexKey.lastIndexOf("/") + 1),
  /** The lease that is a claim. */
  resource: (runId: string) => `workflow/${runId}`,
  runOfResource: (resource: string) => (resource.startsWith("workflow/") ? resource.slice("workflow/".length) : undefined),
};

export const sessionKeys = {
  all: prefixRange("session/"),
  key: (sessionId: string) => `session/${sessionId}`,
  idOf: (engineKey: string) => engineKey.slice("session/".length),
};

export type HistoryKind = "state" | "lease" | "workflow" | "session";
export const historyKinds = ["state", "lease", "workflow", "session"] as const satisfies readonly HistoryKind[];

/** Where the history of one named thing lies. */
export const historyRanges: Record<HistoryKind, (name: string) => readonly Range[]> = {
  state: (name) => [keyRange(stateKeys.key(name))],
  lease: (name) => [keyRange(leaseKeys.deadline(name))],
  workflow: (name) => [keyRange(workflowKeys.run(name)), workflowKeys.steps(name), keyRange(leaseKeys.deadline(workflowKeys.resource(name)))],
  session: (name) => [keyRange(sessionKeys.key(name))],
};

export type Tag = readonly [name: string, value: string];

const padded = (value: number): string => String(value).padStart(16, "0");
/** Priorities run from -1000 to 1000; the highest sorts first. */
const order = (priority: number, createdAtMs: number): string => `${String(1000 - priority).padStart(4, "0")}/${padded(createdAtMs)}`;
const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);
const tagDigest = ([name, value]: Tag): string => digest(JSON.stringify([name, value]));
