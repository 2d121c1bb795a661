import type { LogRow, Revision } from "../../store/store.ts";
import { knowledgeKeys, researchKeys, sessionKeys, stateKeys } from "../keyspace.ts";

/** The changes to one thing since the caller's last visit. */
export interface ThingChanged {
  readonly kind: "key" | "note" | "session" | "research checkpoint";
  readonly name: string;
  /** Its key in the store; the entry may have been deleted since. */
  readonly key: string;
  /** The number of changes. */
  readonly times: number;
  /** The agent, or else the writer, of the last change. */
  readonly by: string;
  readonly revision: Revision;
}
export interface Changes {
  /** Newest first. */
  readonly things: readonly ThingChanged[];
  /** How many changed things belong to other work. */
  readonly elsewhere: number;
}

/** Runs, leases and journal entries are missing here, because separate sections show them. */
const kinds = [
  { kind: "key", range: stateKeys.all, nameOf: stateKeys.nameOf },
  { kind: "note", range: knowledgeKeys.all, nameOf: knowledgeKeys.nameOf },
  { kind: "session", range: sessionKeys.all, nameOf: sessionKeys.idOf },
  { kind: "research checkpoint", range: researchKeys.all, nameOf: researchKeys.idOf },
] as const;

export const changedRanges = kinds.map(({ range }) => range);

/** `isTheirs` selects changes made by others than the caller. `isHere` selects things that concern the work in this workspace. */
export function drawChanges(rows: readonly LogRow[], isTheirs: (row: LogRow) => boolean, isHere: (thing: ThingChanged) => boolean): Changes {
  const things = new Map<string, ThingChanged>();
  for (const row of rows.filter(isTheirs).toSorted((a, b) => b.revision - a.revision || b.seq - a.seq)) {
    const found = kinds.find(({ range }) => row.key.startsWith(range.start));
    const known = things.get(row.key);
    if (known !== undefined) things.set(row.key, { ...known, times: known.times + 1 });
    else if (found !== undefined)
      things.set(row.key, { kind: found.kind, name: found.nameOf(row.key), key: row.key, times: 1, by: row.agent ?? row.writer, revision: row.revision });
  }
  const all = [...things.values()];
  const here = all.filter(isHere);
  return { things: here, elsewhere: all.length - here.length };
}
