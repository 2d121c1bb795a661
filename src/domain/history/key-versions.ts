import type { Json } from "../../kernel/json.ts";
import { keyRange } from "../../store/ranges.ts";
import type { LogRow, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { newestFirst } from "../log-order.ts";

/** One change of one entry, with what it became. */
export interface PastVersion {
  readonly version: number;
  readonly revision: Revision;
  readonly atMs: number;
  readonly op: "set" | "deleted" | "expired";
  readonly writer: string;
  readonly agent?: string;
  /** Absent where it ended, and where the values of these versions together would be too much. */
  readonly value?: Json;
  readonly omitted: boolean;
}

export interface PastVersions {
  /** Newest first. */
  readonly versions: readonly PastVersion[];
  /** Older ones are kept than these. */
  readonly more: boolean;
}

/** Values are read a few at a time, until this much text has come together. */
const budget = { charactersMax: 2_000_000, readAtOnce: 8 } as const;

/** What an entry was, newest first, as far as history reaches. `key` is the engine's. */
export async function readPastVersions(
  { store }: Pick<Scope, "store">,
  key: string,
  { limit, before }: { readonly limit: number; readonly before?: Revision },
): Promise<PastVersions> {
  const ranges = [keyRange(key)];
  const page = await store.log({ ranges, before, reverse: true, narrow: true, lenient: true, values: false, limit: limit + 1 });
  const rows = page.rows.toSorted(newestFirst);
  const shown = rows.slice(0, limit);
  const values = new Map<string, Json>();
  let left: number = budget.charactersMax;
  for (let start = 0; start < shown.length && left > 0; start += budget.readAtOnce) {
    const some = shown.slice(start, start + budget.readAtOnce);
    const [newest, oldest] = [some[0] as LogRow, some.at(-1) as LogRow];
    const read = await store.log({ ranges, after: oldest.revision - 1, before: newest.revision + 1, reverse: true, narrow: true, lenient: true });
    for (const row of read.rows.toSorted(newestFirst)) {
      if (values.has(rowId(row)) || left <= 0 || row.op !== "put") continue;
      values.set(rowId(row), row.value);
      left -= JSON.stringify(row.value).length;
    }
  }
  return {
    versions: shown.map((row) => {
      const { version, revision, atMs, writer, agent } = row;
      const kept = values.has(rowId(row));
      return {
        version,
        revision,
        atMs,
        op: row.op === "put" ? "set" : row.op === "delete" ? "deleted" : "expired",
        writer,
        agent,
        ...(kept ? { value: values.get(rowId(row)) as Json } : {}),
        omitted: row.op === "put" && !kept,
      };
    }),
    more: rows.length > limit || !page.done,
  };
}

const rowId = ({ revision, seq }: LogRow): string => `${revision}.${seq}`;
