import { compareKeys } from "../../store/ranges.ts";
import type { HistoryRecord, IndexedText, LogRow, NamespaceFacts, Revision, Seal, StoredRequest } from "../../store/store.ts";

/** A stored log row: the value as text (the only copy), and the history record for its expiry. */
export interface Row extends Omit<LogRow, "value"> {
  readonly json: string | undefined;
  readonly lapse?: HistoryRecord;
  readonly createdAtMs: number;
  readonly index?: IndexedText;
}

export interface RememberedRequest extends StoredRequest {
  readonly keptUntilMs: number;
}

/** The complete state of a namespace, in plain maps. */
export class Namespace {
  revision: Revision = 0;
  compacted: Revision = 0;
  /** The time of the compacted revision. Its own rows may be gone, but reads must still know which entries had expired by then. */
  compactedAtMs = 0;
  /** The time of the last commit. */
  clockMs = 0;
  /** The latest time that was returned to a caller. */
  shownMs = 0;
  /** New keys start above this: the highest version among deleted keys that are no longer remembered. */
  versionFloor = 0;
  /** See `NamespaceFacts`: 0 and empty unless history went back. */
  base: Revision = 0;
  gaps: NamespaceFacts["gaps"] = [];
  seal: Seal | undefined;
  /** Entries that are live, or expired and not yet swept. */
  readonly entries = new Map<string, Row>();
  /** The keys of `entries`, in byte order. */
  readonly keys: string[] = [];
  /** Last version of deleted keys, oldest deletion first. */
  readonly tombstones = new Map<string, { version: number; revision: Revision; seq: number }>();
  readonly requests = new Map<string, RememberedRequest>();
  log: Row[] = [];
  readonly listeners = new Set<() => void>();
}

/** The first index whose key is not below `key`. */
export function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keys[middle] as string, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
