import { readTogether } from "../../store/read-together.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { isAutomatic } from "./automatic-entry.ts";
import { listEntries } from "./find-entries.ts";
import type { JournalEntry } from "./journal-entry.ts";

export interface Latest {
  /** The last work here: the newest entry written in this workspace, or else a global one from another workspace. */
  readonly entry: JournalEntry | undefined;
  /** Later global entries from other workspaces, newest first. */
  readonly news: readonly JournalEntry[];
  readonly revision: Revision;
}

const pageSize = 20;
/** The search for a matching entry stops after about this many. */
const lookedAtMax = 400;
const newsMax = 3;

/**
 * Finds an agent's last work in a workspace. Global entries from other workspaces are returned separately, because a caller that resumes its work does
 * not mean them. Entries saved by a hook are returned only if no agent wrote any.
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

/** By time, and within a millisecond by commit order. */
const newestFirst = (a: JournalEntry, b: JournalEntry): number => b.createdAtMs - a.createdAtMs || b.revision - a.revision;

interface Search {
  readonly found: JournalEntry | undefined;
  /** The newer entries before it. */
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
    // The first page has one entry, which is usually the one wanted.
    const page = await listEntries(scope, { ...query, before, limit: before === undefined ? 1 : pageSize });
    const at = page.entries.findIndex(isMeant);
    passed.push(...(at === -1 ? page.entries : page.entries.slice(0, at)));
    if (at !== -1 || page.next === undefined || passed.length >= lookedAtMax) return { found: page.entries[at], passed, revision: page.revision };
    before = page.next;
  }
}
