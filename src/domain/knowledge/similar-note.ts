import { searchHits } from "../../search/find-text.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import { knowledgeKeys } from "../keyspace.ts";
import { overlapOf, turningWords, wordStems } from "../near-text.ts";
import type { SaveNoteInput } from "./knowledge.ts";
import { fullName, isRecallable, requireNoteId, requireSkill, toNoteContent } from "./note.ts";

export interface SimilarNote {
  /** The note's full name. */
  readonly name: string;
  /** True if their numbers differ or only one has a negation, so that they may contradict each other. */
  readonly differs: boolean;
}

/** Two notes that share at least this fraction of their words, ignoring numbers and negations, say nearly the same. */
const overlapMin = 0.7;
/** Only the beginning is used to find candidates; the comparison uses the whole note. */
const searchedCharactersMax = 1_000;
const comparedMax = 5;
const searchedMax = 50;

/** Finds a recallable note, global or of the same skill, that says nearly the same as the note to be saved. The note to be superseded is ignored. */
export async function findSimilarNote(
  { store }: Pick<Scope, "store">,
  { id, skill, content, supersedes }: Pick<SaveNoteInput, "id" | "skill" | "content" | "supersedes">,
): Promise<SimilarNote | undefined> {
  const areas = [knowledgeKeys.area(undefined), ...(skill === undefined ? [] : [knowledgeKeys.area(requireSkill(skill))])];
  const replaced = supersedes === undefined ? [] : [supersedes, fullName(supersedes, skill)];
  const own = [fullName(requireNoteId(id), skill), ...replaced].map(knowledgeKeys.note);
  const { hits } = await searchHits(store, { areas, question: content.slice(0, searchedCharactersMax).toWellFormed(), hitsMax: searchedMax });
  const keys = hits.flatMap(({ key }) => (own.includes(key) ? [] : [key])).slice(0, comparedMax);
  if (keys.length === 0) return undefined;
  const { entries } = await store.read(keys.map(keyRange));
  const words = subjectWords(content);
  let best: { readonly overlap: number; readonly note: SimilarNote } | undefined;
  for (const entry of entries) {
    const other = toNoteContent(entry);
    const overlap = isRecallable(other) ? (overlapOf(words, subjectWords(other.content)) ?? 0) : 0;
    if (overlap < overlapMin || overlap <= (best?.overlap ?? 0)) continue;
    best = { overlap, note: { name: knowledgeKeys.nameOf(entry.key), differs: turningWords(other.content) !== turningWords(content) } };
  }
  return best?.note;
}

/** Without numbers: two statements about the same subject may differ only in them. */
const subjectWords = (content: string): ReadonlySet<string> => new Set([...wordStems(content)].filter((stem) => !/\p{N}/u.test(stem)));
