import { isHoldfastError } from "../../../kernel/errors.ts";
import { everything } from "../../../store/ranges.ts";
import type { Revision, Store } from "../../../store/store.ts";
import { targetName, targetOf, targetOfKey } from "../resource-uris.ts";

/** Beyond this many pages of the log it is cheaper to report every resource as changed. */
const pagesMax = 5;

/** The URIs whose resources changed after their own revision and up to the last one, each with the revision of that change. */
export async function missedChanges(store: Store, since: ReadonlyMap<string, Revision>, through: Revision): Promise<ReadonlyMap<string, Revision>> {
  const all = new Map([...since.keys()].map((uri) => [uri, through]));
  let after = Math.min(...since.values());
  const byTarget = new Map<string, string[]>();
  for (const uri of since.keys()) {
    const target = targetOf(uri);
    if (target !== undefined) byTarget.set(targetName(target), [...(byTarget.get(targetName(target)) ?? []), uri]);
  }
  const missed = new Map<string, Revision>();
  for (let page = 0; after < through; page += 1) {
    if (page === pagesMax) return all;
    try {
      const { rows, through: looked, done } = await store.log({ ranges: [everything], after, before: through + 1, values: false });
      for (const { key, revision } of rows) {
        const target = targetOfKey(key);
        for (const uri of (target && byTarget.get(targetName(target))) ?? []) if (revision > (since.get(uri) as Revision)) missed.set(uri, revision);
      }
      if (done) break;
      after = looked;
    } catch (error) {
      if (isHoldfastError(error, "compacted")) return all;
      throw error;
    }
  }
  return missed;
}
