import { createHash } from "node:crypto";
import { compareKeys } from "../../store/ranges.ts";
import type { Engine, NamespaceFacts, StoredKey, StoredLogRow, StoredRecord, StoredRequestKey } from "../../store/store.ts";
import { changePages, keyPages, logPages, recordsOf, requestPages } from "./dump-pages.ts";
import { factsLine, recordLine } from "./record-line.ts";

export interface Side {
  readonly engine: Engine;
  readonly namespace: string;
}

export type Comparison =
  | { readonly equal: true; readonly records: number /** The digest of all compared lines. */; readonly sha256: string }
  | { readonly equal: false; readonly difference: string };

/** The moment up to which the copy must be equal. */
export interface Moment {
  readonly facts: NamespaceFacts;
  /** The source may still add request keys that expire at this millisecond or later, and the copy need not have those. Absent if the source has no writers. */
  readonly requestsMs?: number;
  /** Called from time to time with the number of records compared. */
  readonly onRecords?: (count: number) => Promise<void>;
}

class Difference extends Error {}

/**
 * Checks that the copy equals the source as of these facts. Both are read again, page by page, and compared record by record. Others may keep
 * writing to the source, as long as nothing is compacted meanwhile. Request keys that only the copy still has have expired in the source since.
 */
export async function compareNamespaces(source: Side, copy: Side, { facts, requestsMs, onRecords }: Moment): Promise<Comparison> {
  const seen = new Seen(onRecords);
  return judged(seen, async () => {
    await compareFacts(seen, copy, facts);
    await compareInOrder(seen, until(recordsOf(logPages(source.engine, source.namespace)), facts.revision), recordsOf(logPages(copy.engine, copy.namespace)));
    await compareKeySets(seen, source, copy, facts);
    await compareRequests(seen, source, copy, facts, 0, requestsMs);
    if (requestsMs !== undefined) await compareLastRequests(seen, source, copy, requestsMs);
  });
}

/** Like `compareNamespaces`, but only for changes after a revision up to which both are known to be equal. The source must not change meanwhile. */
export async function compareChanges(source: Side, copy: Side, facts: NamespaceFacts, after: number, requestsFromMs: number): Promise<Comparison> {
  const seen = new Seen();
  return judged(seen, async () => {
    await compareFacts(seen, source, facts);
    await compareFacts(seen, copy, facts);
    await compareInOrder(seen, recordsOf(logPages(source.engine, source.namespace, after)), recordsOf(logPages(copy.engine, copy.namespace, after)));
    await compareInOrder(seen, changedKeys(source, after), changedKeys(copy, after));
    await compareRequests(seen, source, copy, facts, requestsFromMs);
  });
}

async function judged(seen: Seen, work: () => Promise<void>): Promise<Comparison> {
  try {
    await work();
    return { equal: true, records: seen.records, sha256: seen.sha256() };
  } catch (error) {
    if (!(error instanceof Difference)) throw error;
    return { equal: false, difference: error.message };
  }
}

/** What has been found equal so far. */
class Seen {
  readonly #hash = createHash("sha256");
  readonly #onRecords: Moment["onRecords"];
  records = 0;

  constructor(onRecords?: Moment["onRecords"]) {
    this.#onRecords = onRecords;
  }

  line(line: string): void {
    this.#hash.update(line).update("\n");
  }

  async record(line: string): Promise<void> {
    this.line(line);
    this.records += 1;
    if (this.records % 1_000 === 0) await this.#onRecords?.(this.records);
  }

  sha256(): string {
    return this.#hash.digest("hex");
  }
}

async function compareFacts(seen: Seen, { engine, namespace }: Side, expected: NamespaceFacts): Promise<void> {
  const { facts } = await engine.dump(namespace, { part: "keys" });
  // The names may differ, because a copy can have another name.
  const [found, wanted] = [factsLine("", facts), factsLine("", expected)];
  if (found !== wanted) throw new Difference(`its state: ${found} instead of ${wanted}`);
  seen.line(wanted);
}

async function compareInOrder(seen: Seen, source: AsyncIterable<StoredRecord>, copy: AsyncIterable<StoredRecord>): Promise<void> {
  const copied = copy[Symbol.asyncIterator]();
  for await (const record of source) {
    const { value, done } = await copied.next();
    if (done === true) throw new Difference(`${nameOf(record)} is missing`);
    await requireSame(seen, record, value);
  }
  const { value, done } = await copied.next();
  if (done !== true) throw new Difference(`${nameOf(value)} is not in the source`);
}

async function requireSame(seen: Seen, record: StoredRecord, copied: StoredRecord): Promise<void> {
  const line = recordLine(record);
  if (recordLine(copied) !== line)
    throw new Difference(nameOf(record) === nameOf(copied) ? `${nameOf(record)} is not the same` : `${nameOf(copied)} was found instead of ${nameOf(record)}`);
  await seen.record(line);
}

/** A key changed after the moment of the facts has another record in the source by now. Its earlier value is in the log, which has already been compared. */
async function compareKeySets(seen: Seen, source: Side, copy: Side, { revision }: NamespaceFacts): Promise<void> {
  const copied = recordsOf(keyPages(copy.engine, copy.namespace));
  let theirs = await copied.next();
  for await (const key of recordsOf(keyPages(source.engine, source.namespace))) {
    if (theirs.done !== true && compareKeys(theirs.value.key, key.key) < 0) throw new Difference(`${nameOf(theirs.value)} is not in the source`);
    const isThere = theirs.done !== true && theirs.value.key === key.key;
    if (key.revision <= revision) {
      if (!isThere) throw new Difference(`${nameOf(key)} is missing`);
      await requireSame(seen, key, theirs.value as StoredKey);
    }
    if (isThere) theirs = await copied.next();
  }
  if (theirs.done !== true) throw new Difference(`${nameOf(theirs.value)} is not in the source`);
}

async function compareRequests(seen: Seen, source: Side, copy: Side, { revision }: NamespaceFacts, fromMs: number, beforeMs = Number.POSITIVE_INFINITY): Promise<void> {
  const { records } = await source.engine.dump(source.namespace, { part: "requests", after: { keptUntilMs: fromMs } });
  const first = (records as readonly StoredRequestKey[])[0];
  if (first === undefined) return;
  const [kept, copied] = [source, copy].map(({ engine, namespace }) =>
    until(before(recordsOf(requestPages(engine, namespace, { keptUntilMs: first.keptUntilMs })), beforeMs), revision),
  ) as [AsyncGenerator<StoredRequestKey>, AsyncGenerator<StoredRequestKey>];
  await compareInOrder(seen, kept, copied);
}

/** Every request key of the copy must be in the source. */
async function compareLastRequests(seen: Seen, source: Side, copy: Side, fromMs: number): Promise<void> {
  const last = new Map<string, StoredRequestKey>();
  for await (const request of recordsOf(requestPages(copy.engine, copy.namespace, { keptUntilMs: fromMs }))) last.set(request.key, request);
  if (last.size === 0) return;
  for await (const request of recordsOf(requestPages(source.engine, source.namespace, { keptUntilMs: fromMs }))) {
    const copied = last.get(request.key);
    if (copied !== undefined) await requireSame(seen, request, copied);
    last.delete(request.key);
  }
  for (const request of last.values()) throw new Difference(`${nameOf(request)} is not in the source`);
}

async function* before(records: AsyncIterable<StoredRequestKey>, untilMs: number): AsyncGenerator<StoredRequestKey> {
  for await (const record of records) {
    if (record.keptUntilMs >= untilMs) return;
    yield record;
  }
}

/** Records that existed at a revision. Log rows are in order, so reading stops early; request keys are not, so all are checked. */
async function* until<R extends StoredLogRow | StoredRequestKey>(records: AsyncIterable<R>, revision: number): AsyncGenerator<R> {
  for await (const record of records) {
    const at = record.kind === "log" ? record.revision : record.outcome.revision;
    if (at <= revision) yield record;
    else if (record.kind === "log") return;
  }
}

/** Each key once, in order, because every engine ends its pages differently. */
async function* changedKeys({ engine, namespace }: Side, after: number): AsyncGenerator<StoredKey> {
  const keys = new Map<string, StoredKey>();
  for await (const record of recordsOf(changePages(engine, namespace, after))) if (record.kind === "key") keys.set(record.key, record);
  for (const key of [...keys.keys()].sort(compareKeys)) yield keys.get(key) as StoredKey;
}

/** Identifies the record in a message. Keys may contain any text. */
function nameOf(record: StoredRecord): string {
  const key = JSON.stringify(record.key.length > 120 ? `${record.key.slice(0, 120)}…` : record.key);
  if (record.kind === "log") return `log row ${record.revision}.${record.seq} (key ${key})`;
  return `${record.kind} ${key}`;
}
