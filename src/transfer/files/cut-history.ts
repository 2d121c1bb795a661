import type { Json } from "../../kernel/json.ts";
import { requireKept } from "../../store/engine-rules.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { IndexedText, NamespaceFacts, Revision, StoredKey, StoredLogRow, StoredRecord } from "../../store/store.ts";
import { findableText, isFindable } from "./findable-text.ts";

/** Where a namespace stood at a past revision. Refused when its history does not reach back there. */
export function factsAt(facts: NamespaceFacts, at: Revision, lastRow: { readonly revision: Revision; readonly atMs: number } | undefined): NamespaceFacts {
  requireKept(at, facts);
  const gaps = facts.gaps.filter(([, base]) => base <= at);
  const base = facts.base <= at ? facts.base : (gaps.at(-1)?.[1] ?? 0);
  return {
    ...facts,
    base,
    gaps,
    revision: Math.max(facts.compacted, base, lastRow?.revision ?? 0),
    clockMs: Math.max(facts.compactedAtMs, lastRow?.atMs ?? 0),
  };
}

/** The newest row of a key up to the cut. */
interface Newest {
  readonly revision: Revision;
  readonly seq: number;
  readonly version: number;
  readonly present: boolean;
  /** Kept where the value's text may be needed. */
  readonly json?: string;
  /** The key was changed after the cut: what is said of it now is not what was. */
  changedLater: boolean;
}

/**
 * A namespace's records as they were at a past revision, from those it has now. Log rows and request keys of later are left out; what is said of
 * the keys is put together from the log, and the text by which they are found is made anew where it is another one now.
 */
export async function* cutHistory(records: AsyncIterable<StoredRecord>, at: Revision): AsyncGenerator<StoredRecord> {
  const newest = new Map<string, Newest>();
  let then: string[] | undefined;
  for await (const record of records) {
    if (record.kind === "log") {
      if (record.revision <= at) yield record;
      note(newest, record, at);
      continue;
    }
    then ??= [...newest.keys()].sort(compareKeys);
    if (record.kind === "key") yield* keysUpTo(then, newest, record, at);
    else {
      yield* keysLeft(then, newest);
      if (record.outcome.revision <= at) yield record;
    }
  }
  yield* keysLeft(then ?? [...newest.keys()].sort(compareKeys), newest);
}

function note(newest: Map<string, Newest>, row: StoredLogRow, at: Revision): void {
  const known = newest.get(row.key);
  if (row.revision > at) {
    if (known !== undefined) known.changedLater = true;
    return;
  }
  const { revision, seq, version, op, json } = row;
  newest.set(row.key, { revision, seq, version, present: op === "put", json: isFindable(row.key) ? json : undefined, changedLater: false });
}

/** Takes from the front of `then` what stands before the record's key, and then says what was under that key. */
function* keysUpTo(then: string[], newest: ReadonlyMap<string, Newest>, record: StoredKey, at: Revision): Generator<StoredKey> {
  const end = lowerBound(then, record.key);
  for (const key of then.splice(0, end)) yield* keyThen(key, newest.get(key) as Newest);
  const isThere = then[0] === record.key;
  if (isThere) then.shift();
  if (record.revision <= at) yield record;
  else if (isThere) yield* keyThen(record.key, newest.get(record.key) as Newest);
}

function* keysLeft(then: string[], newest: ReadonlyMap<string, Newest>): Generator<StoredKey> {
  for (const key of then.splice(0)) yield* keyThen(key, newest.get(key) as Newest);
}

function* keyThen(key: string, { revision, seq, version, present, json, changedLater }: Newest): Generator<StoredKey> {
  const index: IndexedText | undefined = present && changedLater && json !== undefined ? findableText(key, JSON.parse(json) as Json) : undefined;
  // A key that is there without a text follows from the log.
  if (!present || index !== undefined) yield { kind: "key", key, revision, seq, version, present, index };
}

function lowerBound(sorted: readonly string[], key: string): number {
  const found = sorted.findIndex((other) => compareKeys(other, key) >= 0);
  return found < 0 ? sorted.length : found;
}
