import type { Json } from "../../kernel/json.ts";
import type { Entry, Revision } from "../../store/store.ts";
import { stateKeys } from "../keyspace.ts";

export interface StateEntry {
  readonly key: string;
  readonly value: Json;
  readonly version: number;
  readonly revision: Revision;
  readonly updatedAtMs: number;
  /** The authenticated writer. */
  readonly updatedBy: string;
  /** The label that the writer gave itself. */
  readonly agent?: string;
  readonly expiresAtMs?: number;
}

export const toStateEntry = (entry: Omit<Entry, "createdAtMs">): StateEntry => ({
  key: stateKeys.nameOf(entry.key),
  value: entry.value,
  version: entry.version,
  revision: entry.revision,
  updatedAtMs: entry.updatedAtMs,
  updatedBy: entry.writer,
  agent: entry.agent,
  expiresAtMs: entry.expiresAtMs,
});
