import type { PastRow } from "../../ledger/reclaim.ts";
import type { RowReads } from "../../ledger/rows.ts";
import { opOf } from "../../ledger/stored-row.ts";
import { one } from "./pg-session.ts";
import type { FoundSource } from "./read-slots.ts";
import type { Tables } from "./schema.ts";

/** The rows that compaction bases its decisions on. */
export const compactionReads = (t: Tables): Pick<RowReads, "pastRows" | "oldTombstones"> => ({
  *pastRows({ id }, { from, before, count }) {
    const text = `SELECT place, at, k, op, prev FROM ${t.log} WHERE ns = $1 AND place >= $2 AND place < $3 ORDER BY place LIMIT $4`;
    const { rows } = yield* one({ name: "window", text, values: [id, from, before, count] });
    return (rows as unknown as [number, number, string, number, number | null][]).map(
      ([logPosition, atMs, key, op, previous]): PastRow => ({ logPosition, atMs, key, op: opOf(op), previous }),
    );
  },
  *oldTombstones({ id }, { before, count }) {
    const text = `SELECT k, ver FROM ${t.tombstone} WHERE ns = $1 AND place < $2 ORDER BY place LIMIT $3`;
    const { rows } = yield* one({ name: "old-tombstones", text, values: [id, before, count] });
    return (rows as unknown as [string, number][]).map(([key, version]) => ({ key, version }));
  },
});

type ExpiredRow = [k: string, place: number, anchor: number | null, ver: number, created: number, exp: number, findable: boolean, lapse: string | null];

/** Keys of expired entries, in the order in which they expired; their entries are added to `source`. */
export function* expiredKeys(t: Tables, { id, nowMs }: { readonly id: number; readonly nowMs: number }, source: FoundSource, count: number) {
  const { rows } = yield* one({
    name: "expired",
    text: `SELECT kv.k, kv.place, kv.anchor, kv.ver, kv.created, kv.exp, kv.findable, (SELECT l.lapse FROM ${t.log} l WHERE l.ns = $1 AND l.place = kv.place)
      FROM ${t.kv} kv WHERE kv.ns = $1 AND kv.exp IS NOT NULL AND kv.exp <= $2 ORDER BY kv.exp, kv.k LIMIT $3`,
    values: [id, nowMs, count],
  });
  return (rows as unknown as ExpiredRow[]).map(([key, logPosition, anchor, version, createdAtMs, expiresAtMs, findable, lapse]) => {
    source.slots.set(key, { logPosition, anchor: anchor ?? undefined, version, createdAtMs, expiresAtMs, findable, lapse });
    return key;
  });
}
