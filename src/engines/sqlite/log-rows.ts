import type { Json } from "../../kernel/json.ts";
import { revisionAt, seqAt } from "../../ledger/log-position.ts";
import { damagedRecord, entrySum, keyedSum, logPositionSum, logRowSum, requireSum, requireValue, sealedJson, textSum, versionSum } from "../../ledger/record-sum.ts";
import { opOf, recordOf } from "../../ledger/stored-row.ts";
import type { Entry, LogRow } from "../../store/store.ts";
import { positionIn } from "./log-id.ts";

/** Columns of one log row. Values are included only on request, because a long value takes extra pages. */
export const logColumns = (values: boolean): string =>
  `${positionIn("log.id")} AS place, log.k, log.op, log.ver, log.exp, log.created, log.at, log.writer, log.agent, log.kind, log.act, log.subject, log.lapse, log.sum${values ? ", log.v" : ""}`;

export interface SqliteLogRow {
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
  /** Prefixed with its sum (see {@link sealedJson}). */
  readonly v?: string;
}

/** The columns of {@link logColumns} as an array: the packaged driver takes twice as long to build an object from them. */
export type LogTuple = [
  place: number,
  k: string,
  op: number,
  ver: number,
  exp: number | null,
  created: number,
  at: number,
  writer: string,
  agent: string | null,
  kind: string | null,
  act: string | null,
  subject: string | null,
  lapse: string | null,
  sum: number,
  v?: string,
];

/** Accessed by index, because destructuring an array costs as much as the checksums. */
export const toRawLogRow = (row: LogTuple): SqliteLogRow => ({
  place: row[0],
  k: row[1],
  op: row[2],
  ver: row[3],
  exp: row[4],
  created: row[5],
  at: row[6],
  writer: row[7],
  agent: row[8],
  kind: row[9],
  act: row[10],
  subject: row[11],
  lapse: row[12],
  sum: row[13],
  v: row[14],
});

/** Returns the row as it was written, or throws `store_damaged`. Call this on every log row before using any of its data. */
export function requireIntact(namespaceId: number, row: SqliteLogRow): SqliteLogRow {
  const { place, k, op, ver, exp, created, at, writer, agent, kind, act, subject, lapse, sum, v } = row;
  const start = logPositionSum(namespaceId, place);
  const entry = entrySum(versionSum(start, ver, exp, created), at, writer, agent);
  requireSum(logRowSum(keyedSum(entry, textSum(k)), op, kind, act, subject, lapse), sum, rowName, place);
  if (v !== undefined) requireValue(entry, v, rowName, place);
  return row;
}

/** The same for a row that other stored data points to, so it must exist. */
export function requireLogRow(namespaceId: number, logPosition: number, row: unknown): SqliteLogRow {
  if (row === undefined) throw damagedRecord(rowName(logPosition));
  return requireIntact(namespaceId, row as SqliteLogRow);
}

export const rowName = (logPosition: number): string => `revision ${revisionAt(logPosition)} in the log (row ${seqAt(logPosition)})`;
/** Shortened, because a damaged key can be any text. */
export const keyName = (key: unknown): string => `key ${JSON.stringify(String(key).slice(0, 200))}`;

export const parseValue = (json: string | undefined): Json => (json === undefined ? null : (JSON.parse(json) as Json));

const rowValue = ({ v }: SqliteLogRow): Json => (v === undefined ? null : parseValue(sealedJson(v)));

export const toEntry = (row: SqliteLogRow): Entry => ({
  key: row.k,
  value: rowValue(row),
  version: row.ver,
  revision: revisionAt(row.place),
  createdAtMs: row.created,
  updatedAtMs: row.at,
  expiresAtMs: row.exp ?? undefined,
  writer: row.writer,
  agent: row.agent ?? undefined,
});

export const toLogRow = (row: SqliteLogRow): LogRow => ({
  revision: revisionAt(row.place),
  seq: seqAt(row.place),
  key: row.k,
  op: opOf(row.op),
  version: row.ver,
  value: rowValue(row),
  expiresAtMs: row.exp ?? undefined,
  atMs: row.at,
  writer: row.writer,
  agent: row.agent ?? undefined,
  record: recordOf(row.kind, row.act, row.subject),
});
