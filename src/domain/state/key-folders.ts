import type { Scope } from "../../store/transact.ts";
import { stateKeys } from "../keyspace.ts";

const separator = "/";

/** Keys that begin alike, one level at a time: the next part of each name up to and with its slash, in order. Seeks from one to the next, so that it costs what it shows. */
export async function listFolders({ store }: Pick<Scope, "store">, prefix: string, limit: number): Promise<{ readonly folders: readonly string[]; readonly more: boolean }> {
  const folders: string[] = [];
  let range = stateKeys.prefix(prefix);
  // Keys that lie in no folder stand between folders: they are passed over a page at a time.
  for (let reads = 0; reads < 2 * limit; reads += 1) {
    const { entries, more } = await store.read(range, { limit: reads === 0 || folders.length > 0 ? pageSize : pageSize * 4, values: false });
    let last: string | undefined;
    for (const entry of entries) {
      last = stateKeys.nameOf(entry.key);
      const slash = last.indexOf(separator, prefix.length);
      if (slash < 0) continue;
      const folder = last.slice(0, slash + 1);
      if (folders.length === limit) return { folders, more: true };
      folders.push(folder);
      const { end } = stateKeys.prefix(folder);
      if (end === undefined) return { folders, more: false };
      range = { ...range, start: end };
      last = undefined;
      break;
    }
    if (last === undefined && entries.length > 0) continue;
    if (!more || last === undefined) return { folders, more: false };
    range = { ...range, start: `${stateKeys.key(last)}\0` };
  }
  return { folders, more: true };
}

const pageSize = 20;
