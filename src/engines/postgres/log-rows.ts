import type { Json } from "../../kernel/json.ts";
import { revisionAt, seqAt } from "../../ledger/log-position.ts";
import { opOf, recordOf } from "../../ledger/stored-row.ts";
import type { Entry, LogQuery, LogRow } from "../../store/store.ts";
import type { Tables } from "./schema.ts";

/** The columns of a returned entry: from `kv`, or from the log for reads of the past. */
export const entryColumns = (from: string): string => `${from}.k, ${from}.place, ${from}.ver, ${from}.exp, ${from}.created, ${from}.at, ${from}.writer, ${from}.agent`;
export type RawEntry = readonly [k: string, place: number, ver: number, exp: number | null, created: number, at: number, writer: string, agent: string | null, v?: string | null];

const parse = (text: string | null | undefined): Json => (text === null || text === undefined ? null : (JSON.parse(text) as Json));

export const toEntry = ([key, logPosition, version, exp, createdAtMs, updatedAtMs, writer, agent, v]: RawEntry): Entry => ({
  key,
  value: parse(v),
  version,
  revision: revisionAt(logPosition),
  createdAtMs,
  updatedAtMs,
  expiresAtMs: exp ?? undefined,
  writer,
  agent: agent ?? undefined,
});

/** The rule of `nextInChain` in ledger/past.ts, as SQL. */
export const nextInChainSql = (from: string, bound: string): string => `CASE WHEN ${from}.jump >= ${bound} THEN ${from}.jump ELSE ${from}.prev END`;

/** The columns of a log row, with the value last and only if requested. */
export const logColumns = (from: string, values: boolean): string =>
  `${["place", "k", "op", "ver", "exp", "at", "writer", "agent", "kind", "act", "subject"].map((column) => `${from}.${column}`).join(", ")}${values ? `, ${from}.v` : ""}`;

/**
 * The columns of a page whose values are limited by the parameter `bytesMax`, and the join with each row's previous row, if requested.
 * `octet_length` does not decompress a long value, so a value beyond the limit is never read.
 */
export function boundedColumns(t: Tables, { previous, reverse }: LogQuery, bytesMax: string): { readonly columns: string; readonly join: string } {
  const bytes = `coalesce(octet_length(l.v), 0)${previous ? " + coalesce(octet_length(e.v), 0)" : ""}`;
  const before = `sum(${bytes}) OVER (ORDER BY l.place ${reverse ? "DESC" : "ASC"} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;
  const isRead = `coalesce(${before}, 0) < ${bytesMax}::bigint`;
  return {
    columns: `${logColumns("l", false)}, CASE WHEN ${isRead} THEN l.v END, ${previous ? `CASE WHEN ${isRead} THEN e.v END` : "NULL"}, ${isRead}`,
    join: previous ? ` LEFT JOIN LATERAL (SELECT v FROM ${t.log} WHERE ns = n.id AND place = l.prev LIMIT 1) e ON true` : "",
  };
}

export type PgLogRow = readonly [
  place: number,
  k: string,
  op: number,
  ver: number,
  exp: number | null,
  at: number,
  writer: string,
  agent: string | null,
  kind: string | null,
  act: string | null,
  subject: string | null,
  v?: string | null,
  previous?: string | null,
  isRead?: boolean,
];

export const toLogRow = ([logPosition, key, op, version, exp, atMs, writer, agent, kind, act, subject, v, previous, isRead]: PgLogRow, hasPrevious = false): LogRow => ({
  revision: revisionAt(logPosition),
  seq: seqAt(logPosition),
  key,
  op: opOf(op),
  version,
  value: parse(v),
  expiresAtMs: exp ?? undefined,
  atMs,
  writer,
  agent: agent ?? undefined,
  record: recordOf(kind, act, subject),
  ...(isRead === false ? { unread: true } : hasPrevious ? { previous: parse(previous) } : {}),
});
