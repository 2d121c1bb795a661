import type { Json } from "../../kernel/json.ts";
import { revisionAt, seqAt } from "../../store/place.ts";
import { damagedRecord, entrySum, keySum, logRowSum, placeSum, requireSum, textSum, valueSum } from "../../store/record-sum.ts";
import type { Entry, HistoryRecord, LogRow } from "../../store/store.ts";
import { placeIn } from "./log-id.ts";

/** `op` as the log keeps it. */
export const ops = ["put", "delete", "expire"] as const;
export const opCode = { put: 0, delete: 1, expire: 2 } as const;

/**
 * Columns of one log row; with values only when they are wanted, since a long value lies on pages of its own. The sum of the row and that of its
 * value then come added up: a column less to fetch, and damage to either shows.
 */
export const logColumns = (values: boolean): string =>
  `${placeIn("log.id")} AS place, log.k, log.op, log.ver, log.exp, log.created, log.at, log.writer, log.agent, log.kind, log.act, log.subject, log.lapse, ${values ? "log.sum + log.v_sum AS sum, log.v" : "log.sum"}`;

export interface RawLogRow {
  readonly place: number;
  readonly k: string;
  readonly op: number;
  readonly ver: number;
  readonly exp: number | null;
  readonly created: number;
  readonly at: number;
  readonly writer: string;
  readonly agent: string | null;
  readonly kind: string | null;
  readonly act: string | null;
  readonly subject: string | null;
  readonly lapse: string | null;
  readonly sum: number;
  readonly v?: string | null;
}

/** The row as it was written, or `store_damaged`. To be called on every row of the log before anything in it is used. */
export function requireIntact(namespaceId: number, row: RawLogRow): RawLogRow {
  const { place, k, op, ver, exp, created, at, writer, agent, kind, act, subject, lapse, sum, v } = row;
  const start = placeSum(namespaceId, place);
  const computed = logRowSum(entrySum(keySum(start, textSum(k), ver, exp, created), at, writer, agent), op, kind, act, subject, lapse);
  requireSum(v === undefined ? computed : computed + valueSum(start, v), sum, () => rowName(place));
  return row;
}

/** The same for a row that something stored points to: it must be there. */
export function requireLogRow(namespaceId: number, place: number, row: unknown): RawLogRow {
  if (row === undefined) throw damagedRecord(rowName(place));
  return requireIntact(namespaceId, row as RawLogRow);
}

export const rowName = (place: number): string => `revision ${revisionAt(place)} in the log (row ${seqAt(place)})`;
/** Shortened: a damaged key can be any text. */
export const keyName = (key: unknown): string => `key ${JSON.stringify(String(key).slice(0, 200))}`;

export const parseValue = (text: string | null | undefined): Json => (text === null || text === undefined ? null : (JSON.parse(text) as Json));

export const toEntry = (row: RawLogRow): Entry => ({
  key: row.k,
  value: parseValue(row.v),
  version: row.ver,
  revision: revisionAt(row.place),
  createdAtMs: row.created,
  updatedAtMs: row.at,
  expiresAtMs: row.exp ?? undefined,
  writer: row.writer,
  agent: row.agent ?? undefined,
});

export const toLogRow = (row: RawLogRow): LogRow => ({
  revision: revisionAt(row.place),
  seq: seqAt(row.place),
  key: row.k,
  op: ops[row.op] as LogRow["op"],
  version: row.ver,
  value: parseValue(row.v),
  expiresAtMs: row.exp ?? undefined,
  atMs: row.at,
  writer: row.writer,
  agent: row.agent ?? undefined,
  record: recordOf(row),
});

export const recordOf = ({ kind, act, subject }: Pick<RawLogRow, "kind" | "act" | "subject">): HistoryRecord | undefined =>
  kind === null ? undefined : { kind, op: act as string, subject: subject as string };

export const lapseText = (lapse: HistoryRecord | undefined): string | null => (lapse === undefined ? null : JSON.stringify([lapse.kind, lapse.op, lapse.subject]));

export function parseLapse(text: string | null): HistoryRecord | undefined {
  if (text === null) return undefined;
  const [kind, op, subject] = JSON.parse(text) as [string, string, string];
  return { kind, op, subject };
}
