import type { Clock } from "../kernel/clock.ts";
import { HoldfastError, invalidInput } from "../kernel/errors.ts";
import { bestHits } from "./best-hits.ts";
import type { BatchTurn } from "./committer.ts";
import { Committer } from "./committer.ts";
import { KeyQuota } from "./key-quota.ts";
import { limits } from "./limits.ts";
import { LogTail } from "./log-tail.ts";
import type { NamespaceQuota } from "./namespace-quota.ts";
import { prepareCommit, requireNewTexts } from "./prepare-commit.ts";
import type { Change, CommitResult, Engine, PreparedCommit, Range, Store } from "./store.ts";
import type { StoreObserver } from "./store-observer.ts";
import { watchLog } from "./watch-log.ts";

export interface NamespaceStoreOptions {
  readonly observer?: StoreObserver;
  /** The maximum number of keys; commits that would exceed it are rejected. Absent: as many as the engine can hold. */
  readonly keysMax?: number;
  /** Shared by all namespaces of the store that this process opens. Absent: as many as the engine can hold. */
  readonly namespaces?: NamespaceQuota;
  /** Called before each batch of commits when callers share the time. Default: batches are sent at once. */
  readonly batchTurn?: BatchTurn;
}

/** One namespace of an engine, as the layers above see it. */
export function openNamespaceStore(engine: Engine, namespace: string, clock: Clock, options: NamespaceStoreOptions = {}): Store {
  requireNamespace(namespace);
  return storeOf(engine, namespace, clock, options);
}

/** A namespace that Holdfast uses internally. Names from callers always go through `openNamespaceStore`, which rejects reserved ones. */
export function openReservedStore(engine: Engine, namespace: string, clock: Clock): Store {
  if (!isReservedNamespace(namespace)) throw new HoldfastError("internal", "A reserved namespace begins with a dot.");
  return storeOf(engine, namespace, clock);
}

function storeOf(engine: Engine, namespace: string, clock: Clock, { observer, keysMax, namespaces, batchTurn }: NamespaceStoreOptions = {}): Store {
  const committer = new Committer(engine, namespace, clock, observer, batchTurn);
  const quota = keysMax === undefined ? undefined : new KeyQuota(engine, namespace, clock, keysMax);
  const tail = new LogTail(engine, namespace);
  const submit = (commit: PreparedCommit): Promise<CommitResult> => committer.submit(commit);
  const commitPrepared = (commit: PreparedCommit): Promise<CommitResult> => (quota === undefined ? submit(commit) : quota.commit(commit, submit));
  return {
    namespace,
    position: () => engine.position(namespace),
    // Async, so that invalid input rejects the promise like every other failure instead of throwing synchronously.
    read: async (ranges, options = {}) => engine.read(namespace, asList(ranges), { ...options, limit: boundedLimit(options.limit, limits.readEntriesMax) }),
    commit: async (commit) => {
      const prepared = prepareCommit(commit);
      return namespaces === undefined || namespaces.knows(namespace) ? commitPrepared(prepared) : namespaces.commit(namespace, () => commitPrepared(prepared));
    },
    readRequest: (key) => engine.readRequest(namespace, key),
    log: async (query) => engine.log(namespace, { ...query, limit: boundedLimit(query.limit, limits.logRowsMax) }),
    watch: (range, after, signal, options) => {
      const changes = watchLog(engine, namespace, tail, range, after, signal, options);
      return observer === undefined ? changes : observedWatch(changes, observer);
    },
    count: (range) => engine.count(namespace, range),
    search: async (query) => bestHits(await engine.search(namespace, query), query.hitsMax),
    reindex: async (texts) => {
      requireNewTexts(texts);
      return texts.length === 0 ? 0 : engine.reindex(namespace, texts);
    },
  };
}

/** A watcher counts from its first read until it ends, for whatever reason. */
async function* observedWatch(changes: AsyncIterable<Change>, observer: StoreObserver): AsyncGenerator<Change> {
  observer.watching(1);
  try {
    yield* changes;
  } finally {
    observer.watching(-1);
  }
}

const asList = (ranges: Range | readonly Range[]): readonly Range[] => (Array.isArray(ranges) ? ranges : [ranges as Range]);

function boundedLimit(limit: number | undefined, max: number): number {
  if (limit === undefined) return max;
  if (!Number.isInteger(limit) || limit < 1 || limit > max) throw new HoldfastError("invalid_input", `limit: must be a whole number from 1 to ${max}`);
  return limit;
}

/** Names that callers cannot use; see `requireNamespace`. */
export const isReservedNamespace = (namespace: string): boolean => /^\.[a-z]+$/.test(namespace);

export function requireNamespace(namespace: string): void {
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._:@/ -]*$/u.test(namespace) || Buffer.byteLength(namespace) > limits.namespaceBytesMax)
    throw invalidInput("namespace", `must begin with a letter or digit, then letters, digits, space and . _ : @ / -, at most ${limits.namespaceBytesMax} bytes`);
}
