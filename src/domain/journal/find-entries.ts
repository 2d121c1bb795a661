import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { findText } from "../../search/find-text.ts";
import { limits } from "../../store/limits.ts";
import { compareKeys, keyRange, rangeAfter, rangeBefore } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { journalKeys } from "../keyspace.ts";
import { matchedWords } from "../matched-words.ts";
import { requireWordings } from "../read-fields.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { noWorkspaceId } from "../workspace/workspace.ts";
import { globalJournal } from "./journal.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { toJournalEntry } from "./journal-entry.ts";
import type { RelatedEntry } from "./related-entries.ts";
import { findRelated } from "./related-entries.ts";

type Reader = Pick<Scope, "store">;

/** The journals visible from a workspace: its own, those under its former ids, and the global one. */
const journalIdsOf = ({ id, formerIds }: Workspace): readonly string[] => [id, ...formerIds, globalJournal];

export interface EntryQuery {
  readonly workspace: Workspace;
  readonly limit: number;
  readonly fromMs?: number;
  readonly untilMs?: number;
  /** `next` of the previous page. */
  readonly before?: string;
  /** Only entries of this workspace, or only entries for all workspaces; both by default. */
  readonly from?: "workspace" | "global" | "both";
}
export interface EntryPage {
  readonly entries: readonly JournalEntry[];
  readonly revision: Revision;
  /** Pass it as `before` to get the next page; undefined on the last page. */
  readonly next?: string;
}

/** Lists entries, newest first. */
export function listEntries(scope: Reader, query: EntryQuery): Promise<EntryPage> {
  return readTogether(scope.store, async (store) => {
    const { ids, ...page } = await listEntryIds({ store }, query);
    return { entries: await readEntries({ store }, ids), ...page };
  });
}

/** Pass it as `before` to list the entries older than this one. */
export const positionOf = ({ createdAtMs, id }: JournalEntry): string => journalKeys.listed.positionOf(journalKeys.listed.key(globalJournal, createdAtMs, id));

/** The same list, but only the ids, without reading the entries. */
export async function listEntryIds(
  { store }: Reader,
  { workspace, from = "both", ...query }: EntryQuery,
): Promise<Omit<EntryPage, "entries"> & { readonly ids: readonly string[] }> {
  const journalIds = journalIdsOf(workspace).filter((journalId) => from === "both" || (journalId === globalJournal) === (from === "global"));
  return mergeLists({ store }, journalIds, query);
}

/** Merges several lists into one, newest first. */
async function mergeLists(
  { store }: Reader,
  journalIds: readonly string[],
  { limit, fromMs = 0, untilMs, before }: Pick<EntryQuery, "limit" | "fromMs" | "untilMs" | "before">,
): Promise<Omit<EntryPage, "entries"> & { readonly ids: readonly string[] }> {
  const lists = await Promise.all(
    journalIds.map((journalId) => store.read(journalKeys.listed.range(journalId, fromMs, untilMs, before), { limit: limit + 1, reverse: true, values: false })),
  );
  const positions = lists.flatMap(({ entries }) => entries.map((entry) => journalKeys.listed.positionOf(entry.key))).sort((a, b) => compareKeys(b, a));
  const shown = positions.slice(0, limit);
  return {
    ids: shown.map(journalKeys.idOf),
    revision: lists[0]?.revision as Revision,
    next: positions.length > limit ? shown.at(-1) : undefined,
  };
}

/** The ids of the next older and newer entries, as visible from the entry's workspace. */
export async function readNeighbours({ store }: Reader, entry: JournalEntry): Promise<{ readonly older?: string; readonly newer?: string }> {
  const journalIds = [entry.workspace.id, globalJournal];
  const [before, ...after] = await Promise.all([
    mergeLists({ store }, journalIds, { limit: 1, before: positionOf(entry) }),
    ...journalIds.map((journalId) => {
      const later = journalKeys.listed.range(journalId, entry.createdAtMs, undefined, undefined);
      return store.read(rangeAfter(later, journalKeys.listed.key(journalId, entry.createdAtMs, entry.id)), { limit: 1, values: false });
    }),
  ]);
  const [newer] = after.flatMap(({ entries }) => entries.map(({ key }) => journalKeys.listed.positionOf(key))).sort(compareKeys);
  return { older: before.ids[0], newer: newer === undefined ? undefined : journalKeys.idOf(newer) };
}

/** How many lists are merged for one page of all entries. With more lists, entries are ordered by id, which is by age except for imported ones. */
const mergedListsMax = 64;

/** Lists the entries of every workspace, newest first. `workspaceIds` must name all workspaces, or at least more than can be merged. */
export async function listAllEntries(
  { store }: Reader,
  { workspaceIds, limit, before }: { readonly workspaceIds: readonly string[]; readonly limit: number; readonly before?: string },
): Promise<Omit<EntryPage, "revision">> {
  if (workspaceIds.length <= mergedListsMax) {
    const { ids, next } = await mergeLists({ store }, [...workspaceIds, noWorkspaceId, globalJournal].filter(isFirst), { limit, before });
    return { entries: await readEntries({ store }, ids), next };
  }
  const all = journalKeys.entries;
  const { entries, more } = await store.read(before === undefined ? all : rangeBefore(all, journalKeys.entry(before)), { limit, reverse: true });
  const last = entries.at(-1);
  return { entries: entries.map(toJournalEntry), next: more && last !== undefined ? journalKeys.idOf(last.key) : undefined };
}

const isFirst = (text: string, i: number, all: readonly string[]): boolean => all.indexOf(text) === i;

export interface EntryHit {
  readonly entry: JournalEntry;
  readonly score: number;
  /** The words of the question that occur in the entry. */
  readonly why: readonly string[];
}

/** Entries held in memory at a time, because an entry may be large. */
const readAtOnce = 50;

export async function searchEntries(
  { store }: Reader,
  {
    workspace,
    query,
    also = [],
    limit,
    fromMs,
    untilMs,
  }: Pick<EntryQuery, "workspace" | "limit" | "fromMs" | "untilMs"> & { readonly query: string; readonly also?: readonly string[] },
): Promise<{ readonly hits: readonly EntryHit[]; readonly revision: Revision }> {
  if (query.trim() === "") throw invalidInput("query", "must have a word to look for; it is empty");
  requireWordings(also);
  const found = await findText(store, {
    areas: journalIdsOf(workspace).map(journalKeys.area),
    question: query,
    also,
    // An entry's age is known only after reading it, so with a time range all candidates are needed.
    limit: fromMs === undefined && untilMs === undefined ? limit : limits.searchCandidatesMax,
  });
  const hits: EntryHit[] = [];
  for (let start = 0; start < found.hits.length && hits.length < limit; start += readAtOnce) {
    const some = found.hits.slice(start, start + readAtOnce);
    const ids = some.map(({ key }) => journalKeys.idOf(key));
    const entries = new Map((await readEntries({ store }, ids)).map((entry) => [entry.id, entry]));
    for (const [i, { score, matched }] of some.entries()) {
      const entry = entries.get(ids[i] as string);
      if (entry !== undefined && entry.createdAtMs >= (fromMs ?? 0) && entry.createdAtMs < (untilMs ?? Number.POSITIVE_INFINITY) && hits.length < limit)
        hits.push({ entry, score, why: matchedWords(matched, [query, ...also].join("\n"), textOf(entry)) });
    }
  }
  return { hits, revision: found.revision };
}

/** Entries related to the best hit, without the hits themselves. */
export async function relatedToHits({ store }: Reader, hits: readonly EntryHit[], workspace: Workspace, limit: number): Promise<readonly RelatedEntry[]> {
  const [best] = hits;
  if (best === undefined) return [];
  return findRelated({ store }, { journalIds: journalIdsOf(workspace), to: best.entry, known: new Set(hits.map(({ entry }) => entry.id)), limit });
}

const textOf = ({ description, workContext, highlights, tags, activeFiles, questions = [] }: JournalEntry): string =>
  [description, workContext ?? "", ...highlights, ...tags, ...activeFiles, ...questions].join("\n");

/** Reads an entry by its full id only. */
export const readEntry = async ({ store }: Reader, id: string): Promise<JournalEntry | undefined> => (await readEntries({ store }, [id]))[0];

/** How many ids, newest first, are searched for a part that is not the beginning of an id. */
const scannedMax = 20_000;
const candidatesMax = 10;

/** Finds an entry by its full id or a unique part of it; with `workspace`, only among entries visible from there. */
export async function requireEntry({ store }: Reader, idOrPart: string, workspace: Workspace | undefined): Promise<JournalEntry> {
  const part = idOrPart.trim();
  if (!/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(part)) throw invalidInput("checkpointId", "must be an id or a part of one: letters, digits and . _ : -");
  const isVisible = (entry: JournalEntry): boolean => workspace === undefined || entry.global || journalIdsOf(workspace).includes(entry.workspace.id);
  const exact = (await readEntries({ store }, [part])).filter(isVisible)[0];
  if (exact !== undefined) return exact;
  const found: JournalEntry[] = [];
  const ids = await idsWith({ store }, part);
  for (let start = 0; start < ids.length && found.length <= candidatesMax; start += readAtOnce)
    found.push(...(await readEntries({ store }, ids.slice(start, start + readAtOnce))).filter(isVisible));
  const [only] = found;
  if (only === undefined)
    throw new HoldfastError("not_found", `There is no checkpoint ${JSON.stringify(part)}${workspace === undefined ? "" : ` in ${workspace.name}`}.`, {
      hint: "action timeline lists checkpoints.",
      details: { checkpointId: part },
    });
  if (found.length === 1) return only;
  throw new HoldfastError("ambiguous", `${JSON.stringify(part)} is part of several checkpoints' ids.`, {
    hint: "Give more of the id.",
    details: {
      candidates: found.slice(0, candidatesMax).map(({ id, description }) => ({ checkpointId: id, description: description.slice(0, 80) })),
      more: found.length > candidatesMax,
    },
  });
}

/** Ids with this part, newest first. A beginning takes one range read; any other part is searched among the newest ids. */
async function idsWith({ store }: Reader, part: string): Promise<readonly string[]> {
  const options = { limit: limits.readEntriesMax, reverse: true, values: false } as const;
  const beginning = await store.read(journalKeys.beginning(part), options);
  if (beginning.entries.length > 0) return beginning.entries.map((entry) => journalKeys.idOf(entry.key));
  const ids: string[] = [];
  let range = journalKeys.entries;
  for (let scanned = 0; scanned < scannedMax; scanned += options.limit) {
    const page = await store.read(range, options);
    ids.push(...page.entries.map((entry) => journalKeys.idOf(entry.key)).filter((id) => id.includes(part)));
    const last = page.entries.at(-1);
    if (!page.more || last === undefined || ids.length > limits.readEntriesMax) break;
    range = rangeBefore(range, last.key);
  }
  return ids.slice(0, limits.readEntriesMax);
}

/** In the order of `ids`, without entries that no longer exist. */
async function readEntries({ store }: Reader, ids: readonly string[]): Promise<JournalEntry[]> {
  if (ids.length === 0) return [];
  const { entries } = await store.read(ids.map((id) => keyRange(journalKeys.entry(id))));
  return entries.map(toJournalEntry);
}
