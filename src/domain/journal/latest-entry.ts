import { readTogether } from "../../store/read-together.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { isAutomatic } from "./automatic-entry.ts";
import { listEntries } from "./find-entries.ts";
import type { JournalEntry } from "./journal-entry.ts";

export interface Latest {
  /** The last work here: the newest entry that was written in this workspace, or a global one from elsewhere when there is none. */
  readonly entry: JournalEntry | undefined;
  /** Global entries from other workspaces that came after it, newest first. */
  readonly news: readonly JournalEntry[];
  readonly revision: Revision;
}

const pageSize = 20;
/** So many are looked through for one that is meant. */
const lookedAtMax = 400;
const newsMax = 3;

/**
 * What an agent did last in a workspace. A note that somebody saved for every workspace is worth knowing, but whoever asks what they were
 * working on does not mean it, nor what a hook saved by itself; that is given only where nobody wrote anything.
 */
export const readLatest = (scope: Pick<Scope, "store">, workspace: Workspace): Promise<Latest> =>
  readTogether(scope.store, async (store) => {
    const written = await lookForLatest({ store }, workspace, (entry) => !isAutomatic(entry));
    return written.entry === undefined ? lookForLatest({ store }, workspace, () => true) : written;
  });

async function lookForLatest(scope: Pick<Scope, "store">, workspace: Workspace, isMeant: (entry: JournalEntry) => boolean): Promise<Latest> {
  const isFromHere = ({ workspace: { id } }: JournalEntry): boolean => id === workspace.id || workspace.formerIds.includes(id);
  const own = await lookThrough(scope, { workspace, from: "workspace" }, isMeant);
  const global = await lookThrough(scope, { workspace, from: "global", fromMs: own.found?.createdAtMs }, (entry) => isFromHere(entry) && isMeant(entry));
  const entry = [own.found, global.found].filter((each) => each !== undefined).sort(newestFirst)[0];
  const others = global.passed.filter((each) => !isFromHere(each) && isMeant(each));
  if (entry === undefined) return { entry: others[0], news: [], revision: own.revision };
  return { entry, news: others.filter((each) => newestFirst(each, entry) < 0).slice(0, newsMax), revision: own.revision };
}

/** By time, and within a millisecond by the order in which they landed. */
const newestFirst = (a: JournalEntry, b: JournalEntry): number => b.createdAtMs - a.createdAtMs || b.revision - a.revision;

interface Search {
  readonly found: JournalEntry | undefined;
  /** What stands before it. */
  readonly passed: readonly JournalEntry[];
  readonly revision: Revision;
}

async function lookThrough(
  scope: Pick<Scope, "store">,
  query: { readonly workspace: Workspace; readonly from: "workspace" | "global"; readonly fromMs?: number },
  isMeant: (entry: JournalEntry) => boolean,
): Promise<Search> {
  const passed: JournalEntry[] = [];
  let before: string | undefined;
  for (;;) {
    // The first page is one entry long: as a rule it is the one that is meant.
    const page = await listEntries(scope, { ...query, before, limit: before === undefined ? 1 : pageSize });
    const at = page.entries.findIndex(isMeant);
    passed.push(...(at === -1 ? page.entries : page.entries.slice(0, at)));
    if (at !== -1 || page.next === undefined || passed.length >= lookedAtMax) return { found: page.entries[at], passed, revision: page.revision };
    before = page.next;
  }
}
