import type { HistoryRecord, LogRow } from "../store/store.ts";

/** How rows keep what is more than a number or a text, the same in every SQL engine. */

const ops = ["put", "delete", "expire"] as const;
export const opCode = { put: 0, delete: 1, expire: 2 } as const;
export const opOf = (code: number): LogRow["op"] => ops[code] as LogRow["op"];

/** A history record is three columns: the rows that have one are requested by kind. */
export const recordOf = (kind: string | null, act: string | null, subject: string | null): HistoryRecord | undefined =>
  kind === null ? undefined : { kind, op: act as string, subject: subject as string };

/** What history will say when the entry expires is one column: it is read only then. */
export const lapseText = (lapse: HistoryRecord | undefined): string | null => (lapse === undefined ? null : JSON.stringify([lapse.kind, lapse.op, lapse.subject]));

export function parseLapse(text: string | null): HistoryRecord | undefined {
  if (text === null) return undefined;
  const [kind, op, subject] = JSON.parse(text) as [string, string, string];
  return { kind, op, subject };
}
