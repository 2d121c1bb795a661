import { compareKeys } from "../../store/ranges.ts";
import type { HistoryRecord, IndexedText, LogRow, NamespaceFacts, Revision, Seal, StoredRequest } from "../../store/store.ts";

/** A log row as kept: the value as text (the only copy) and what to record when it expires. */
export interface Row extends Omit<LogRow, "value"> {
  readonly json: string | undefined;
  readonly lapse?: HistoryRecord;
  readonly createdAtMs: number;
  readonly index?: IndexedText;
}

export interface RememberedRequest extends StoredRequest {
  readonly keptUntilMs: number;
}

/** Plain maps: what there is to know of a namespace. */
export class Namespace {
  revision: Revision = 0;
  compacted: Revision = 0;
  /** The time of the compacted revision: its own rows may be gone, and what had expired by then must stay answerable. */
  compactedAtMs = 0;
  /** The time of the last commit. */
  clockMs = 0;
  /** The latest time anybody was answered with. */
  shownMs = 0;
  /** New keys start above this: the highest version among forgotten deleted keys. */
  versionFloor = 0;
  /** See `NamespaceFacts`: only other than 0 and empty where history went back. */
  base: Revision = 0;
  gaps: NamespaceFacts["gaps"] = [];
  seal: Seal | undefined;
  /** Live or expired-but-unswept entries. */
  readonly entries = new Map<string, Row>();
  /** The keys of `entries`, in byte order. */
  readonly keys: string[] = [];
  /** Last version of deleted keys, oldest deletion first. */
  readonly tombstones = new Map<string, { version: number; revision: Revision; seq: number }>();
  readonly requests = new Map<string, RememberedRequest>();
  log: Row[] = [];
  readonly listeners = new Set<() => void>();
}

/** First position whose key is not below `key`. */
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
