import type { Range } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import { logId } from "./log-id.ts";
import { endOf, startOf } from "./range-bounds.ts";

/** Walks along the chain of a key's rows; how it is made is told in store/place.ts. */
export interface Head {
  readonly k: string;
  /** Of the newest row of the key. */
  readonly place: number;
}

/** Every key in the range that has a history, in key order: what is there, and what was there and ended at or after the place `goneSince`. */
export function readHeads(
  connection: Connection,
  namespaceId: number,
  range: Range,
  { reverse, limit, goneSince = 0 }: { readonly reverse?: boolean; readonly limit: number; readonly goneSince?: number },
): Head[] {
  const part = (table: string): string => `SELECT k, place FROM ${table} WHERE ns = ?1 AND k >= ?2 AND k < ?3`;
  const sql = `${part("kv")} UNION ALL ${part("tombstone")} AND place >= ?5 ORDER BY k ${reverse ? "DESC" : "ASC"} LIMIT ?4`;
  return connection.statement(sql).all(namespaceId, startOf(range), endOf(range), limit, goneSince) as Head[];
}

interface Link {
  readonly prev: number | null;
  readonly jump: number | null;
}

/** The newest place of the chain below `bound`; undefined when there is none. */
export function newestBelow(connection: Connection, namespaceId: number, head: number, bound: number): number | undefined {
  const step = connection.statement(`SELECT prev, jump FROM log WHERE id = ${logId("?1", "?2")}`);
  let place: number | null = head;
  while (place !== null && place >= bound) {
    const link = step.get(namespaceId, place) as Link | undefined;
    if (link === undefined) return undefined;
    place = link.jump !== null && link.jump >= bound ? link.jump : link.prev;
  }
  return place ?? undefined;
}
