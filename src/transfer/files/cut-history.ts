import { findableText, isFindable } from "../../domain/findable/findable-text.ts";
import type { Json } from "../../kernel/json.ts";
import { requireKept } from "../../store/engine-rules.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { IndexedText, NamespaceFacts, Revision, StoredKey, StoredLogRow, StoredRecord } from "../../store/store.ts";

/** The state of a namespace at a past revision. Fails if its history does not reach back that far. */
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
  /** Kept if the value's text may be needed for the search index. */
  readonly json?: string;
  /** The key was changed after the cut, so its current record does not apply. */
  changedLater: boolean;
}

/**
 * Derives a namespace's records at a past revision from its current ones. Later log rows and request keys are left out.
 * Key records are derived from the log, and the indexed text is rebuilt if it has changed.
 */
export async function* cutHistory(records: AsyncIterable<StoredRecord>, at: Revision): AsyncGenerator<StoredRecord> {
  const newest = new Map<string, Newest>();
  let keys: KeysThen | undefined;
  for await (const record of records) {
    if (record.kind === "log") {
      if (record.revision <= at) yield record;
      note(newest, record, at);
      continue;
    }
    keys ??= new KeysThen(newest);
    if (record.kind === "key") yield* keys.upTo(record, at);
    else {
      yield* keys.rest();
      if (record.outcome.revision <= at) yield record;
    }
  }
  yield* (keys ?? new KeysThen(newest)).rest();
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

/** Merges the keys at the cut, according to the log, with the current key records, in key order. */
class KeysThen {
  readonly #newest: ReadonlyMap<string, Newest>;
  readonly #keys: readonly string[];
  #next = 0;

  constructor(newest: ReadonlyMap<string, Newest>) {
    this.#newest = newest;
    this.#keys = [...newest.keys()].sort(compareKeys);
  }

  *upTo(record: StoredKey, at: Revision): Generator<StoredKey> {
    let key = this.#keys[this.#next];
    for (; key !== undefined && compareKeys(key, record.key) < 0; key = this.#keys[this.#next]) yield* this.#take(key);
    if (record.revision > at) {
      if (key === record.key) yield* this.#take(key);
      return;
    }
    if (key === record.key) this.#next += 1;
    yield record;
  }

  *rest(): Generator<StoredKey> {
    for (let key = this.#keys[this.#next]; key !== undefined; key = this.#keys[this.#next]) yield* this.#take(key);
  }

  *#take(key: string): Generator<StoredKey> {
    this.#next += 1;
    const { revision, seq, version, present, json, changedLater } = this.#newest.get(key) as Newest;
    const index: IndexedText | undefined = present && changedLater && json !== undefined ? findableText(key, JSON.parse(json) as Json) : undefined;
    // A present key without indexed text follows from the log, so it needs no record.
    if (!present || index !== undefined) yield { kind: "key", key, revision, seq, version, present, index };
  }
}
