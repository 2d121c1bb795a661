import { stemOf } from "./stem.ts";
import { pauses, stopWords } from "./stop-words.ts";

/**
 * Text to terms, the same way for notes and questions and on every engine: the tokenizer decides what can be found.
 *
 * "Fixed the retryQueue in src/worker.ts"  →  fix · retryqueu (retri queue) · src · worker ts (workert)
 * "再試行キュー"                            →  再試 試行 行キ キュ ュー   (scripts without spaces: neighbouring characters)
 * "Größe, naïve"                           →  gross · naiv             (accents do not matter)
 */
export interface TextToken {
  readonly term: string;
  /** Below 1 for a token that a word only implies, or that says little. */
  readonly weight: number;
  /**
   * word: as written; part: of an identifier; whole: several words written as one; beginning: represents a word's other forms;
   * characters: neighbours in a script without spaces.
   */
  readonly role: "word" | "part" | "whole" | "beginning" | "characters";
  /** Tokens of the same word share this number. */
  readonly word: number;
}

/** What the tokenizer can do; the benchmark switches one ability off at a time to measure its value. */
export interface Abilities {
  readonly stems: boolean;
  readonly parts: boolean;
  readonly beginnings: boolean;
}
export const allAbilities: Abilities = { stems: true, parts: true, beginnings: true };

const partWeight = 0.6;
const wholeWeight = 0.6;
const beginningWeight = 0.35;
const beginningLength = 5;
const faintWeight = 0.3;
const termLengthMax = 64;

const unspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30FC\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const isUnspaced = new RegExp(`[${unspaced}]`, "u");
/** A mark belongs to the letter before it, and therefore to that letter's script: Arabic and Devanagari have marks too. */
const unspacedRuns = new RegExp(`([${unspaced}][${unspaced}\\p{M}]*)`, "u");
/** Hiragana expresses grammar, and so do these Chinese characters; the subject of a text is in the characters between them. */
const grammar = /^[\p{Script=Hiragana}的了是吗呢么在和有我们这那个也就都被把会]$/u;
/** In alphabets without spaces, two letters say too little. */
const isAlphabet = /^[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}]+$/u;

const word = String.raw`[\p{L}\p{N}\p{M}_]+(?:['’]\p{L}+)?`;
/** Words joined by a hyphen or a dot: `sign-in`, `worker.ts`, `2.8.3`. */
const chains = new RegExp(`${word}(?:[-.]${word})*`, "gu");

export function* tokens(text: string, abilities: Abilities = allAbilities): Generator<TextToken> {
  let number = 0;
  for (const [chain] of text.normalize("NFKC").matchAll(chains)) {
    const links = chain.split(/[-.]/u);
    for (const link of links)
      for (const run of link.split(unspacedRuns)) {
        if (run === "") continue;
        if (isUnspaced.test(run)) for (const token of neighbours(run)) yield { ...token, word: number++ };
        else yield* spacedWord(run, number++, abilities);
      }
    if (links.length > 1 && abilities.parts && !isUnspaced.test(chain)) {
      // Numbers keep their dots: 2.8.3 is not 283.
      const whole = /^[\d.]+$/u.test(chain) ? chain : plain(links.join(""));
      yield { term: stem(whole.slice(0, termLengthMax), abilities), weight: wholeWeight, role: "whole", word: number++ };
    }
  }
}

function* neighbours(run: string): Generator<Pick<TextToken, "term" | "weight" | "role">> {
  for (const piece of run.split(pauses)) {
    const characters = [...piece];
    const size = isAlphabet.test(piece) ? 3 : 2;
    if (characters.length > 0 && characters.length < size) yield { term: piece, weight: grammar.test(piece) ? faintWeight : 1, role: "characters" };
    for (let i = 0; i + size <= characters.length; i += 1) {
      const some = characters.slice(i, i + size);
      yield { term: some.join(""), weight: some.some((character) => grammar.test(character)) ? faintWeight : 1, role: "characters" };
    }
  }
}

function* spacedWord(run: string, number: number, abilities: Abilities): Generator<TextToken> {
  const parts = identifierParts(run);
  const folded = plain(parts.join(""));
  if (folded === "" || stopWords.has(folded)) return;
  const term = stem(folded, abilities);
  yield { term, weight: 1, role: "word", word: number };
  if (parts.length > 1 && abilities.parts)
    for (const part of parts.map(plain)) if (part.length > 1 && !stopWords.has(part)) yield { term: stem(part, abilities), weight: partWeight, role: "part", word: number };
  // The beginning of a long word represents its other forms in languages whose endings we do not know.
  if (abilities.beginnings && term.length > beginningLength && /^\p{L}+$/u.test(term))
    yield { term: `${[...term].slice(0, beginningLength).join("")}*`, weight: beginningWeight, role: "beginning", word: number };
}

/** `retryQueue` → retry Queue; `HTTPServer2` → HTTP Server 2; `max_retry_count` → max retry count. */
const identifierParts = (run: string): string[] =>
  run
    .replace(/['’](s|S)$/u, "")
    .replaceAll(/['’]/gu, "")
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1_$2")
    .replaceAll(/(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, "_")
    .replaceAll(/(\p{L})(\p{N})|(\p{N})(\p{L})/gu, "$1$3_$2$4")
    .split("_")
    .filter((part) => part !== "");

/** Lower case without accents; marks that represent vowels in other scripts stay. */
const plain = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll("ß", "ss")
    .normalize("NFD")
    .replaceAll(/[\u0300-\u036f\u0640\u064b-\u0655\u0670]/g, "")
    .normalize("NFC")
    .slice(0, termLengthMax);

const stem = (term: string, { stems }: Abilities): string => (stems ? stemOf(term) : term);
