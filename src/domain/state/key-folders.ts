import type { Scope } from "../../store/transact.ts";
import { stateKeys } from "../keyspace.ts";

const separator = "/";
/** Keys without a further slash lie between the folders. They are skipped in pages of growing size, and at most `most` keys are read. */
const passed = { pageMax: 500, most: 20_000 } as const;

/**
 * Lists the distinct next segments of the keys under a prefix, each including its slash, in order.
 * Seeks from one folder to the next, so the cost depends on the number of folders.
 */
export async function listFolders({ store }: Pick<Scope, "store">, prefix: string, limit: number): Promise<{ readonly folders: readonly string[]; readonly more: boolean }> {
  const folders: string[] = [];
  let range = stateKeys.prefix(prefix);
  let page = 1;
  for (let looked = 0; looked < passed.most; ) {
    const { entries, more } = await store.read(range, { limit: page, values: false });
    looked += entries.length;
    const folder = entries.map((entry) => folderOf(stateKeys.nameOf(entry.key), prefix)).find((each) => each !== undefined);
    const last = entries.at(-1);
    if (folder !== undefined) {
      if (folders.length === limit) return { folders, more: true };
      folders.push(folder);
      const { end } = stateKeys.prefix(folder);
      if (end === undefined) return { folders, more: false };
      range = { ...range, start: end };
      page = 1;
    } else {
      if (!more || last === undefined) return { folders, more: false };
      range = { ...range, start: `${last.key}\0` };
      page = Math.min(passed.pageMax, page * 8);
    }
  }
  return { folders, more: true };
}

function folderOf(name: string, prefix: string): string | undefined {
  const end = name.indexOf(separator, prefix.length);
  return end < 0 ? undefined : name.slice(0, end + 1);
}
