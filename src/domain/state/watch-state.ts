import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { futureRevisionError } from "../../store/engine-rules.ts";
import { requireKey } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { LogRow, Range, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { stateKeys } from "../keyspace.ts";

export interface StateChange {
  readonly revision: Revision;
  readonly key: string;
  readonly op: "set" | "delete" | "expire";
  /** For set, the version written; for delete and expire, the version that ended. */
  readonly version: number;
  /** `null` for delete and expire. */
  readonly value: Json;
  readonly changedAtMs: number;
  readonly changedBy: string;
  readonly expiresAtMs?: number;
}

export interface WatchInput {
  /** One key, or every key with a prefix; neither = all. */
  readonly key?: string;
  readonly prefix?: string;
  /** Changes after this revision; absent = changes from now on. */
  readonly after?: Revision;
}

/** Every change of the watched keys in order, none skipped, none twice, until the signal aborts. The last change's revision resumes it. */
export async function* watchState(scope: Pick<Scope, "store">, what: WatchInput, signal: AbortSignal): AsyncGenerator<StateChange> {
  const { range, after } = await beginWatch(scope, what);
  for await (const { rows } of scope.store.watch(range, after, signal)) for (const row of rows) yield toStateChange(row);
}

/** What one commit did to the watched keys. */
export interface StateCommit {
  readonly revision: Revision;
  readonly changes: readonly StateChange[];
}

/** Where a watch begins, found out before anything is answered. */
export interface WatchBeginning {
  readonly range: Range;
  readonly after: Revision;
}

/**
 * The same changes, commit by commit, for watchers on other machines: one that was cut off resumes after a whole commit. The values of a commit are read
 * when it is its turn, through the given store, so that a metered store meters them too.
 */
export async function* watchCommits({ store }: Pick<Scope, "store">, { range, after }: WatchBeginning, signal: AbortSignal): AsyncGenerator<StateCommit> {
  for await (const { revision } of store.watch(range, after, signal, { values: false })) {
    const { rows } = await store.log({ ranges: [range], after: revision - 1, before: revision + 1 });
    yield { revision, changes: rows.map(toStateChange) };
  }
}

export async function beginWatch({ store }: Pick<Scope, "store">, { key, prefix, after }: WatchInput): Promise<WatchBeginning> {
  if (key !== undefined && prefix !== undefined) throw invalidInput("prefix", "give either key or prefix, not both");
  if (key !== undefined) requireKey(key);
  const { revision } = await store.position();
  // Waiting for a future revision would look like a quiet store. Either the caller is using the wrong store, or this one was rolled back.
  if (after !== undefined && after > revision) throw futureRevisionError(after, revision);
  return { range: key !== undefined ? keyRange(stateKeys.key(key)) : stateKeys.prefix(prefix ?? ""), after: after ?? revision };
}

const toStateChange = (row: LogRow): StateChange => ({
  revision: row.revision,
  key: stateKeys.nameOf(row.key),
  op: row.op === "put" ? "set" : row.op,
  version: row.version,
  value: row.value,
  changedAtMs: row.atMs,
  changedBy: row.agent ?? row.writer,
  expiresAtMs: row.expiresAtMs,
});
