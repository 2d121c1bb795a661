import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { futureRevisionError } from "../../store/engine-rules.ts";
import { requireKey } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { stateKeys } from "../keyspace.ts";

export interface StateChange {
  readonly revision: Revision;
  readonly key: string;
  readonly op: "set" | "delete" | "expire";
  /** Of a set: the version written. Of the others: the version that ended. */
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
  /** Changes after this revision; absent = those after now. */
  readonly after?: Revision;
}

/** Every change of the watched keys in order, none skipped, none twice, until the signal aborts. The last change's revision resumes it. */
export async function* watchState({ store }: Pick<Scope, "store">, { key, prefix, after }: WatchInput, signal: AbortSignal): AsyncGenerator<StateChange> {
  if (key !== undefined && prefix !== undefined) throw invalidInput("prefix", "give either key or prefix, not both");
  if (key !== undefined) requireKey(key);
  const range = key !== undefined ? keyRange(stateKeys.key(key)) : stateKeys.prefix(prefix ?? "");
  const { revision } = await store.position();
  // Waiting for it would look like a quiet store: the caller has mixed up its stores, or this one was set back.
  if (after !== undefined && after > revision) throw futureRevisionError(after, revision);
  for await (const change of store.watch(range, after ?? revision, signal)) {
    for (const row of change.rows) {
      yield {
        revision: change.revision,
        key: stateKeys.nameOf(row.key),
        op: row.op === "put" ? "set" : row.op,
        version: row.version,
        value: row.value,
        changedAtMs: row.atMs,
        changedBy: row.agent ?? row.writer,
        expiresAtMs: row.expiresAtMs,
      };
    }
  }
}
