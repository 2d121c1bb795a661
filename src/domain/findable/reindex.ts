import { areaOf, formerAreas } from "../../search/index-areas.ts";
import { indexVersion } from "../../search/index-version.ts";
import { keyRange, rangeAfter } from "../../store/ranges.ts";
import type { NewText, Range, Store } from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import { journalKeys, knowledgeKeys, researchKeys, searchKeys } from "../keyspace.ts";
import { number, object, storedAs } from "../stored-record.ts";
import { findableText } from "./findable-text.ts";

/** The mark that the whole namespace is indexed by this version. */
const toIndexed = storedAs(object<{ readonly version: number }>({ version: number }));

/** Entries per read, few because each may be long, and entries per turn of the chore. */
const page = { entries: 32, turnMax: 2_000 } as const;
const findable: readonly Range[] = [knowledgeKeys.all, journalKeys.entries, researchKeys.all];

/**
 * A chore that reindexes, a few entries at a time, what an earlier version of the index contains. Entries are not changed. An entry that changes meanwhile
 * is indexed by its writer. A finished namespace is marked, so that no other process starts again.
 */
export function openReindexChore(): (store: Store) => Promise<void> {
  let done = false;
  let rest: readonly Range[] = findable;
  let hasTexts = false;
  return async (store) => {
    done ||= await isIndexed(store);
    if (done) return;
    for (let left: number = page.turnMax; left > 0; left -= page.entries) {
      const { entries, more } = await store.read(rest, { limit: page.entries });
      const texts = entries.flatMap(({ key, value, revision }): NewText[] => {
        const index = findableText(key, value);
        return index === undefined ? [] : [{ key, revision, index }];
      });
      hasTexts ||= texts.length > 0;
      await reindexFormer(store, texts);
      const last = entries.at(-1);
      if (!more || last === undefined) {
        // Nothing is written to a namespace without searchable texts.
        if (hasTexts) await store.commit({ writes: [{ op: "put", key: searchKeys.indexed, value: { version: indexVersion } }], writer: systemWriter });
        done = true;
        return;
      }
      rest = restAfter(rest, last.key);
    }
  };
}

async function isIndexed(store: Store): Promise<boolean> {
  // Version 1 has no earlier version.
  if (indexVersion === 1) return true;
  const [entry] = (await store.read(keyRange(searchKeys.indexed))).entries;
  return entry !== undefined && toIndexed(entry).version >= indexVersion;
}

/** Writes only if an earlier version's index still contains entries of these areas. */
async function reindexFormer(store: Store, texts: readonly NewText[]): Promise<void> {
  const areas = [...new Set(texts.flatMap(({ index }) => formerAreas(areaOf(index.area))))];
  if (areas.length === 0) return;
  const { documents } = await store.search({ areas, terms: [] });
  if (documents > 0) await store.reindex(texts);
}

/** The part of the ranges after a key. */
function restAfter(ranges: readonly Range[], key: string): readonly Range[] {
  const at = ranges.findIndex(({ start }) => key.startsWith(start));
  return [rangeAfter(ranges[at] as Range, key), ...ranges.slice(at + 1)];
}
