import type { Json } from "../../kernel/json.ts";
import { revisionAt, seqAt } from "../../store/log-position.ts";
import type { Entry, HistoryRecord, LogRow } from "../../store/store.ts";

/** `op` as the log keeps it. */
const ops = ["put", "delete", "expire"] as const;
export const opCode = { put: 0, delete: 1, expire: 2 } as const;
export const opOf = (code: number): LogRow["op"] => ops[code] as LogRow["op"];

/** An entry as answers carry it: from `kv`, or from the log where the past is read. */
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

/** A row of the log; the value last, and only when it is wanted. */
export const logColumns = (from: string, values: boolean): string =>
  `${["place", "k", "op", "ver", "exp", "at", "writer", "agent", "kind", "act", "subject"].map((column) => `${from}.${column}`).join(", ")}${values ? `, ${from}.v` : ""}`;
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
];

export const toLogRow = ([logPosition, key, op, version, exp, atMs, writer, agent, kind, act, subject, v]: PgLogRow): LogRow => ({
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
});

export const recordOf = (kind: string | null, op: string | null, subject: string | null): HistoryRecord | undefined =>
  kind === null ? undefined : { kind, op: op as string, subject: subject as string };

export const lapseText = (lapse: HistoryRecord | undefined): string | null => (lapse === undefined ? null : JSON.stringify([lapse.kind, lapse.op, lapse.subject]));

export function parseLapse(text: string | null): HistoryRecord | undefined {
  if (text === null) return undefined;
  const [kind, op, subject] = JSON.parse(text) as [string, string, string];
  return { kind, op, subject };
}
