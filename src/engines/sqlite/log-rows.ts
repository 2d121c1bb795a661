import type { Json } from "../../kernel/json.ts";
import { revisionAt, seqAt } from "../../store/place.ts";
import type { Entry, HistoryRecord, LogRow } from "../../store/store.ts";
import { placeIn } from "./log-id.ts";

/** `op` as the log keeps it. */
export const ops = ["put", "delete", "expire"] as const;
export const opCode = { put: 0, delete: 1, expire: 2 } as const;

/** Columns of one log row; with values only when they are wanted, since a long value lies on pages of its own. */
export const logColumns = (values: boolean): string =>
  `${placeIn("log.id")} AS place, log.k, log.op, log.ver, log.exp, log.created, log.at, log.writer, log.agent, log.kind, log.act, log.subject${values ? ", log.v" : ""}`;

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
  readonly v?: string | null;
}

/** What an entry is made of: a row of the log, or of `kv` where no value is wanted. */
export type RawEntry = Pick<RawLogRow, "place" | "k" | "ver" | "exp" | "created" | "at" | "writer" | "agent" | "v">;

const parse = (text: string | null | undefined): Json => (text === null || text === undefined ? null : (JSON.parse(text) as Json));

export const toEntry = (row: RawEntry): Entry => ({
  key: row.k,
  value: parse(row.v),
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
  value: parse(row.v),
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
