import { estimateTokens } from "../../kernel/tokens.ts";
import type { Hit } from "../../search/find-text.ts";
import { isAnswered, searchHits } from "../../search/find-text.ts";
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
import { isRecallable, requireSkill } from "./note.ts";

export interface RecallInput {
  readonly query: string;
  /** Other wordings of the same question: what all of them find is an answer, what one finds may be chance. */
  readonly also?: readonly string[];
  /** Also notes of this skill; global ones are always looked at. */
  readonly skill?: string;
  readonly limit: number;
  /** Of all contents together. */
  readonly maxTokens: number;
  /** Only so many of the best are looked at, in one read. */
  readonly lookedAtMax?: number;
}
export interface RecalledNote extends Note {
  readonly tokens: number;
  /** Comparable within one answer only. */
  readonly score: number;
  /** The words of the question that the note speaks of, the most telling first. */
  readonly why: readonly string[];
  readonly revision: Revision;
}
/** A note that may be about something else: named for a reader who can tell. */
export interface PossibleNote {
  readonly id: string;
  readonly skill?: string;
  /** How its text begins. */
  readonly title: string;
  readonly why: readonly string[];
}
export interface Recall {
  readonly notes: readonly RecalledNote[];
  readonly maybe: readonly PossibleNote[];
  readonly totalTokens: number;
  /** How many more answered, and did not fit the budget. */
  readonly omitted: number;
  /** The store's clock at the time, for ages. */
  readonly nowMs: number;
}

export const queryBytesMax = 8_192;
const maybeMax = 3;
const titleLength = 120;
const candidatesMax = 50;
const searchedMax = 1_000;
/** Contents read at a time. */
const batch = 10;

const trustWeights: Record<Trust, number> = { quarantined: 0, low: 0.5, medium: 1, high: 1.2 };

/** The notes that answer a question best, inside a budget. One that would break it is left out, and smaller ones are still tried. */
export async function recallNotes({ store }: Pick<Scope, "store">, { query, also, skill, limit, maxTokens, lookedAtMax }: RecallInput): Promise<Recall> {
  requireText(query, "query", queryBytesMax);
  const others = requireWordings(also);
  const areas = [knowledgeKeys.area(undefined), ...(skill === undefined ? [] : [knowledgeKeys.area(requireSkill(skill))])];
  const found = await searchHits(store, { areas, question: query, also: others });
  // A hit of any grade may still have a keyword that was asked for.
  const graded = (grade: Hit["grade"]): readonly Hit[] =>
    found.hits
      .slice(0, searchedMax)
      .filter((hit) => hit.grade === grade)
      .slice(0, candidatesMax);
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
      // Somebody may have withdrawn it since the search.
      if (!isRecallable(note)) continue;
      const hit = some.find(({ key }) => key === entry.key) as Hit;
      const keyword = note.keywords.map((each) => [...wordStems(each)]).find((terms) => terms.length > 0 && terms.every((term) => asked.has(term)));
      // Somebody wrote the keyword down to find the note by: all of it in the question is enough. Several wordings tell more than a keyword does.
      const isAnswer = note.questions === undefined ? hit.grade === "sure" : isAnswered(hit, found.matchOf(note.questions.map(wordStems)), found.wordings);
      const isSure = isAnswer || (keyword !== undefined && found.wordings === 1 && found.isTelling(keyword));
      if (!isSure && hit.grade === undefined && keyword === undefined) continue;
      (isSure ? sure : possible).push({
        ...note,
        tokens: estimateTokens(note.content),
        score: hit.score * trustWeights[note.trust],
        why: matchedWords(hit.matched, [query, ...others].join("\n"), textOf(note)),
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
  return { notes, maybe, totalTokens, omitted, nowMs: nowMs ?? (await store.position()).nowMs };
}

const byScore = (a: RecalledNote, b: RecalledNote): number => b.score - a.score;

const textOf = ({ content, keywords, questions = [] }: Note): string => [content, ...keywords, ...questions].join("\n");
