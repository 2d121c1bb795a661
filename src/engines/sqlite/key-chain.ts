import { revisionAt } from "../../ledger/log-position.ts";
import { nextInChain } from "../../ledger/past.ts";
import { damagedRecord, linkSum, logPositionSum, requireSum, slotSum, textSum, tombstoneSum, versionSum } from "../../ledger/record-sum.ts";
import type { Range } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import { logId, positionIn } from "./log-id.ts";
import { keyName, rowName } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";
import { endOf, startOf } from "./range-bounds.ts";

/** Walks the chain of a key's rows; ledger/log-position.ts describes how it is built. */
export interface Head {
  readonly k: string;
  /** The position of the key's newest row. */
  readonly place: number;
}

/** Every key in the range that has a history, in key order: existing keys, and keys that ended at or after position `goneSince`. */
export function readHeads(
  connection: Connection,
  namespaceId: number,
  range: Range,
  { reverse, limit, goneSince = 0 }: { readonly reverse?: boolean; readonly limit: number; readonly goneSince?: number },
): Head[] {
  const sql = `${headRows("k >= ?2 AND k < ?3")} AND place >= ?5 ORDER BY k ${reverse ? "DESC" : "ASC"} LIMIT ?4`;
  return (connection.statement(sql).all(namespaceId, startOf(range), endOf(range), limit, goneSince) as RawHead[]).map((row) => requireHead(namespaceId, row));
}

/** SQL for the keys of namespace `?1`, existing or deleted, as {@link RawHead}; `where` is SQL, never input. */
export const headRows = (where: string): string =>
  `SELECT k, place, anchor, ver, slot_sum, exp, created, findable FROM kv WHERE ns = ?1 AND ${where}
   UNION ALL SELECT k, place, anchor, ver, sum, NULL, NULL, NULL FROM tombstone WHERE ns = ?1 AND ${where}`;

export interface RawHead extends Head {
  readonly ver: number;
  readonly anchor: number | null;
  readonly slot_sum: number;
  readonly exp: number | null;
  readonly created: number;
  /** Null for a tombstone. */
  readonly findable: number | null;
}

export function requireHead(namespaceId: number, row: RawHead): RawHead {
  const { k, place, anchor, ver, slot_sum, exp, created, findable } = row;
  if (findable === null) requireSum(tombstoneSum(namespaceId, k, place, anchor, ver), slot_sum, keyName, k);
  else requireLiveHead(namespaceId, [place, k, ver, created, exp, anchor, findable, slot_sum]);
  return row;
}

/** A live key as an array, for reads of many rows. */
export const liveHeadColumns = "kv.place, kv.k, kv.ver, kv.created, kv.exp, kv.anchor, kv.findable, kv.slot_sum";
export type LiveHead = [place: number, k: string, ver: number, created: number, exp: number | null, anchor: number | null, findable: number, slotSum: number];

export function requireLiveHead(namespaceId: number, [logPosition, k, ver, created, exp, anchor, findable, sum]: LiveHead): void {
  requireSum(slotSum(versionSum(logPositionSum(namespaceId, logPosition), ver, exp, created), textSum(k), anchor, findable), sum, keyName, k);
}

export function readHead(connection: Connection, namespaceId: number, key: string): RawHead | undefined {
  const row = connection.statement(headRows("k = ?2")).get(namespaceId, key) as RawHead | undefined;
  return row && requireHead(namespaceId, row);
}

export const linkColumns = `${positionIn("id")} AS place, at, prev, jump, link_sum`;

export interface RawLink {
  readonly place: number;
  readonly at: number;
  readonly prev: number | null;
  readonly jump: number | null;
  readonly link_sum: number;
}

export function requireLink(namespaceId: number, { place, at, prev, jump, link_sum }: RawLink): void {
  requireSum(linkSum(logPositionSum(namespaceId, place), at, prev, jump), link_sum, rowName, place);
}

/** The newest position of the chain below `bound`; undefined if there is none. */
export function newestBelow(connection: Connection, { id, compacted }: Pick<SqliteNamespaceRow, "id" | "compacted">, head: number, bound: number): number | undefined {
  const step = connection.statement(`SELECT ${linkColumns} FROM log WHERE id = ${logId("?1", "?2")}`);
  let logPosition: number | null = head;
  while (logPosition !== null && logPosition >= bound) {
    const link = step.get(id, logPosition) as RawLink | undefined;
    if (link === undefined) {
      // The chain ends at rows that compaction deleted; anything newer must exist.
      if (revisionAt(logPosition) <= compacted) return undefined;
      throw damagedRecord(rowName(logPosition));
    }
    requireLink(id, link);
    logPosition = nextInChain(link.prev, link.jump, bound);
  }
  return logPosition ?? undefined;
}
