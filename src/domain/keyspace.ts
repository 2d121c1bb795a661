import { createHash } from "node:crypto";
import { keyRange, prefixRange } from "../store/ranges.ts";
import type { Range } from "../store/store.ts";
import { claimResource } from "./claim-resource.ts";

/** All key prefixes in one place. User-chosen names come last in a key, so that no name can reach into another key range. */

export const stateKeys = {
  all: prefixRange("state/"),
  key: (key: string) => `state/${key}`,
  /** The name that users know, taken from an engine key. */
  nameOf: (engineKey: string) => engineKey.slice("state/".length),
  prefix: (prefix: string) => prefixRange(`state/${prefix}`),
};

/**
 * A lease is two keys: `holder`, whose revision is the fencing token, and `deadline`, which expires with the lease.
 * Renewals rewrite only the deadline, so a guard on the holder stays valid.
 */
export const leaseKeys = {
  holders: prefixRange("lease/holder/"),
  /** Claims only. A run's holder stays until the run ends, is given back or is taken over, so lapsed claims are found here. */
  claimHolders: prefixRange("lease/holder/workflow/"),
  deadlines: prefixRange("lease/deadline/"),
  /** Live claims only. */
  claimDeadlines: prefixRange("lease/deadline/workflow/"),
  holder: (resource: string) => `lease/holder/${resource}`,
  deadline: (resource: string) => `lease/deadline/${resource}`,
  resourceOf: (deadlineKey: string) => deadlineKey.slice("lease/deadline/".length),
  resourceOfHolder: (holderKey: string) => holderKey.slice("lease/holder/".length),
  /** Present while anyone is queued, so that newcomers cannot overtake. */
  waiting: (resource: string) => `lease/waiting/${resource}`,
  /** All waiters, for every resource. */
  queues: prefixRange("lease/queue/"),
  queue: (resource: string) => prefixRange(`lease/queue/${digest(resource)}/`),
  /** Tickets sort by the revision their owner had read: a later waiter has read a later one. */
  ticket: (resource: string, seenRevision: number, nonce: string) => `lease/queue/${digest(resource)}/${padded(seenRevision)}-${nonce}`,
};

export const workflowKeys = {
  runs: prefixRange("workflow/run/"),
  run: (runId: string) => `workflow/run/${runId}`,
  input: (runId: string) => `workflow/input/${runId}`,
  step: (runId: string, step: number) => `workflow/step/${runId}/${padded(step)}`,
  steps: (runId: string) => prefixRange(`workflow/step/${runId}/`),
  stepOf: (stepKey: string) => Number(stepKey.slice(-padded(0).length)),
  /** All runs by age, and the runs of one tag. Each key ends with the run's id. */
  listed: { range: prefixRange("workflow/list/"), key: (listPosition: string, runId: string) => `workflow/list/${listPosition}/${runId}` },
  tagged: {
    range: (tag: Tag) => prefixRange(`workflow/tag/${tagDigest(tag)}/`),
    key: (tag: Tag, listPosition: string, runId: string) => `workflow/tag/${tagDigest(tag)}/${listPosition}/${runId}`,
  },
  /** Unclaimed runs in the order they are handed out: highest priority first, then oldest first. */
  ready: { range: prefixRange("workflow/ready/"), key: (priority: number, listPosition: string, runId: string) => `workflow/ready/${urgency(priority)}/${listPosition}/${runId}` },
  readyTagged: {
    range: (tag: Tag) => prefixRange(`workflow/ready-tag/${tagDigest(tag)}/`),
    key: (tag: Tag, priority: number, listPosition: string, runId: string) => `workflow/ready-tag/${tagDigest(tag)}/${urgency(priority)}/${listPosition}/${runId}`,
  },
  /** Claimed runs, sorted by when to check whether the claim has lapsed. */
  claimed: {
    dueBy: (nowMs: number): Range => ({ start: "workflow/claimed/", end: `workflow/claimed/${padded(nowMs)}~` }),
    key: (lookAtMs: number, runId: string) => `workflow/claimed/${padded(lookAtMs)}/${runId}`,
  },
  /**
   * A run's position among all runs, by age. Clocks can stall or jump, so the position is the revision that the creator had read, which only grows.
   * The ordinal orders runs created concurrently in one process.
   */
  listPosition: (seenRevision: number, ordinal: number) => `${padded(seenRevision)}${padded(ordinal)}`,
  idOf: (indexKey: string) => indexKey.slice(indexKey.lastIndexOf("/") + 1),
  /** The resource name of a run's claim. */
  resource: claimResource,
  runOfResource: (resource: string) => (resource.startsWith("workflow/") ? resource.slice("workflow/".length) : undefined),
};

export const sessionKeys = {
  all: prefixRange("session/"),
  key: (sessionId: string) => `session/${sessionId}`,
  idOf: (engineKey: string) => engineKey.slice("session/".length),
};

/** A research checkpoint is written once. Its list entries, newest last, repeat what a list shows. Every key ends with the id. */
export const researchKeys = {
  all: prefixRange("research/checkpoint/"),
  checkpoint: (id: string) => `research/checkpoint/${id}`,
  checkpoints: (idPrefix: string) => prefixRange(`research/checkpoint/${idPrefix}`),
  idOf: (engineKey: string) => engineKey.slice(engineKey.lastIndexOf("/") + 1),
  /** Finds an equal checkpoint without reading any checkpoint. */
  content: (content: string) => `research/content/${digest(content)}`,
  listed: (order: ResearchOrder, id: string) => `research/list/${researchOrder(order)}/${id}`,
  list: prefixRange("research/list/"),
  listedBy: (label: ResearchLabel, order: ResearchOrder, id: string) => `research/by/${tagDigest(label)}/${researchOrder(order)}/${id}`,
  listBy: (label: ResearchLabel) => prefixRange(`research/by/${tagDigest(label)}/`),
  area: "research",
};
/** The time of saving, and the revision that the writer had read: they preserve the order even within one millisecond. */
interface ResearchOrder {
  readonly savedAtMs: number;
  readonly seenRevision: number;
}
type ResearchLabel = readonly [label: "skill" | "workspace", value: string];

/** Notes by full name: `id` for a global note, `@skill/id` for a skill's note. No id begins with @ and no skill contains a slash. */
export const knowledgeKeys = {
  all: prefixRange("knowledge/note/"),
  note: (name: string) => `knowledge/note/${name}`,
  notes: (namePrefix: string) => prefixRange(`knowledge/note/${namePrefix}`),
  nameOf: (engineKey: string) => engineKey.slice("knowledge/note/".length),
  area: (skill: string | undefined) => (skill === undefined ? "knowledge" : `knowledge/${skill}`),
};

/** The workspaces that agents use. Names map to ids, so a renamed folder is found under both names. */
export const workspaceKeys = {
  named: { range: (name: string) => prefixRange(`workspace/name/${digest(name)}/`), key: (name: string, id: string) => `workspace/name/${digest(name)}/${id}` },
  ids: prefixRange("workspace/id/"),
  id: (id: string) => `workspace/id/${id}`,
  /** The root commit of a repository's main line, stored so that each process need not search for it. */
  root: (mainLine: string) => `workspace/root/${digest(mainLine)}`,
  idOf: (indexKey: string) => indexKey.slice(indexKey.lastIndexOf("/") + 1),
};

/** A journal's id is a workspace's id or "global". A journal's list is sorted by age, so "the newest" and "since" are range reads. */
export const journalKeys = {
  entries: prefixRange("journal/entry/"),
  entry: (id: string) => `journal/entry/${id}`,
  beginning: (part: string) => prefixRange(`journal/entry/${part}`),
  idOf: (engineKey: string) => engineKey.slice(engineKey.lastIndexOf("/") + 1),
  listed: {
    key: (journalId: string, createdAtMs: number, id: string) => `journal/list/${journalId}/${padded(createdAtMs)}/${id}`,
    /** Entries from one time up to another time or up to a position in this list, whichever comes first. */
    range: (journalId: string, fromMs: number, untilMs: number | undefined, before: string | undefined): Range => {
      const all = prefixRange(`journal/list/${journalId}/`);
      const ends = [...(untilMs === undefined ? [] : [all.start + padded(untilMs)]), ...(before === undefined ? [] : [all.start + before])].sort();
      return { start: all.start + padded(Math.max(0, fromMs)), end: ends[0] ?? all.end };
    },
    /** The part after the journal's id, which sorts by age across journals. */
    positionOf: (listKey: string) => listKey.split("/").slice(-2).join("/"),
  },
  session: (workspaceId: string, sessionId: string) => `journal/session/${workspaceId}/${sessionId}`,
  area: (journalId: string) => `journal/${journalId}`,
};

/**
 * An effect is one record. Beside it: `live`, which expires unless its owner gives signs of life, and `outcome`, which may be long.
 * One that has not ended stands in `open`; one that has, in `ended`, by the time it ended.
 */
export const effectKeys = {
  records: prefixRange("effect/record/"),
  record: (id: string) => `effect/record/${id}`,
  live: (id: string) => `effect/live/${id}`,
  lives: prefixRange("effect/live/"),
  outcome: (id: string) => `effect/outcome/${id}`,
  open: (id: string) => `effect/open/${id}`,
  opens: prefixRange("effect/open/"),
  ended: { range: prefixRange("effect/ended/"), key: (endedAtMs: number, id: string) => `effect/ended/${padded(endedAtMs)}/${id}` },
  endedIn: {
    range: (runId: string) => prefixRange(`effect/run/${runId}/`),
    key: (runId: string, endedAtMs: number, id: string) => `effect/run/${runId}/${padded(endedAtMs)}/${id}`,
  },
  endedAtOf: (endedKey: string) => Number(endedKey.split("/").at(-2)),
  idOf: (engineKey: string) => engineKey.slice(engineKey.lastIndexOf("/") + 1),
};

/**
 * Content outside of values, by its SHA-256. A blob is a manifest, which lists its chunks, and a mark, which is rewritten when the blob is put or named.
 * A chunk is its content and its use: how many blobs contain it. A reference ends with the engine key of the entry that names the blob.
 */
export const blobKeys = {
  all: prefixRange("blob/"),
  manifests: prefixRange("blob/manifest/"),
  manifest: (hash: string) => `blob/manifest/${hash}`,
  marks: prefixRange("blob/mark/"),
  mark: (hash: string) => `blob/mark/${hash}`,
  chunks: prefixRange("blob/chunk/"),
  chunk: (hash: string) => `blob/chunk/${hash}`,
  uses: prefixRange("blob/use/"),
  use: (hash: string) => `blob/use/${hash}`,
  references: prefixRange("blob/reference/"),
  referencesTo: (hash: string) => prefixRange(`blob/reference/${hash}/`),
  reference: (hash: string, owner: string) => `blob/reference/${hash}/${owner}`,
  hashOf: (engineKey: string) => engineKey.split("/", 3)[2] as string,
  ownerOf: (referenceKey: string) => referenceKey.slice("blob/reference/".length + hashDigits + 1),
};
/** The hexadecimal digits of a SHA-256. */
export const hashDigits = 64;

/** By which version of the search index everything has been indexed. Absent: by the first, or not all of it by a later one yet. */
export const searchKeys = { indexed: "search/indexed" };

/** Vectors of notes, where a model is configured: each under its note's full name, and how near chance gets, which belongs to all of them. */
export const vectorKeys = {
  all: prefixRange("vector/"),
  notes: prefixRange("vector/note/"),
  note: (name: string) => `vector/note/${name}`,
  nameOf: (engineKey: string) => engineKey.slice("vector/note/".length),
  chance: "vector/chance",
};

/** Holds data about the whole store rather than one namespace. The name is not valid in requests, so callers cannot reach it. */
export const systemNamespace = ".system";

/**
 * In the system namespace. A token is one entry, which expires with the token. The time of last
 * use is a separate entry, so that using a token never changes its record.
 */
export const tokenKeys = {
  all: prefixRange("token/record/"),
  record: (id: string) => `token/record/${id}`,
  beginning: (part: string) => prefixRange(`token/record/${part}`),
  used: (id: string) => `token/used/${id}`,
  uses: prefixRange("token/used/"),
  idOf: (engineKey: string) => engineKey.slice(engineKey.lastIndexOf("/") + 1),
  /** Rewritten with every new token, so that two tokens created at the same moment cannot both pass the limit. */
  roll: "token/roll",
};

/**
 * In the system namespace: sessions of MCP's earlier revisions, under a digest of their id. Unused sessions expire. The owner is the
 * principal, whose sessions are counted together; the caller is the principal in one namespace, to which a session is bound.
 */
export const mcpSessionKeys = {
  all: prefixRange("mcp/session/"),
  of: (owner: string) => prefixRange(`mcp/session/${digest(owner)}/`),
  /** The key reveals neither the caller nor the id, which is a secret. The same id from another caller leads to a different key. */
  key: (owner: string, caller: string, id: string) => `mcp/session/${digest(owner)}/${digest(`${caller}\0${id}`)}`,
  /** The session's subscriptions. Each resource has a separate key, so that a change rewrites one of them and not all. */
  subscriptions: (sessionKey: string) => prefixRange(`mcp/subscription/${sessionKey.slice("mcp/session/".length)}/`),
  subscription: (sessionKey: string, uri: string) => `mcp/subscription/${sessionKey.slice("mcp/session/".length)}/${digest(uri)}`,
};

export type HistoryKind = "state" | "lease" | "workflow" | "effect" | "session" | "checkpoint" | "knowledge";
export const historyKinds = ["state", "lease", "workflow", "effect", "session", "checkpoint", "knowledge"] as const satisfies readonly HistoryKind[];

/** The key ranges that hold the history of one named thing. */
export const historyRanges: Record<HistoryKind, (name: string) => readonly Range[]> = {
  state: (name) => [keyRange(stateKeys.key(name))],
  lease: (name) => [keyRange(leaseKeys.deadline(name))],
  workflow: (name) => [keyRange(workflowKeys.run(name)), workflowKeys.steps(name), keyRange(leaseKeys.deadline(workflowKeys.resource(name)))],
  effect: (name) => [keyRange(effectKeys.record(name)), keyRange(effectKeys.live(name))],
  session: (name) => [keyRange(sessionKeys.key(name))],
  checkpoint: (name) => [keyRange(journalKeys.entry(name)), keyRange(researchKeys.checkpoint(name))],
  knowledge: (name) => [keyRange(knowledgeKeys.note(name))],
};

export type Tag = readonly [name: string, value: string];

const researchOrder = ({ savedAtMs, seenRevision }: ResearchOrder): string => `${padded(savedAtMs)}-${padded(seenRevision)}`;
const padded = (value: number): string => String(value).padStart(16, "0");
/** Priorities range from -1000 to 1000; the highest sorts first. */
const urgency = (priority: number): string => String(1000 - priority).padStart(4, "0");
const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);
const tagDigest = ([name, value]: Tag): string => digest(JSON.stringify([name, value]));
