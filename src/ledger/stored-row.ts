import type { HistoryRecord, LogRow } from "../store/store.ts";

/** How all SQL engines store values that are neither a number nor a text. */

const ops = ["put", "delete", "expire"] as const;
export const opCode = { put: 0, delete: 1, expire: 2 } as const;
export const opOf = (code: number): LogRow["op"] => ops[code] as LogRow["op"];

/** A history record takes three columns, because queries filter by kind. */
export const recordOf = (kind: string | null, act: string | null, subject: string | null): HistoryRecord | undefined =>
  kind === null ? undefined : { kind, op: act as string, subject: subject as string };

/** The history record for an entry's expiry takes one column, because it is read only when the entry expires. */
export const lapseText = (lapse: HistoryRecord | undefined): string | null => (lapse === undefined ? null : JSON.stringify([lapse.kind, lapse.op, lapse.subject]));

export function parseLapse(text: string | null): HistoryRecord | undefined {
  if (text === null) return undefined;
  const [kind, op, subject] = JSON.parse(text) as [string, string, string];
  return { kind, op, subject };
}
