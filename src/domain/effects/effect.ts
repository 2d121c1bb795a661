import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { jsonText } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Entry, HistoryRecord, Range, Revision, Snapshot, Write } from "../../store/store.ts";
import { effectKeys } from "../keyspace.ts";
import { anyJson, either, enumOf, flag, number, object, optional, storedAs, string, toStored } from "../stored-record.ts";

/** The states of an effect and the writes that change them. Every function here is pure and needs no store. */

/** In listing order. */
export const effectStates = ["unknown", "intended", "done", "failed"] as const;
export type EffectState = (typeof effectStates)[number];

/** How to treat an effect with an unknown outcome: report it, perform it again, or assume that it is done. */
export const effectPolicies = ["ask", "retry", "assume-done"] as const;
export type EffectPolicy = (typeof effectPolicies)[number];

/** Who ended an effect that its owner did not report: a caller of resolve, or the policy of a later begin. */
const resolvers = ["caller", "policy"] as const;
export type Resolver = (typeof resolvers)[number];

/** An effect as stored. The outcome has a separate key, so that listing effects does not read answers. */
export interface EffectRecord {
  /** `intended` means unknown once the live key has expired. */
  readonly state: EffectState;
  readonly scope?: string;
  readonly run?: string;
  readonly step?: number | string;
  readonly ordinal?: number;
  readonly tool: string;
  readonly name?: string;
  /** Fingerprint of the tool and its arguments. */
  readonly fingerprint: string;
  /** The arguments as shown to people. */
  readonly args: string;
  /** The id of the workspace in which the effect began; absent if unknown. */
  readonly workspace?: string;
  /** How many times the effect has begun. */
  readonly attempts: number;
  /** Digest of the nonce of the call that began the attempt. After a lost answer, the call recognizes its own commit by it. */
  readonly nonce: string;
  /** How long the record is kept after the effect ends. */
  readonly keepMs: number;
  /** Token of the last attempt. While the effect is intended, the entry's own revision and time serve as token and start. */
  readonly token?: Revision;
  readonly begunAtMs?: number;
  readonly endedAtMs?: number;
  /** The agent that began the effect; set once another agent may have written the record. */
  readonly begunBy?: string;
  /** Why the outcome is unknown, or the reason given when the effect was resolved. */
  readonly reason?: string;
  readonly resolved?: Resolver;
}

export const effectForm = object<EffectRecord>({
  state: enumOf(effectStates),
  scope: optional(string),
  run: optional(string),
  step: optional(either(number, string)),
  ordinal: optional(number),
  tool: string,
  name: optional(string),
  fingerprint: string,
  args: string,
  workspace: optional(string),
  attempts: number,
  nonce: string,
  keepMs: number,
  token: optional(number),
  begunAtMs: optional(number),
  endedAtMs: optional(number),
  begunBy: optional(string),
  reason: optional(string),
  resolved: optional(enumOf(resolvers)),
});
export const toEffectRecord = storedAs(effectForm);

/** The result of an effect: the answer if it is done, the error if it failed. */
export interface EffectOutcome {
  readonly value: Json;
  /** False if the result was too large or not JSON; `value` then gives the reason. */
  readonly kept: boolean;
}
export const toEffectOutcome = storedAs(object<EffectOutcome>({ value: anyJson, kept: flag }));

/** An effect as read from the store: its record, its owner's live key and its outcome. */
export interface StoredEffect {
  readonly id: string;
  readonly record: EffectRecord;
  readonly entry: Entry;
  /** Token of the last attempt. */
  readonly token: Revision;
  readonly begunAtMs: number;
  readonly liveUntilMs?: number;
  readonly outcome?: EffectOutcome;
}

export const effectRanges = (id: string): readonly Range[] => [keyRange(effectKeys.record(id)), keyRange(effectKeys.live(id)), keyRange(effectKeys.outcome(id))];

export function effectIn({ entries }: Pick<Snapshot, "entries">, id: string): StoredEffect | undefined {
  const find = (key: string): Entry | undefined => entries.find((each) => each.key === key);
  const entry = find(effectKeys.record(id));
  if (entry === undefined) return undefined;
  const record = toEffectRecord(entry);
  const outcome = find(effectKeys.outcome(id));
  return {
    id,
    record,
    entry,
    token: record.token ?? entry.revision,
    begunAtMs: record.begunAtMs ?? entry.updatedAtMs,
    liveUntilMs: record.state === "intended" ? find(effectKeys.live(id))?.expiresAtMs : undefined,
    outcome: outcome && toEffectOutcome(outcome),
  };
}

/** Losing an owner writes nothing, so every reader derives the state `unknown` from the expired live key. */
export const shownState = ({ record, liveUntilMs }: Pick<StoredEffect, "record" | "liveUntilMs">): EffectState =>
  record.state === "intended" && liveUntilMs === undefined ? "unknown" : record.state;

export const isEnded = ({ state }: EffectRecord): boolean => state === "done" || state === "failed";

const historyOf = (id: string, op: string): HistoryRecord => ({ kind: "effect", op, subject: id });

/** The owner's live key. When it expires, history records the outcome as unknown. */
export const liveWrite = (id: string, liveMs: number): Write => ({ op: "put", key: effectKeys.live(id), value: null, ttlMs: liveMs, lapse: historyOf(id, "unknown") });

/** The writes that begin an attempt; `before` is the record that it replaces. The live key is the last write. */
export function beginWrites(id: string, before: EffectRecord | undefined, record: EffectRecord, liveMs: number): Write[] {
  return [
    { op: "put", key: effectKeys.record(id), value: toStored(record), record: historyOf(id, "begin") },
    { op: "put", key: effectKeys.open(id), value: toStored({ run: record.run, workspace: record.workspace }) },
    ...(before?.endedAtMs === undefined ? [] : [{ op: "delete" as const, key: effectKeys.outcome(id) }, ...endedKeys(id, before).map((key): Write => ({ op: "delete", key }))]),
    liveWrite(id, liveMs),
  ];
}

/** The writes that end an effect, reported by its owner or resolved. Its record expires `keepMs` later. */
export function endWrites(id: string, after: EffectRecord, outcome: EffectOutcome, op: "finish" | "fail" | "resolve"): Write[] {
  const ttlMs = after.keepMs;
  return [
    { op: "put", key: effectKeys.record(id), value: toStored(after), ttlMs, record: historyOf(id, op), lapse: historyOf(id, "expire") },
    { op: "put", key: effectKeys.outcome(id), value: toStored(outcome), ttlMs },
    { op: "delete", key: effectKeys.live(id) },
    { op: "delete", key: effectKeys.open(id) },
    ...endedKeys(id, after).map((key): Write => ({ op: "put", key, value: null, ttlMs })),
  ];
}

/** The writes for a live owner that cannot determine the outcome. The effect stays open. */
export const unknownWrites = (id: string, after: EffectRecord): Write[] => [
  { op: "put", key: effectKeys.record(id), value: toStored(after), record: historyOf(id, "unknown") },
  { op: "delete", key: effectKeys.live(id) },
];

const endedKeys = (id: string, { run, endedAtMs = 0 }: EffectRecord): string[] => [
  effectKeys.ended.key(endedAtMs, id),
  ...(run === undefined ? [] : [effectKeys.endedIn.key(run, endedAtMs, id)]),
];

/** The record of an effect that was ended by a caller or a policy, not by its owner. */
export const resolvedRecord = ({ record, token, begunAtMs, entry }: StoredEffect, as: "done" | "failed", resolved: Resolver, endedAtMs: number, reason?: string): EffectRecord => ({
  ...record,
  state: as,
  token,
  begunAtMs,
  begunBy: record.begunBy ?? entry.agent,
  endedAtMs,
  reason,
  resolved,
});

/** Never fails because of the answer: the effect happened. An answer that cannot be stored is replaced by a note with the reason. */
export function toOutcome(value: Json): EffectOutcome {
  try {
    jsonText({ value, kept: true }, "answer");
    return { value, kept: true };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { value: { answer_not_kept: error.message }, kept: false };
  }
}

export const isSameOutcome = (a: EffectOutcome | undefined, b: EffectOutcome): boolean => a !== undefined && canonicalJson(a.value) === canonicalJson(b.value);

const shownCharactersMax = 2_000;

/** Shortened, but long enough for a person to recognize the call. */
export function shownText(args: Json): string {
  const text = canonicalJson(args);
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax).toWellFormed()}…` : text;
}

const reasonCharactersMax = 1_000;

export const shortReason = (reason: string): string => reason.toWellFormed().slice(0, reasonCharactersMax);
