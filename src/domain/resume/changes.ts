import type { LogRow, Revision } from "../../store/store.ts";
import { knowledgeKeys, researchKeys, sessionKeys, stateKeys } from "../keyspace.ts";

/** What happened to one thing since the caller was last here. */
export interface ThingChanged {
  readonly kind: "key" | "note" | "session" | "research checkpoint";
  readonly name: string;
  /** Where it is, if it is still there. */
  readonly key: string;
  /** How many changes there were. */
  readonly times: number;
  /** Who changed it last. */
  readonly by: string;
  readonly revision: Revision;
}
export interface Changes {
  /** Newest first. */
  readonly things: readonly ThingChanged[];
  /** Things that belong to other work. */
  readonly elsewhere: number;
}

/** Runs, leases and journal entries have sections of their own. */
const kinds = [
  { kind: "key", range: stateKeys.all, nameOf: stateKeys.nameOf },
  { kind: "note", range: knowledgeKeys.all, nameOf: knowledgeKeys.nameOf },
  { kind: "session", range: sessionKeys.all, nameOf: sessionKeys.idOf },
  { kind: "research checkpoint", range: researchKeys.all, nameOf: researchKeys.idOf },
] as const;

export const changedRanges = kinds.map(({ range }) => range);

/** `isTheirs`: done by somebody else than the caller. `isHere`: touches the work in this workspace. */
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
