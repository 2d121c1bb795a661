import { estimateTokens } from "../../kernel/tokens.ts";
import { findText, relevantCoverageMin } from "../../search/find-text.ts";
import type { Ranked } from "../../search/ranking.ts";
import { tokens } from "../../search/tokenizer.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { knowledgeKeys } from "../keyspace.ts";
import { matchedWords } from "../matched-words.ts";
import { requireText } from "../read-fields.ts";
import { toNote } from "./knowledge.ts";
import type { Note, Trust } from "./note.ts";
import { isRecallable, requireSkill } from "./note.ts";

export interface RecallInput {
  readonly query: string;
  /** Also notes of this skill; global ones are always looked at. */
  readonly skill?: string;
  readonly limit: number;
  /** Of all contents together. */
  readonly maxTokens: number;
}
export interface RecalledNote extends Note {
  readonly tokens: number;
  /** Comparable within one answer only. */
  readonly score: number;
  /** The words of the question that the note speaks of, the most telling first. */
  readonly why: readonly string[];
  readonly revision: Revision;
}
export interface Recall {
  readonly notes: readonly RecalledNote[];
  readonly totalTokens: number;
  /** How many more answered, and did not fit the budget. */
  readonly omitted: number;
  /** The store's clock at the time, for ages. */
  readonly nowMs: number;
}

export const queryBytesMax = 8_192;
const candidatesMax = 50;
const searchedMax = 1_000;
/** Contents read at a time. */
const batch = 10;

const trustWeights: Record<Trust, number> = { quarantined: 0, low: 0.5, medium: 1, high: 1.2 };

/** The notes that answer a question best, inside a budget. One that would break it is left out, and smaller ones are still tried. */
export async function recallNotes({ store }: Pick<Scope, "store">, { query, skill, limit, maxTokens }: RecallInput): Promise<Recall> {
  requireText(query, "query", queryBytesMax);
  const areas = [knowledgeKeys.area(undefined), ...(skill === undefined ? [] : [knowledgeKeys.area(requireSkill(skill))])];
  const found = await findText(store, { areas, question: query, limit: searchedMax, coverageMin: 0 });
  const isRelevant = ({ coverage }: Ranked): boolean => coverage >= relevantCoverageMin;
  // What speaks of too little of the question may still have been given a keyword for it.
  const hits = [...found.hits.filter(isRelevant).slice(0, candidatesMax), ...found.hits.filter((hit) => !isRelevant(hit)).slice(0, candidatesMax)];
  const asked = wordTerms(query);
  const candidates: RecalledNote[] = [];
  let { nowMs } = await store.read({ start: "", end: "" });
  for (let i = 0; i < hits.length; i += batch) {
    const some = hits.slice(i, i + batch);
    const snapshot = await store.read(some.map(({ key }) => keyRange(key)));
    nowMs = snapshot.nowMs;
    for (const entry of snapshot.entries) {
      const note = toNote(entry);
      // Somebody may have withdrawn it since the search.
      if (!isRecallable(note)) continue;
      const hit = some.find(({ key }) => key === entry.key) as Ranked;
      if (!isRelevant(hit) && !note.keywords.some((keyword) => isAskedFor(keyword, asked))) continue;
      candidates.push({
        ...note,
        tokens: estimateTokens(note.content),
        score: hit.score * trustWeights[note.trust],
        why: matchedWords(hit.matched, query, `${note.content}\n${note.keywords.join("\n")}`),
        revision: entry.revision,
      });
    }
  }
  const notes: RecalledNote[] = [];
  let totalTokens = 0;
  let omitted = 0;
  for (const note of candidates.sort((a, b) => b.score - a.score)) {
    if (notes.length === limit) break;
    if (totalTokens + note.tokens > maxTokens) {
      omitted += 1;
      continue;
    }
    notes.push(note);
    totalTokens += note.tokens;
  }
  return { notes, totalTokens, omitted, nowMs };
}

/** The words of a text, by their stems. */
const wordTerms = (text: string): ReadonlySet<string> => new Set([...tokens(text)].filter(({ role }) => role === "word" || role === "characters").map(({ term }) => term));

/** Somebody wrote the keyword down to find the note by: all of its words in the question are enough, whatever else is asked. */
function isAskedFor(keyword: string, asked: ReadonlySet<string>): boolean {
  const terms = [...wordTerms(keyword)];
  return terms.length > 0 && terms.every((term) => asked.has(term));
}
