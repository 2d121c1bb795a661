import { stemmer } from "stemmer";

/**
 * Text to terms, the same way for notes and questions and on every engine: the tokenizer decides what can be found.
 *
 * "Fixed the retryQueue in src/worker.ts"  →  fix · retryqueu retri queue · src worker ts
 * "再試行キュー"                            →  再試 試行 行キ キュ ュー   (scripts without spaces: pairs of characters)
 * "Größe, naïve"                           →  gross naiv           (accents do not matter)
 */
export interface Token {
  readonly term: string;
  /** Below 1 for what a word only implies: its parts and its beginning. */
  readonly weight: number;
}

const partWeight = 0.6;
const prefixWeight = 0.35;
const prefixLength = 5;
const termLengthMax = 64;

/** Scripts written without spaces between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const word = /[\p{L}\p{N}\p{M}_]+(?:['’][\p{L}]+)?/gu;
const unspacedRuns = /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30FC\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}]+)/u;

export function* tokens(text: string): Generator<Token> {
  for (const [raw] of text.normalize("NFKC").matchAll(word)) {
    for (const run of raw.split(unspacedRuns)) {
      if (run === "") continue;
      if (unspaced.test(run)) yield* pairs(run);
      else yield* spacedWord(run);
    }
  }
}

function* pairs(run: string): Generator<Token> {
  const characters = [...run];
  if (characters.length === 1) yield { term: run, weight: 1 };
  for (let i = 0; i + 1 < characters.length; i += 1) yield { term: `${characters[i]}${characters[i + 1]}`, weight: 1 };
}

function* spacedWord(run: string): Generator<Token> {
  const parts = identifierParts(run);
  const whole = plain(parts.join(""));
  if (whole === "" || stopWords.has(whole)) return;
  const term = stem(whole);
  yield { term, weight: 1 };
  if (parts.length > 1)
    for (const part of parts) {
      const folded = plain(part);
      if (folded.length > 1 && !stopWords.has(folded)) yield { term: stem(folded), weight: partWeight };
    }
  // The beginning of a long word stands for its other forms in languages whose endings we do not know.
  if (term.length > prefixLength && /\p{L}/u.test(term)) yield { term: `${[...term].slice(0, prefixLength).join("")}*`, weight: prefixWeight };
}

/** `retryQueue` → retry Queue; `HTTPServer2` → HTTP Server 2; `max_retry_count` → max retry count. */
const identifierParts = (run: string): string[] =>
  run
    .replace(/['’](s|S)$/u, "")
    .replaceAll(/['’]/gu, "")
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1_$2")
    .replaceAll(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, "$1_$2")
    .replaceAll(/(\p{L})(\p{N})|(\p{N})(\p{L})/gu, "$1$3_$2$4")
    .split("_")
    .filter((part) => part !== "");

/** Lower case without accents; marks of other scripts carry vowels and stay. */
const plain = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll("ß", "ss")
    .normalize("NFD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .slice(0, termLengthMax);

const stem = (term: string): string => (/^[a-z]{3,}$/.test(term) ? stemmer(term) : term);

/** Words that say nothing about what a note is about. English only: elsewhere their frequency tells. */
const stopWords = new Set(
  "a an and are as at be been but by can could did do does for from had has have how i if in into is it its me my of on or our so that the their them then there these they this to was we were what when where which who why will with would you your".split(
    " ",
  ),
);
