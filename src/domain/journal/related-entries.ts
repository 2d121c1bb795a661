import { findSharing } from "../../search/find-sharing.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import { journalKeys } from "../keyspace.ts";
import { matchedWords } from "../matched-words.ts";
import { isAutomatic } from "./automatic-entry.ts";
import { globalJournal } from "./journal.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { toJournalEntry } from "./journal-entry.ts";

export interface RelatedEntry {
  readonly entry: JournalEntry;
  /** `same session`, `same branch`, or the rare words that both entries share. */
  readonly why: string;
}

export interface RelatedQuery {
  readonly journalIds: readonly string[];
  /** The entry to which the others are related. */
  readonly to: JournalEntry;
  /** Ids of entries that the reader already has. */
  readonly known: ReadonlySet<string>;
  readonly limit: number;
}

/** How many entries before and after it are examined, and how many that share a rare word. */
const looked = { neighbours: 20, sharing: 8, textCharacters: 1_000, words: 3 } as const;
/** Branches that all work shares, so they do not relate entries. */
const sharedBranches = /^(?:main|master|trunk|develop|dev)$/u;

/** Finds entries of the same session, entries that share a rare word, and entries of the same branch, in this order. */
export async function findRelated({ store }: Pick<Scope, "store">, { journalIds, to, known, limit }: RelatedQuery): Promise<readonly RelatedEntry[]> {
  const journalId = to.global ? globalJournal : to.workspace.id;
  const list = { limit: looked.neighbours + 1, values: false } as const;
  const position = journalKeys.listed.positionOf(journalKeys.listed.key(journalId, to.createdAtMs, to.id));
  const text = textOf(to).slice(0, looked.textCharacters);
  const [before, after, sharing] = await Promise.all([
    store.read(journalKeys.listed.range(journalId, 0, undefined, position), { ...list, reverse: true }),
    store.read(journalKeys.listed.range(journalId, to.createdAtMs, undefined, undefined), list),
    findSharing(store, { areas: journalIds.map(journalKeys.area), text }),
  ]);
  const neighbours = [...before.entries, ...after.entries].map(({ key }) => journalKeys.entry(journalKeys.idOf(key)));
  const sharedBy = new Map(sharing.slice(0, looked.sharing + known.size).map(({ key, terms }) => [key, terms]));
  const keys = [...new Set([...neighbours, ...sharedBy.keys()])].filter((key) => key !== journalKeys.entry(to.id) && !known.has(journalKeys.idOf(key)));
  if (keys.length === 0) return [];
  const entries = (await store.read(keys.map(keyRange))).entries.map(toJournalEntry).filter((entry) => !isAutomatic(entry));
  const wordsOf = (entry: JournalEntry): string | undefined => {
    const terms = sharedBy.get(journalKeys.entry(entry.id));
    return terms === undefined ? undefined : matchedWords(terms.slice(0, looked.words), text, text).join(", ");
  };
  const isSameBranch = ({ gitBranch }: JournalEntry): boolean => gitBranch !== undefined && gitBranch === to.gitBranch && !sharedBranches.test(gitBranch);
  const reasons: readonly ((entry: JournalEntry) => string | undefined)[] = [
    ({ sessionId }) => (sessionId === to.sessionId ? "same session" : undefined),
    wordsOf,
    (entry) => (isSameBranch(entry) ? "same branch" : undefined),
  ];
  const distance = ({ createdAtMs }: JournalEntry): number => Math.abs(createdAtMs - to.createdAtMs);
  return entries
    .flatMap((entry) => {
      const rank = reasons.findIndex((reason) => reason(entry) !== undefined);
      return rank === -1 ? [] : [{ entry, rank, why: reasons[rank]?.(entry) as string }];
    })
    .sort((a, b) => a.rank - b.rank || distance(a.entry) - distance(b.entry))
    .slice(0, limit)
    .map(({ entry, why }) => ({ entry, why }));
}

const textOf = ({ description, highlights, tags }: JournalEntry): string => [description, ...highlights, ...tags].join("\n");
