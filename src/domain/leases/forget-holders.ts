import { keyRange, rangeAfter } from "../../store/ranges.ts";
import type { Store } from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import { leaseKeys } from "../keyspace.ts";

/** The last holder of a lapsed lease stays known this long, so that it may go on if nobody took over. */
const rememberedMs = 24 * 3_600_000;
const pageSize = 200;

/** A chore: forgets, a page at a time, who held leases that lapsed long ago. Tokens are revisions, so none can come back. */
export function openHolderChore(): (store: Store) => Promise<void> {
  let cursor: string | undefined;
  return async (store) => {
    const range = cursor === undefined ? leaseKeys.holders : rangeAfter(leaseKeys.holders, cursor);
    const page = await store.read(range, { limit: pageSize, values: false });
    cursor = page.more ? page.entries.at(-1)?.key : undefined;
    for (const holder of page.entries) {
      if (page.nowMs - holder.updatedAtMs < rememberedMs) continue;
      const deadline = leaseKeys.deadline(leaseKeys.resourceOfHolder(holder.key));
      const { entries } = await store.read(keyRange(deadline), { values: false });
      if (entries.length > 0) continue;
      // Renewals do not touch the holder, so the day counts from what history says of the end; no longer said, it was long ago.
      const { rows } = await store.log({ ranges: [keyRange(deadline)], reverse: true, narrow: true, lenient: true, limit: 1, values: false });
      if (rows.some((row) => page.nowMs - Math.max(row.atMs, row.expiresAtMs ?? 0) < rememberedMs)) continue;
      await store.commit({
        checks: [
          { key: holder.key, revision: holder.revision },
          { key: deadline, is: "absent" },
        ],
        writes: [{ op: "delete", key: holder.key }],
        writer: systemWriter,
      });
    }
  };
}
