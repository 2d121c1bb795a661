import type { Clock } from "../kernel/clock.ts";
import { HoldfastError, invalidInput } from "../kernel/errors.ts";
import { Committer } from "./committer.ts";
import { limits } from "./limits.ts";
import { prepareCommit } from "./prepare-commit.ts";
import type { Engine, Range, Store } from "./store.ts";
import { watchLog } from "./watch-log.ts";

/** One namespace of an engine, as the layers above see it. */
export function openNamespaceStore(engine: Engine, namespace: string, clock: Clock): Store {
  requireNamespace(namespace);
  const committer = new Committer(engine, namespace, clock);
  return {
    namespace,
    // Async, so that a refused input rejects like every other failure instead of throwing at once.
    read: async (ranges, options = {}) => engine.read(namespace, asList(ranges), { ...options, limit: boundedLimit(options.limit, limits.readEntriesMax) }),
    commit: async (commit) => committer.submit(prepareCommit(commit)),
    readRequest: (key) => engine.readRequest(namespace, key),
    log: async (query) => engine.log(namespace, { ...query, limit: boundedLimit(query.limit, limits.logRowsMax) }),
    watch: (range, after, signal, options) => watchLog(engine, namespace, range, after, signal, options),
    count: (range) => engine.count(namespace, range),
    search: (query) => engine.search(namespace, query),
  };
}

const asList = (ranges: Range | readonly Range[]): readonly Range[] => (Array.isArray(ranges) ? ranges : [ranges as Range]);

function boundedLimit(limit: number | undefined, max: number): number {
  if (limit === undefined) return max;
  if (!Number.isInteger(limit) || limit < 1 || limit > max) throw new HoldfastError("invalid_input", `limit: must be a whole number from 1 to ${max}`);
  return limit;
}

export function requireNamespace(namespace: string): void {
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._:@/ -]*$/u.test(namespace) || Buffer.byteLength(namespace) > limits.namespaceBytesMax)
    throw invalidInput("namespace", `must begin with a letter or digit, then letters, digits, space and . _ : @ / -, at most ${limits.namespaceBytesMax} bytes`);
}
