import { estimateTokens } from "../../kernel/tokens.ts";
import type { Hit } from "../../search/find-text.ts";
import { isAnswered, searchHits } from "../../search/find-text.ts";
import type { WeighedHit } from "../../search/meaning.ts";
import { weighByMeaning } from "../../search/meaning.ts";
import type { VectorSearch } from "../../search/vector-search.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { knowledgeKeys } from "../keyspace.ts";
import { matchedWords } from "../matched-words.ts";
import { wordStems } from "../near-text.ts";
import { requireText, requireWordings } from "../read-fields.ts";
import { onOneLine } from "../stored-text.ts";
import { toNote } from "./knowledge.ts";
import type { Note, Trust } from "./note.ts";
import { isRecallable, requireFullName, requireSkill } from "./note.ts";

export interface RecallInput {
  readonly query: string;
  /** Other wordings of the same question. A note found by all wordings is an answer; a note found by one may be chance. */
  readonly also?: readonly string[];
  /** Also searches notes of this skill; global notes are always searched. */
  readonly skill?: string;
  readonly limit: number;
  /** Budget for all contents together. */
  readonly maxTokens: number;
  /** Reads at most this many of the best hits, in one read. */
  readonly lookedAtMax?: number;
  /** Set if an embedding model is configured: finds notes that share no word with the question. */
  readonly vectors?: VectorSearch;
}
export interface RecalledNote extends Note {
  readonly tokens: number;
  /** Comparable within one answer only. */
  readonly score: number;
  /** The words of the question that occur in the note, the most distinctive first. */
  readonly why: readonly string[];
  readonly revision: Revision;
}
/** A note that may not answer the question. It is listed by title, so that the reader can decide. */
export interface PossibleNote {
  readonly id: string;
  readonly skill?: string;
  /** The beginning of its text. */
  readonly title: string;
  readonly why: readonly string[];
}
export interface Recall {
  readonly notes: readonly RecalledNote[];
  readonly maybe: readonly PossibleNote[];
  readonly totalTokens: number;
  /** How many more notes answer the question but did not fit into the budget. */
  readonly omitted: number;
  /** Why only words were searched although a model is configured. */
  readonly problem?: string;
  /** The store's time, to compute the ages of notes. */
  readonly nowMs: number;
}

export const queryBytesMax = 8_192;
const maybeMax = 3;
const titleLength = 120;
const candidatesMax = 50;
const searchedMax = 300;
/** Notes per read. */
const batch = 10;

const trustWeights: Record<Trust, number> = { quarantined: 0, low: 0.5, medium: 1, high: 1.2 };

/** Returns the best notes for a question within a token budget. A note that exceeds the rest of the budget is skipped, and smaller ones are still tried. */
export async function recallNotes({ store }: Pick<Scope, "store">, { query, also, skill, limit, maxTokens, lookedAtMax, vectors }: RecallInput): Promise<Recall> {
  requireText(query, "query", queryBytesMax);
  const others = requireWordings(also);
  const areas = [knowledgeKeys.area(undefined), ...(skill === undefined ? [] : [knowledgeKeys.area(requireSkill(skill))])];
  const [found, meaning] = await Promise.all([searchHits(store, { areas, question: query, also: others, hitsMax: searchedMax }), vectors?.compare(store, [query, ...others])]);
  const near = meaning !== undefined && "nearness" in meaning ? meaning : undefined;
  const candidates: readonly (Hit & Partial<WeighedHit>)[] =
    near === undefined ? found.hits : [...weighByMeaning(found.hits, near, (key) => areas.includes(areaOfKey(key)))].sort((a, b) => b.together - a.together);
  // Hits without a grade are kept too, because a keyword of the note may match the question.
  const graded = (grade: Hit["grade"]): readonly (Hit & Partial<WeighedHit>)[] => candidates.filter((hit) => hit.grade === grade).slice(0, candidatesMax);
  const hits = [...graded("sure"), ...graded("maybe"), ...(found.wordings > 1 ? [] : graded(undefined))].slice(0, lookedAtMax);
  const asked = wordStems(query);
  const sure: RecalledNote[] = [];
  const possible: RecalledNote[] = [];
  const readAtOnce = lookedAtMax ?? batch;
  let nowMs: number | undefined;
  for (let i = 0; i < hits.length; i += readAtOnce) {
    const some = hits.slice(i, i + readAtOnce);
    const snapshot = await store.read(some.map(({ key }) => keyRange(key)));
    nowMs = snapshot.nowMs;
    for (const entry of snapshot.entries) {
      const note = toNote(entry);
      // The note may have been withdrawn since the search.
      if (!isRecallable(note)) continue;
      const hit = some.find(({ key }) => key === entry.key) as Hit & Partial<WeighedHit>;
      // The vector belongs to an earlier version of the note.
      if (hit.byMeaning === true && near?.nearness.of(entry.key)?.revision !== entry.revision) continue;
      const keyword = note.keywords.map((each) => [...wordStems(each)]).find((terms) => terms.length > 0 && terms.every((term) => asked.has(term)));
      // Authors add keywords to make notes findable, so a keyword that is wholly in the question is enough. With several wordings, their agreement is the better sign.
      const isAnswer = note.questions === undefined ? hit.grade === "sure" : isAnswered(hit, found.matchOf(note.questions.map(wordStems)), found.wordings);
      const isSure = isAnswer || (keyword !== undefined && found.wordings === 1 && found.isTelling(keyword));
      if (!isSure && hit.grade === undefined && keyword === undefined) continue;
      (isSure ? sure : possible).push({
        ...note,
        tokens: estimateTokens(note.content),
        score: (hit.together ?? hit.score) * trustWeights[note.trust],
        why: [...matchedWords(hit.matched, [query, ...others].join("\n"), textOf(note)), ...(hit.byMeaning === true ? ["by meaning"] : [])],
        revision: entry.revision,
      });
    }
  }
  const notes: RecalledNote[] = [];
  let totalTokens = 0;
  let omitted = 0;
  for (const note of sure.sort(byScore)) {
    if (notes.length === limit) break;
    if (totalTokens + note.tokens > maxTokens) {
      omitted += 1;
      continue;
    }
    notes.push(note);
    totalTokens += note.tokens;
  }
  const maybe = possible
    .sort(byScore)
    .slice(0, maybeMax)
    .map(({ id, skill: of, content, why }) => ({ id, ...(of === undefined ? {} : { skill: of }), title: onOneLine(content, titleLength), why }));
  return {
    notes,
    maybe,
    totalTokens,
    omitted,
    ...(meaning !== undefined && "problem" in meaning ? { problem: meaning.problem } : {}),
    nowMs: nowMs ?? (await store.position()).nowMs,
  };
}

/** The search area of a note. */
const areaOfKey = (key: string): string => knowledgeKeys.area(requireFullName(knowledgeKeys.nameOf(key), "id").skill);

const byScore = (a: RecalledNote, b: RecalledNote): number => b.score - a.score;

const textOf = ({ content, keywords, questions = [] }: Note): string => [content, ...keywords, ...questions].join("\n");
