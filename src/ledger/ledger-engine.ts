import { requireFilling, requireSeal, requireUnsealed, restsFrom } from "../store/engine-rules.ts";
import { singleKey } from "../store/ranges.ts";
import type {
  CommitResult,
  Compacted,
  DumpPage,
  DumpQuery,
  Engine,
  EngineHealth,
  LogPage,
  LogQuery,
  NamespaceFacts,
  NewText,
  PreparedCommit,
  Range,
  ReadOptions,
  RetentionPolicy,
  Seal,
  SearchAnswer,
  SearchQuery,
  Snapshot,
  StoredRecord,
  StoredRequest,
  StorePosition,
} from "../store/store.ts";
import { RecordLoadPlan, requireLoadable } from "./load-plan.ts";
import { logPositionOf, revisionAt } from "./log-position.ts";
import { BatchPlan } from "./plan-batch.ts";
import { dumpWork, keySnapshot, liveWork, logWork, pastWork, requireReadable, searchWork } from "./read-work.ts";
import { Compaction, planSweep, sweepCounts } from "./reclaim.ts";
import type { RowDecision, Rows, Work } from "./rows.ts";
import { answered } from "./rows.ts";

/** Implements a namespace once for all engines that store it in rows. The memory engine implements it separately, so that tests can compare the two. */
export class LedgerEngine implements Engine {
  readonly name: string;
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.name = rows.name;
    this.#rows = rows;
  }

  position(namespace: string): Promise<StorePosition> {
    return this.#rows.ask(namespace, function* (reads): Work<StorePosition> {
      const space = yield* reads.space();
      requireReadable(reads, space);
      return { revision: space.revision, nowMs: space.nowMs };
    });
  }

  read(namespace: string, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
    const { at } = options;
    const key = at === undefined && ranges.length === 1 ? singleKey(ranges[0] as Range) : undefined;
    const shared = key === undefined ? undefined : this.#rows.readKey?.(namespace, key, options.values !== false);
    if (shared !== undefined) return shared.then(keySnapshot);
    return at === undefined ? this.#rows.ask(namespace, (reads) => liveWork(reads, ranges, options)) : this.#rows.read(namespace, (reads) => pastWork(reads, at, ranges, options));
  }

  commit(namespace: string, commits: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
    return this.#rows.commit(namespace, commits, (locked) => {
      const { reads, space, source } = locked;
      requireUnsealed(space.seal, "commit");
      reads.noteShown(space, "time");
      locked.continueHistory();
      const plan = new BatchPlan(source, space, space.nowMs);
      const result = commits.map((commit) => plan.apply(commit));
      const notifies = plan.rows.length > 0;
      return notifies || plan.requests.length > 0 ? { result, changes: { plan }, notifies } : { result };
    });
  }

  readRequest(namespace: string, key: string): Promise<StoredRequest | undefined> {
    return this.#rows.ask(namespace, function* (reads): Work<StoredRequest | undefined> {
      const { space, request } = yield* reads.request(key);
      requireReadable(reads, space);
      return request;
    });
  }

  log(namespace: string, query: LogQuery): Promise<LogPage> {
    return this.#rows.ask(namespace, (reads) => logWork(reads, query));
  }

  count(namespace: string, range: Range): Promise<number> {
    return this.#rows.ask(namespace, function* (reads): Work<number> {
      const { space, count } = yield* reads.count(range);
      requireReadable(reads, space);
      return count;
    });
  }

  search(namespace: string, query: SearchQuery): Promise<SearchAnswer> {
    return this.#rows.read(namespace, (reads) => searchWork(reads, query));
  }

  /** Replaces the index terms of entries that are already findable. The entries themselves do not change. */
  async reindex(namespace: string, texts: readonly NewText[]): Promise<number> {
    const keys = new Set(texts.map(({ key }) => key));
    const { result } = await this.#rows.change(namespace, { keys }, ({ reads, space, source }) => {
      reads.noteShown(space, "time");
      if (restsFrom(space.seal, "compact", space.nowMs)) return answered({ result: 0 });
      const replaced = texts.flatMap(({ key, revision, index }) => {
        const slot = source.readSlot(key);
        return slot?.findable && revisionAt(slot.logPosition) === revision ? [{ key, logPosition: slot.logPosition, index }] : [];
      });
      return answered(replaced.length === 0 ? { result: 0 } : { result: replaced.length, changes: { texts: replaced } });
    });
    return result;
  }

  onChange(namespace: string, notify: () => void): () => void {
    return this.#rows.onChange(namespace, notify);
  }

  async sweep(namespace: string, limit: number): Promise<number> {
    // Most sweeps find nothing, so check before taking the lock.
    const isDue = await this.#rows.ask(namespace, function* (reads): Work<boolean> {
      const { space, isDue: found } = yield* reads.isSweepDue();
      reads.noteShown(space, "time");
      return found && !restsFrom(space.seal, "sweep", space.nowMs);
    });
    if (!isDue) return 0;
    const { result } = await this.#rows.change(namespace, {}, function* (locked): Work<RowDecision<number>> {
      const { reads, space, source } = locked;
      reads.noteShown(space, "time");
      if (restsFrom(space.seal, "sweep", space.nowMs)) return { result: 0 };
      const counts = sweepCounts(limit);
      const keys = yield* locked.expired(counts.entries);
      if (keys.length > 0) locked.continueHistory();
      const plan = new BatchPlan(source, space, space.nowMs);
      planSweep(plan, keys);
      return { result: keys.length, changes: { plan, requestsPast: { nowMs: space.nowMs, count: counts.requests } }, notifies: keys.length > 0 };
    });
    return result;
  }

  async compact(namespace: string, policy: RetentionPolicy, limit: number): Promise<Compacted> {
    const isDue = await this.#rows.ask(namespace, function* (reads): Work<boolean> {
      const space = yield* reads.space();
      reads.noteShown(space, "time");
      if (space.id === 0 || restsFrom(space.seal, "compact", space.nowMs)) return false;
      const compaction = new Compaction(space, policy, space.nowMs, 1);
      if (compaction.letsGoOf(yield* reads.pastRows(space, compaction.rowsToRead))) return true;
      return compaction.tombstonesToRead.count > 0 && (yield* reads.oldTombstones(space, compaction.tombstonesToRead)).length > 0;
    });
    if (!isDue) return { removed: 0, more: false };
    const { result: more, removed } = await this.#rows.change(namespace, {}, function* (locked): Work<RowDecision<boolean>> {
      const { reads, space } = locked;
      reads.noteShown(space, "time");
      if (restsFrom(space.seal, "compact", space.nowMs)) return { result: false };
      const compaction = new Compaction(space, policy, space.nowMs, limit);
      const rows = compaction.forgetRows(yield* reads.pastRows(space, compaction.rowsToRead));
      const wanted = compaction.tombstonesToRead;
      const tombstones = wanted.count === 0 ? [] : yield* reads.oldTombstones(space, wanted);
      compaction.forgetTombstones(tombstones);
      return { result: compaction.more, changes: { rows, tombstones: tombstones.map(({ key }) => key), space: true } };
    });
    return { removed, more };
  }

  namespaces(): Promise<readonly string[]> {
    return this.#rows.namespaces();
  }

  health(namespace: string): Promise<EngineHealth> {
    return this.#rows.health(namespace);
  }

  checkFiles(onRows?: (rows: number) => void): Promise<readonly string[]> {
    return this.#rows.checkFiles(onRows);
  }

  dump(namespace: string, query: DumpQuery): Promise<DumpPage> {
    return this.#rows.read(namespace, (reads) => dumpWork(reads, query));
  }

  async load(namespace: string, records: readonly StoredRecord[], facts?: NamespaceFacts, by?: string): Promise<void> {
    const keys = new Set(records.flatMap((record) => (record.kind === "request" ? [] : [record.key])));
    const logPositions = records.flatMap((record) => (record.kind === "log" ? [logPositionOf(record.revision, record.seq)] : []));
    await this.#rows.change(namespace, { keys, logPositions }, ({ space, source, log }) => {
      requireFilling(space.seal, by);
      const plan = new BatchPlan(source, space, space.nowMs);
      const load = new RecordLoadPlan(plan, records, log);
      if (facts !== undefined) Object.assign(space, requireLoadable(facts));
      return answered({ result: undefined, changes: { plan, load, space: facts !== undefined } });
    });
  }

  async seal(namespace: string, seal: Seal | undefined, expected?: Seal): Promise<void> {
    await this.#rows.change(namespace, {}, ({ space }) => {
      requireSeal(space.seal, expected);
      space.seal = seal;
      return answered({ result: undefined, changes: { space: true }, notifies: true });
    });
  }

  clear(namespace: string): Promise<void> {
    return this.#rows.clear(namespace, ({ seal }) => requireFilling(seal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#rows[Symbol.asyncDispose]();
  }
}
