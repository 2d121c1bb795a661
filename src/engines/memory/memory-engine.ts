import type { Clock } from "../../kernel/clock.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Json } from "../../kernel/json.ts";
import {
  essentialTerms,
  futureRevisionError,
  holds,
  letGoThrough,
  nextVersion,
  requireKept,
  requireRevisionLeft,
  requireSeal,
  requireUnsealed,
  restsFrom,
  rowsToFetch,
  wholeRevisions,
} from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { compareKeys, inRange, isLive, rangesFrom } from "../../store/ranges.ts";
import type {
  Check,
  CommitResult,
  Compacted,
  DumpPage,
  DumpQuery,
  Engine,
  Entry,
  FailedCheck,
  LogPage,
  LogQuery,
  LogRow,
  NamespaceFacts,
  NewText,
  PreparedCommit,
  Range,
  ReadOptions,
  Revision,
  Seal,
  SearchAnswer,
  SearchQuery,
  Snapshot,
  StoredRecord,
  StoredRequest,
  StorePosition,
  WriteOutcome,
} from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import { clearNamespace, dumpNamespace, loadRecords } from "./moving.ts";
import type { RememberedRequest, Row } from "./namespace.ts";
import { lowerBound, Namespace } from "./namespace.ts";

/**
 * The specification: plain maps, no optimizations. Every random history must give the same results on every other engine.
 * It is also a real engine for tests and temporary use (`memory:`); nothing survives the process.
 */
export class MemoryEngine implements Engine {
  readonly name = "memory";
  readonly #clock: Clock;
  readonly #namespaces = new Map<string, Namespace>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async position(namespace: string): Promise<StorePosition> {
    const space = this.#open(namespace);
    return { revision: space.revision, nowMs: this.#now(space) };
  }

  async read(namespace: string, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
    const space = this.#open(namespace);
    const nowMs = this.#now(space);
    const limit = options.limit ?? limits.readEntriesMax;
    const past = options.at === undefined ? undefined : this.#asOf(space, options.at);
    const judgedAtMs = past === undefined ? nowMs : (options.liveAtMs ?? past.atMs);
    const rowOf = past === undefined ? space.entries : past.rows;
    const keys = past === undefined ? space.keys : [...past.rows.keys()].sort(compareKeys);
    const entries: Entry[] = [];
    let characters = 0;
    const order = [...ranges.keys()];
    for (const i of options.reverse ? order.reverse() : order) {
      const range = ranges[i] as Range;
      const start = lowerBound(keys, range.start);
      const end = range.end === undefined ? keys.length : lowerBound(keys, range.end);
      const found = keys.slice(start, end);
      for (const key of options.reverse ? found.reverse() : found) {
        const row = rowOf.get(key) as Row;
        if (!isLive(row, judgedAtMs)) continue;
        if (entries.length === limit) return { revision: options.at ?? space.revision, nowMs, entries, more: true };
        if (characters >= (options.charactersMax ?? Number.POSITIVE_INFINITY))
          return { revision: options.at ?? space.revision, nowMs, entries, more: false, rest: rangesFrom(ranges, i, key, options.reverse) };
        entries.push(toEntry(row, options.values !== false));
        characters += options.values === false ? 0 : (row.json?.length ?? 0);
      }
    }
    return { revision: options.at ?? space.revision, nowMs, entries, more: false };
  }

  /** The state at a revision: the newest row of each key up to it. */
  #asOf(space: Namespace, at: Revision): { rows: Map<string, Row>; atMs: number } {
    if (at > space.revision) throw futureRevisionError(at, space.revision);
    requireKept(at, space);
    const rows = new Map<string, Row>();
    let atMs = space.compactedAtMs;
    for (const row of space.log) {
      if (row.revision > at) break;
      atMs = Math.max(atMs, row.atMs);
      if (row.op === "put") rows.set(row.key, row);
      else rows.delete(row.key);
    }
    return { rows, atMs };
  }

  async commit(namespace: string, batch: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
    const space = this.#open(namespace, "commit");
    const before = space.revision;
    const results = batch.map((commit) => this.#apply(space, commit));
    if (space.revision > before) for (const notify of [...space.listeners]) notify();
    return results;
  }

  #apply(space: Namespace, commit: PreparedCommit): CommitResult {
    const atMs = this.#now(space);
    const { request } = commit;
    if (request !== undefined) {
      const known = this.#liveRequest(space, request.key, atMs);
      if (known !== undefined)
        return known.fingerprint === request.fingerprint ? { ...known.outcome, replayed: true } : { ok: false, reason: "request_key_reused", revision: space.revision, atMs };
    }
    const failed = commit.checks.flatMap((check) => this.#failedCheck(space, check, atMs));
    if (failed.length > 0) return { ok: false, reason: "checks", revision: space.revision, atMs, failed };

    requireRevisionLeft(space.revision);
    const revision = space.revision + 1;
    let seq = 0;
    const append = (row: Omit<Row, "revision" | "seq" | "atMs">): Row => {
      const full = { ...row, revision, seq, atMs };
      seq += 1;
      space.log.push(full);
      return full;
    };
    const writes = commit.writes.map((write): WriteOutcome => {
      const found = space.entries.get(write.key);
      const live = found !== undefined && isLive(found, atMs) ? found : undefined;
      if (found !== undefined && live === undefined) {
        const { seq: place } = append(expiryOf(found));
        this.#remove(space, found, revision, place);
      }
      if (write.op === "delete") {
        if (live === undefined) return { version: 0, existed: false };
        const { seq: place } = append({
          key: write.key,
          op: "delete",
          version: live.version,
          json: undefined,
          writer: commit.writer,
          agent: commit.agent,
          record: write.record,
          createdAtMs: live.createdAtMs,
        });
        this.#remove(space, live, revision, place);
        return { version: live.version, existed: true };
      }
      const version = nextVersion(live?.version ?? space.tombstones.get(write.key)?.version, space);
      const expiresAtMs = write.ttlMs === undefined ? undefined : atMs + write.ttlMs;
      const { json, record, lapse, index } = write;
      const createdAtMs = live?.createdAtMs ?? atMs;
      const row = append({ key: write.key, op: "put", version, json, expiresAtMs, writer: commit.writer, agent: commit.agent, record, lapse, createdAtMs, index });
      if (live === undefined) {
        space.tombstones.delete(write.key);
        space.keys.splice(lowerBound(space.keys, write.key), 0, write.key);
      }
      space.entries.set(write.key, row);
      return { version, existed: live !== undefined, expiresAtMs };
    });
    if (seq > 0) {
      space.revision = revision;
      space.clockMs = atMs;
    }
    const outcome = { ok: true, revision: space.revision, atMs, writes, replayed: false, note: request?.note } as const;
    if (request !== undefined) space.requests.set(request.key, { fingerprint: request.fingerprint, outcome, keptUntilMs: atMs + limits.requestKeptMs });
    return outcome;
  }

  #failedCheck(space: Namespace, check: Check, atMs: number): FailedCheck[] {
    const row = space.entries.get(check.key);
    const live = row !== undefined && isLive(row, atMs) ? row : undefined;
    if (holds(check, live)) return [];
    return [{ check, entry: live === undefined ? undefined : toEntry(live, false) }];
  }

  #remove(space: Namespace, row: Row, revision: Revision, seq: number): void {
    space.entries.delete(row.key);
    space.keys.splice(lowerBound(space.keys, row.key), 1);
    space.tombstones.set(row.key, { version: row.version, revision, seq });
  }

  async readRequest(namespace: string, key: string): Promise<StoredRequest | undefined> {
    const space = this.#open(namespace);
    const known = this.#liveRequest(space, key, this.#now(space));
    return known === undefined ? undefined : { fingerprint: known.fingerprint, outcome: known.outcome };
  }

  #liveRequest(space: Namespace, key: string, nowMs: number): RememberedRequest | undefined {
    const known = space.requests.get(key);
    return known !== undefined && nowMs < known.keptUntilMs ? known : undefined;
  }

  async log(namespace: string, query: LogQuery): Promise<LogPage> {
    const space = this.#open(namespace);
    const after = query.after ?? 0;
    if (query.after !== undefined && !query.lenient) requireKept(after, space);
    const before = query.before ?? Number.POSITIVE_INFINITY;
    const matching = space.log.filter((row) => row.revision > after && row.revision < before && query.ranges.some((range) => inRange(row.key, range)) && wanted(row, query));
    if (query.reverse) matching.reverse();
    const limit = query.limit ?? limits.logRowsMax;
    const page = wholeRevisions(withValues(matching.slice(0, rowsToFetch.again(limit)), space.log, query), limit);
    const end = query.reverse ? after : Math.max(after, Math.min(space.revision, before - 1));
    return { rows: page.rows, through: page.cut ? (page.rows.at(-1) as LogRow).revision : end, done: !page.cut, revision: space.revision };
  }

  async count(namespace: string, range: Range): Promise<number> {
    const space = this.#open(namespace);
    const nowMs = this.#now(space);
    let count = 0;
    for (const row of space.entries.values()) if (inRange(row.key, range) && isLive(row, nowMs)) count += 1;
    return count;
  }

  async search(namespace: string, { areas, terms }: SearchQuery): Promise<SearchAnswer> {
    const space = this.#open(namespace);
    const nowMs = this.#now(space);
    // Expired entries count until they are swept: counts may be slightly stale, hits never are.
    const indexed = [...space.entries.values()].filter((row) => row.index !== undefined && areas.includes(row.index.area));
    const weightsOf = new Map(indexed.map((row) => [row, new Map(row.index?.terms)]));
    const has = (row: Row, i: number): boolean => weightsOf.get(row)?.has(terms[i] as string) ?? false;
    const frequencies = terms.map((_, i) => indexed.filter((row) => has(row, i)).length);
    const newestFirst = indexed.toSorted((a, b) => b.revision - a.revision || b.seq - a.seq);
    const candidates = new Set(essentialTerms(frequencies).flatMap((i) => newestFirst.filter((row) => has(row, i)).slice(0, limits.searchCandidatesMax)));
    const hits = [...candidates]
      .filter((row) => isLive(row, nowMs))
      .map((row) => ({ key: row.key, revision: row.revision, length: row.index?.length ?? 0, weights: terms.map((term) => weightsOf.get(row)?.get(term) ?? 0) }));
    return { revision: space.revision, documents: indexed.length, totalLength: indexed.reduce((sum, row) => sum + (row.index?.length ?? 0), 0), frequencies, hits };
  }

  async reindex(namespace: string, texts: readonly NewText[]): Promise<number> {
    const space = this.#space(namespace);
    if (restsFrom(space.seal, "compact", this.#now(space))) return 0;
    let replaced = 0;
    for (const { key, revision, index } of texts) {
      const row = space.entries.get(key);
      if (row?.index === undefined || row.revision !== revision) continue;
      space.entries.set(key, { ...row, index });
      replaced += 1;
    }
    return replaced;
  }

  onChange(namespace: string, notify: () => void): () => void {
    const { listeners } = this.#space(namespace);
    listeners.add(notify);
    return () => void listeners.delete(notify);
  }

  async sweep(namespace: string, limit: number): Promise<number> {
    const space = this.#space(namespace);
    const nowMs = this.#now(space);
    if (restsFrom(space.seal, "sweep", nowMs)) return 0;
    for (const [key, request] of space.requests) if (request.keptUntilMs <= nowMs) space.requests.delete(key);
    const expired = space.keys
      .map((key) => space.entries.get(key) as Row)
      .filter((row) => !isLive(row, nowMs))
      .sort((a, b) => (a.expiresAtMs as number) - (b.expiresAtMs as number) || compareKeys(a.key, b.key))
      .slice(0, Math.min(limit, limits.commitRowsMax));
    if (expired.length === 0) return 0;
    space.revision += 1;
    space.clockMs = nowMs;
    expired.forEach((row, seq) => {
      space.log.push({ ...expiryOf(row), revision: space.revision, seq, atMs: nowMs });
      this.#remove(space, row, space.revision, seq);
    });
    for (const notify of [...space.listeners]) notify();
    return expired.length;
  }

  async compact(namespace: string, policy: { ageMs: number; revisions: number; tombstones: number }, limit: number): Promise<Compacted> {
    const space = this.#space(namespace);
    const nowMs = this.#now(space);
    if (restsFrom(space.seal, "compact", nowMs)) return { removed: 0, more: false };
    const horizonMs = nowMs - policy.ageMs;
    const horizon = letGoThrough(space, policy.revisions);
    // A window of complete revisions that the policy releases, with about `limit` rows at most.
    let target = space.compacted;
    let targetAtMs = space.compactedAtMs;
    let seen = 0;
    for (const row of space.log) {
      if (row.revision <= space.compacted) continue;
      if (row.revision > target) {
        if (seen >= limit || (row.atMs >= horizonMs && row.revision > horizon)) break;
        target = row.revision;
        targetAtMs = row.atMs;
      }
      seen += 1;
    }
    const removed = target > space.compacted ? this.#forgetUpTo(space, target) : 0;
    space.compactedAtMs = targetAtMs;
    this.#forgetTombstones(space, policy.tombstones, limit);
    return { removed, more: seen >= limit };
  }

  /** A row may be deleted if a newer row of its key is also at or below the target, or if it only records that the key was deleted. */
  #forgetUpTo(space: Namespace, target: Revision): number {
    const newest = new Map<string, Row>();
    for (const row of space.log) if (row.revision <= target) newest.set(row.key, row);
    const before = space.log.length;
    space.log = space.log.filter((row) => row.revision > target || (row.op === "put" && newest.get(row.key) === row));
    space.compacted = target;
    return before - space.log.length;
  }

  #forgetTombstones(space: Namespace, keep: number, limit: number): void {
    let surplus = Math.min(space.tombstones.size - keep, limit);
    for (const [key, { version, revision }] of space.tombstones) {
      if (surplus <= 0 || revision > space.compacted) return;
      space.versionFloor = Math.max(space.versionFloor, version);
      space.tombstones.delete(key);
      surplus -= 1;
    }
  }

  async namespaces(): Promise<readonly string[]> {
    return [...this.#namespaces]
      .filter(([, space]) => space.revision > 0 || space.seal !== undefined)
      .map(([name]) => name)
      .sort(compareKeys);
  }

  async health(namespace: string): ReturnType<Engine["health"]> {
    const space = this.#space(namespace);
    return {
      engine: "memory",
      durability: "none: everything is lost when the process ends",
      facts: { revision: space.revision, compacted_revision: space.compacted, log_rows: space.log.length, base: space.base, gaps: space.gaps },
      warnings: [{ about: "durability", says: "The memory engine keeps nothing; use a sqlite: store for work that matters." }],
    };
  }

  async checkFiles(): Promise<readonly string[]> {
    return [];
  }

  async dump(namespace: string, query: DumpQuery): Promise<DumpPage> {
    return dumpNamespace(this.#space(namespace), query);
  }

  async load(namespace: string, records: readonly StoredRecord[], facts?: NamespaceFacts, by?: string): Promise<void> {
    loadRecords(this.#space(namespace), records, facts, by);
  }

  async seal(namespace: string, seal: Seal | undefined, expected?: Seal): Promise<void> {
    const space = this.#space(namespace);
    requireSeal(space.seal, expected);
    space.seal = seal;
    for (const notify of [...space.listeners]) notify();
  }

  async clear(namespace: string): Promise<void> {
    clearNamespace(this.#space(namespace));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#namespaces.clear();
  }

  /** Returns the namespace; throws if its seal forbids this use. */
  #open(namespace: string, use: "read" | "commit" = "read"): Namespace {
    const space = this.#space(namespace);
    requireUnsealed(space.seal, use);
    return space;
  }

  #space(namespace: string): Namespace {
    let space = this.#namespaces.get(namespace);
    if (space === undefined) {
      space = new Namespace();
      this.#namespaces.set(namespace, space);
    }
    return space;
  }

  /** Never goes back, not even without commits in between: an entry that a reader saw expire stays expired. */
  #now(space: Namespace): number {
    space.shownMs = Math.max(this.#clock.nowMs(), space.clockMs, space.shownMs);
    return space.shownMs;
  }
}

const expiryOf = (row: Row): Omit<Row, "revision" | "seq" | "atMs"> => ({
  key: row.key,
  op: "expire",
  version: row.version,
  json: undefined,
  writer: systemWriter,
  record: row.lapse,
  createdAtMs: row.createdAtMs,
});

function wanted(row: Row, { recorded }: LogQuery): boolean {
  if (recorded === undefined) return true;
  if (row.record === undefined) return false;
  if (recorded.kinds !== undefined && !recorded.kinds.includes(row.record.kind)) return false;
  return recorded.writer === undefined || row.writer === recorded.writer || row.agent === recorded.writer;
}

/** The rows with the values that the query requests, in order. */
function withValues(rows: readonly Row[], log: readonly Row[], { values, previous, valuesBytesMax = Number.POSITIVE_INFINITY }: LogQuery): LogRow[] {
  let bytes = 0;
  return rows.map((row) => {
    if (values === false) return toLogRow(row, false);
    if (bytes >= valuesBytesMax) return { ...toLogRow(row, false), unread: true };
    const before = previous ? log.findLast(({ key, revision, seq }) => key === row.key && (revision < row.revision || (revision === row.revision && seq < row.seq))) : undefined;
    bytes += Buffer.byteLength(row.json ?? "") + Buffer.byteLength(before?.json ?? "");
    return previous ? { ...toLogRow(row, true), previous: parse(before?.json, true) } : toLogRow(row, true);
  });
}

const parse = (json: string | undefined, wantValue: boolean): Json => (json === undefined || !wantValue ? null : (JSON.parse(json) as Json));

const toEntry = (row: Row, wantValue: boolean): Entry => ({
  key: row.key,
  value: parse(row.json, wantValue),
  version: row.version,
  revision: row.revision,
  createdAtMs: row.createdAtMs,
  updatedAtMs: row.atMs,
  expiresAtMs: row.expiresAtMs,
  writer: row.writer,
  agent: row.agent,
});

const toLogRow = ({ json, lapse: _lapse, createdAtMs: _created, index: _index, ...row }: Row, wantValue: boolean): LogRow => ({ ...row, value: parse(json, wantValue) });
