import { journalKeys, knowledgeKeys, leaseKeys, researchKeys, sessionKeys, stateKeys, workflowKeys } from "../../domain/keyspace.ts";
import { limits } from "../../store/limits.ts";

const kinds = ["state", "workflow", "session", "journal", "research", "knowledge", "guide"] as const;
export type ResourceKind = (typeof kinds)[number];

export interface ResourceTarget {
  readonly kind: ResourceKind;
  /** A key, an id, a note's full name or a guide's name, as the user wrote it. */
  readonly id: string;
}

/** Longer than any URI of ours: the longest kind of id, with every byte encoded, takes less than half of it. */
export const uriCharactersMax = 4_096;

export const uriOf = ({ kind, id }: ResourceTarget): string => `holdfast://${kind}/${encodeURIComponent(id)}`;

/** A slash in an id may be encoded or not: both spellings are in use. Undefined: not one of our resources. */
export function targetOf(uri: string): ResourceTarget | undefined {
  if (uri.length > uriCharactersMax) return undefined;
  const [, kind, encoded] = /^holdfast:\/\/([a-z]+)\/([^?#]+)$/.exec(uri) ?? [];
  if (kind === undefined || encoded === undefined || !isKind(kind)) return undefined;
  try {
    const id = decodeURIComponent(encoded);
    // An id longer than any key names nothing and must not be stored as if it did.
    return Buffer.byteLength(id) > limits.engineKeyBytesMax ? undefined : { kind, id };
  } catch {
    return undefined;
  }
}

const isKind = (word: string): word is ResourceKind => (kinds as readonly string[]).includes(word);

/** One name per target, whatever the spelling of its URI. */
export const targetName = ({ kind, id }: ResourceTarget): string => `${kind} ${id}`;

/** The resource that changes with an engine key. A run also changes with its steps and its claim. */
export function targetOfKey(key: string): ResourceTarget | undefined {
  if (key.startsWith(stateKeys.all.start)) return { kind: "state", id: stateKeys.nameOf(key) };
  if (key.startsWith(sessionKeys.all.start)) return { kind: "session", id: sessionKeys.idOf(key) };
  if (key.startsWith(journalKeys.entries.start)) return { kind: "journal", id: journalKeys.idOf(key) };
  if (key.startsWith(researchKeys.all.start)) return { kind: "research", id: researchKeys.idOf(key) };
  if (key.startsWith(knowledgeKeys.all.start)) return { kind: "knowledge", id: knowledgeKeys.nameOf(key) };
  if (key.startsWith(workflowKeys.runs.start)) return { kind: "workflow", id: workflowKeys.idOf(key) };
  const runId = runOfStep(key) ?? runOfLease(key);
  return runId === undefined ? undefined : { kind: "workflow", id: runId };
}

const stepsStart = "workflow/step/";
const runOfStep = (key: string): string | undefined => (key.startsWith(stepsStart) ? key.slice(stepsStart.length, key.lastIndexOf("/")) : undefined);

function runOfLease(key: string): string | undefined {
  if (key.startsWith(leaseKeys.deadlines.start)) return workflowKeys.runOfResource(leaseKeys.resourceOf(key));
  return key.startsWith(leaseKeys.holders.start) ? workflowKeys.runOfResource(leaseKeys.resourceOfHolder(key)) : undefined;
}
