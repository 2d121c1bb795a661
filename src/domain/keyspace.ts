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
  /** Of claims alone: a run's holder stays until the run ends, is given back or is taken, so a lapsed claim is found here. */
  claimHolders: prefixRange("lease/holder/workflow/"),
  deadlines: prefixRange("lease/deadline/"),
  /** Of claims that are live. */
  claimDeadlines: prefixRange("lease/deadline/workflow/"),
  holder: (resource: string) => `lease/holder/${resource}`,
  deadline: (resource: string) => `lease/deadline/${resource}`,
  resourceOf: (deadlineKey: string) => deadlineKey.slice("lease/deadline/".length),
  resourceOfHolder: (holderKey: string) => holderKey.slice("lease/holder/".length),
  /** Present while someone waits in line: newcomers must not overtake. */
  waiting: (resource: string) => `lease/waiting/${resource}`,
  /** Everybody who waits in some line. */
  queues: prefixRange("lease/queue/"),
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
  listed: { range: prefixRange("workflow/list/"), key: (listPosition: string, runId: string) => `workflow/list/${listPosition}/${runId}` },
  tagged: {
    range: (tag: Tag) => prefixRange(`workflow/tag/${tagDigest(tag)}/`),
    key: (tag: Tag, listPosition: string, runId: string) => `workflow/tag/${tagDigest(tag)}/${listPosition}/${runId}`,
  },
  /** Runs nobody has claimed, in the order they are to be taken: high priority first, then old before young. */
  ready: { range: prefixRange("workflow/ready/"), key: (priority: number, listPosition: string, runId: string) => `workflow/ready/${urgency(priority)}/${listPosition}/${runId}` },
  readyTagged: {
    range: (tag: Tag) => prefixRange(`workflow/ready-tag/${tagDigest(tag)}/`),
    key: (tag: Tag, priority: number, listPosition: string, runId: string) => `workflow/ready-tag/${tagDigest(tag)}/${urgency(priority)}/${listPosition}/${runId}`,
  },
  /** Claimed runs by the time at which somebody should look whether the claim has lapsed. */
  claimed: {
    dueBy: (nowMs: number): Range => ({ start: "workflow/claimed/", end: `workflow/claimed/${padded(nowMs)}~` }),
    key: (lookAtMs: number, runId: string) => `workflow/claimed/${padded(lookAtMs)}/${runId}`,
  },
  /**
   * A run's position among all runs, by age. Clocks stand still and go in steps, so it is the revision its creator had seen, which grows
   * from one creation to a later one, and an ordinal for those that were created side by side in one process.
   */
  listPosition: (seenRevision: number, ordinal: number) => `${padded(seenRevision)}${padded(ordinal)}`,
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

/** A research checkpoint is written once; its listings repeat what a list shows, newest last. The id stands last everywhere. */
export const researchKeys = {
  all: prefixRange("research/checkpoint/"),
  checkpoint: (id: string) => `research/checkpoint/${id}`,
  checkpoints: (idPrefix: string) => prefixRange(`research/checkpoint/${idPrefix}`),
  idOf: (engineKey: string) => engineKey.slice(engineKey.lastIndexOf("/") + 1),
  /** Finds an equal checkpoint without reading any. */
  content: (content: string) => `research/content/${digest(content)}`,
  listed: (order: ResearchOrder, id: string) => `research/list/${researchOrder(order)}/${id}`,
  list: prefixRange("research/list/"),
  listedBy: (label: ResearchLabel, order: ResearchOrder, id: string) => `research/by/${tagDigest(label)}/${researchOrder(order)}/${id}`,
  listBy: (label: ResearchLabel) => prefixRange(`research/by/${tagDigest(label)}/`),
  area: "research",
};
/** When it was saved, and the revision its writer had seen: the order of saving, also within one millisecond. */
interface ResearchOrder {
  readonly savedAtMs: number;
  readonly seenRevision: number;
}
type ResearchLabel = readonly [label: "skill" | "workspace", value: string];

/** Notes by their full name: `id` for a global one, `@skill/id` for one of a skill. No id begins with @, no skill contains a slash. */
export const knowledgeKeys = {
  all: prefixRange("knowledge/note/"),
  note: (name: string) => `knowledge/note/${name}`,
  notes: (namePrefix: string) => prefixRange(`knowledge/note/${namePrefix}`),
  nameOf: (engineKey: string) => engineKey.slice("knowledge/note/".length),
  area: (skill: string | undefined) => (skill === undefined ? "knowledge" : `knowledge/${skill}`),
};

/** Where agents work. Names lead to ids: a renamed folder is found under both its names. */
export const workspaceKeys = {
  named: { range: (name: string) => prefixRange(`workspace/name/${digest(name)}/`), key: (name: string, id: string) => `workspace/name/${digest(name)}/${id}` },
  ids: prefixRange("workspace/id/"),
  id: (id: string) => `workspace/id/${id}`,
  /** Where a repository's main line began: found out once, not by every process. */
  root: (mainLine: string) => `workspace/root/${digest(mainLine)}`,
  /**
   * A run's position among all runs, by age. Clocks stand still and go in steps, so it is the revision its creator had seen, which grows
   * from one creation to a later one, and an ordinal for those that were created side by side in one process.
   */
  listPosition: (seenRevision: number, ordinal: number) => `${padded(seenRevision)}${padded(ordinal)}`,
  idOf: (indexKey: string) => indexKey.slice(indexKey.lastIndexOf("/") + 1),
};

/** A journal's id is a workspace's id or "global". The list of a journal is by age, so that "the newest" and "since" are range reads. */
export const journalKeys = {
  entries: prefixRange("journal/entry/"),
  entry: (id: string) => `journal/entry/${id}`,
  beginning: (part: string) => prefixRange(`journal/entry/${part}`),
  idOf: (engineKey: string) => engineKey.slice(engineKey.lastIndexOf("/") + 1),
  listed: {
    key: (journalId: string, createdAtMs: number, id: string) => `journal/list/${journalId}/${padded(createdAtMs)}/${id}`,
    /** From a time on, up to another or up to a position of this list. */
    range: (journalId: string, fromMs: number, untilMs: number | undefined, before: string | undefined): Range => {
      const all = prefixRange(`journal/list/${journalId}/`);
      const ends = [...(untilMs === undefined ? [] : [all.start + padded(untilMs)]), ...(before === undefined ? [] : [all.start + before])].sort();
      return { start: all.start + padded(Math.max(0, fromMs)), end: ends[0] ?? all.end };
    },
    /** What follows the journal's id: sorts by age across journals. */
    positionOf: (listKey: string) => listKey.split("/").slice(-2).join("/"),
  },
  session: (workspaceId: string, sessionId: string) => `journal/session/${workspaceId}/${sessionId}`,
  area: (journalId: string) => `journal/${journalId}`,
};

/** By which version of the search index everything has been indexed. Absent: by the first, or not all of it by a later one yet. */
export const searchKeys = { indexed: "search/indexed" };

/** Where Holdfast keeps what is about the whole store and not about one namespace. No caller can spell the name. */
export const systemNamespace = ".system";

/** In the system namespace. A token is one entry, which expires with it; when it was used last stands beside it, so that using it never changes it. */
export const tokenKeys = {
  all: prefixRange("token/record/"),
  record: (id: string) => `token/record/${id}`,
  beginning: (part: string) => prefixRange(`token/record/${part}`),
  used: (id: string) => `token/used/${id}`,
  uses: prefixRange("token/used/"),
  idOf: (engineKey: string) => engineKey.slice(engineKey.lastIndexOf("/") + 1),
  /** Rewritten with every new token: two that are made at one moment cannot both take the last place. */
  roll: "token/roll",
};

/**
 * In the system namespace. Sessions of MCP's earlier revisions, under a digest of their id; each expires when nobody uses it. The owner is the principal, whose
 * sessions are counted together; the caller is the principal in one namespace, to whom a session is bound.
 */
export const mcpSessionKeys = {
  all: prefixRange("mcp/session/"),
  of: (owner: string) => prefixRange(`mcp/session/${digest(owner)}/`),
  /** Neither the caller nor the id, which is a secret, can be read from it; and nobody else's id leads to it. */
  key: (owner: string, caller: string, id: string) => `mcp/session/${digest(owner)}/${digest(`${caller}\0${id}`)}`,
  /** What the session of this key subscribed to, each resource under a key of its own: a change writes one of them and not all. */
  subscriptions: (sessionKey: string) => prefixRange(`mcp/subscription/${sessionKey.slice("mcp/session/".length)}/`),
  subscription: (sessionKey: string, uri: string) => `mcp/subscription/${sessionKey.slice("mcp/session/".length)}/${digest(uri)}`,
};

export type HistoryKind = "state" | "lease" | "workflow" | "session" | "checkpoint" | "knowledge";
export const historyKinds = ["state", "lease", "workflow", "session", "checkpoint", "knowledge"] as const satisfies readonly HistoryKind[];

/** Where the history of one named thing lies. */
export const historyRanges: Record<HistoryKind, (name: string) => readonly Range[]> = {
  state: (name) => [keyRange(stateKeys.key(name))],
  lease: (name) => [keyRange(leaseKeys.deadline(name))],
  workflow: (name) => [keyRange(workflowKeys.run(name)), workflowKeys.steps(name), keyRange(leaseKeys.deadline(workflowKeys.resource(name)))],
  session: (name) => [keyRange(sessionKeys.key(name))],
  checkpoint: (name) => [keyRange(journalKeys.entry(name)), keyRange(researchKeys.checkpoint(name))],
  knowledge: (name) => [keyRange(knowledgeKeys.note(name))],
};

export type Tag = readonly [name: string, value: string];

const researchOrder = ({ savedAtMs, seenRevision }: ResearchOrder): string => `${padded(savedAtMs)}-${padded(seenRevision)}`;
const padded = (value: number): string => String(value).padStart(16, "0");
/** Priorities run from -1000 to 1000; the highest sorts first. */
const urgency = (priority: number): string => String(1000 - priority).padStart(4, "0");
const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);
const tagDigest = ([name, value]: Tag): string => digest(JSON.stringify([name, value]));
