import { keyRange, rangeAfter } from "../../store/ranges.ts";
import type { Store } from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import { leaseKeys } from "../keyspace.ts";

/** The last holder of a lapsed lease stays on record this long, so that it can continue if no other holder took the lease. */
const rememberedMs = 24 * 3_600_000;
const pageSize = 200;

/** A background task that deletes the holders of long-lapsed leases, one page at a time. Tokens are revisions, so no token can be reused. */
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
      // Renewals do not rewrite the holder, so the 24 hours count from the end of the lease in the log. If the log no longer shows it, the lease ended long ago.
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
