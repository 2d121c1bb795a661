import { isHoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { keyRange } from "../../store/ranges.ts";
import type { FailedCheck, Revision, Store } from "../../store/store.ts";
import { answerTextMax } from "../answer-text.ts";
import { stateKeys } from "../keyspace.ts";
import type { StateEntry } from "./state-entry.ts";
import { toStateEntry } from "./state-entry.ts";

/** The entry that caused the conflict. Its value is absent if the values of all conflicts do not fit into one response, or if it was compacted. */
export type CurrentEntry = Omit<StateEntry, "value"> & Partial<Pick<StateEntry, "value">>;

export interface VersionConflict {
  readonly ok: false;
  readonly key: string;
  readonly expectedVersion: number;
  readonly actualVersion: number;
  readonly current?: CurrentEntry;
}

/** Values read at once. Sixteen values of the maximum size are already sixteen times what one response carries. */
const valuesPage = 16;

/** The failed version checks of a rejected commit, in order. Values are as of the rejection and included while they fit into one response. */
export async function readConflicts(store: Store, failed: readonly FailedCheck[], at: Revision): Promise<VersionConflict[]> {
  const broken = failed.flatMap(({ check, entry }) => ("version" in check ? [{ expectedVersion: check.version, key: check.key, entry }] : []));
  const conflicts: VersionConflict[] = [];
  let left: number = answerTextMax;
  // After a value did not fit, later pages are not read: their values would mostly be thrown away.
  let isFull = false;
  for (let start = 0; start < broken.length; start += valuesPage) {
    const page = broken.slice(start, start + valuesPage);
    const values: ReadonlyMap<string, Json> = isFull
      ? new Map<string, Json>()
      : await readValues(store, new Set(page.flatMap(({ entry }) => (entry === undefined ? [] : [entry.key]))), at);
    for (const { key, expectedVersion, entry } of page) {
      const value = entry && values.get(entry.key);
      const length = value === undefined ? 0 : JSON.stringify(value).length;
      const isSent = value !== undefined && length <= left;
      if (isSent) left -= length;
      isFull ||= value !== undefined && !isSent;
      const current = entry && withValue(toStateEntry(entry), isSent ? value : undefined);
      conflicts.push({ ok: false, key: stateKeys.nameOf(key), expectedVersion, actualVersion: entry?.version ?? 0, current });
    }
  }
  return conflicts;
}

async function readValues(store: Store, keys: ReadonlySet<string>, at: Revision): Promise<ReadonlyMap<string, Json>> {
  if (keys.size === 0) return new Map();
  try {
    const { entries } = await store.read([...keys].map(keyRange), { at });
    return new Map(entries.map(({ key, value }) => [key, value]));
  } catch (error) {
    // The conflict is reported without values.
    if (isHoldfastError(error, "compacted")) return new Map();
    throw error;
  }
}

const withValue = ({ value: _, ...entry }: StateEntry, value: Json | undefined): CurrentEntry => (value === undefined ? entry : { ...entry, value });
