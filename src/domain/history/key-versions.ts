import type { Json } from "../../kernel/json.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { newestFirst } from "../log-order.ts";

/** One change to an entry, with its new value. */
export interface PastVersion {
  readonly version: number;
  readonly revision: Revision;
  readonly atMs: number;
  readonly op: "set" | "deleted" | "expired";
  readonly writer: string;
  readonly agent?: string;
  /** Absent for a deletion or expiry, and if the values of all these versions together would be too large. */
  readonly value?: Json;
  readonly omitted: boolean;
}

export interface PastVersions {
  /** Newest first. */
  readonly versions: readonly PastVersion[];
  /** True if older versions are stored. */
  readonly more: boolean;
}

/** The limit for the values of all versions together. */
const valuesBytesMax = 2_000_000;

/** Past versions of an entry, newest first, as far back as history reaches. `key` is the engine's key. */
export async function readPastVersions(
  { store }: Pick<Scope, "store">,
  key: string,
  { limit, before }: { readonly limit: number; readonly before?: Revision },
): Promise<PastVersions> {
  const page = await store.log({ ranges: [keyRange(key)], before, reverse: true, narrow: true, lenient: true, valuesBytesMax, limit: limit + 1 });
  const rows = page.rows.toSorted(newestFirst);
  const shown = rows.slice(0, limit);
  return {
    versions: shown.map((row) => {
      const { version, revision, atMs, writer, agent } = row;
      const isShown = row.op === "put" && row.unread !== true;
      return {
        version,
        revision,
        atMs,
        op: row.op === "put" ? "set" : row.op === "delete" ? "deleted" : "expired",
        writer,
        agent,
        ...(isShown ? { value: row.value } : {}),
        omitted: row.op === "put" && !isShown,
      };
    }),
    more: rows.length > limit || !page.done,
  };
}
