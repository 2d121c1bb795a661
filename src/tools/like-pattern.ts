import { invalidInput } from "../kernel/errors.ts";

export interface LikePattern {
  /** The literal beginning of every match, which narrows the scan. */
  readonly literalPrefix: string;
  matches(text: string): boolean;
}

/** Enough for any key: a key has at most 512 bytes, and each of its characters may be escaped. */
const patternLengthMax = 1_024;

/**
 * SQL LIKE (`%` any run, `_` one character, `\` escapes, case-sensitive) without regular expressions. The pattern becomes a sequence of states,
 * and each character of the text updates the set of reached states, stored as bits. The work is the length of the text times the length of the pattern
 * in 32-bit words, for every input, so no pattern can cause exponential work.
 */
export function likePattern(pattern: string): LikePattern {
  if (pattern.length > patternLengthMax) throw invalidInput("pattern", `must have at most ${patternLengthMax} characters`);
  const { tokens, runsBefore } = tokensOf(pattern);
  const words = (tokens.length + 32) >>> 5;
  const bits = (states: Iterable<number>): Uint32Array => {
    const set = new Uint32Array(words);
    for (const state of states) set[state >>> 5] = (set[state >>> 5] as number) | (1 << (state & 31));
    return set;
  };
  // State n: the first n tokens have matched. A `%` before token n lets state n persist.
  const stays = bits(runsBefore);
  const anyCharacter = bits(tokens.flatMap((token, i) => (token === anyOne ? [i + 1] : [])));
  const reachedBy = new Map<string, Uint32Array>();
  for (const character of new Set(tokens))
    if (character !== anyOne) reachedBy.set(character, bits(tokens.flatMap((token, i) => (token === character || token === anyOne ? [i + 1] : []))));
  const last = tokens.length;

  return {
    literalPrefix: literalPrefixOf(tokens, runsBefore),
    matches(text) {
      const states = bits([0]);
      for (const character of text) {
        const allowed = reachedBy.get(character) ?? anyCharacter;
        let carry = 0;
        for (let word = 0; word < words; word += 1) {
          const before = states[word] as number;
          states[word] = (((before << 1) | carry) & (allowed[word] as number)) | (before & (stays[word] as number));
          carry = before >>> 31;
        }
      }
      return ((states[last >>> 5] as number) & (1 << (last & 31))) !== 0;
    },
  };
}

/** No character equals the empty string, so it can represent "any one character". */
const anyOne = "";

function tokensOf(pattern: string): { readonly tokens: readonly string[]; readonly runsBefore: ReadonlySet<number> } {
  const tokens: string[] = [];
  const runsBefore = new Set<number>();
  let escaped = false;
  for (const character of pattern) {
    if (escaped) tokens.push(character);
    else if (character === "%") runsBefore.add(tokens.length);
    else if (character === "_") tokens.push(anyOne);
    else if (character !== "\\") tokens.push(character);
    escaped = !escaped && character === "\\";
  }
  if (escaped) throw invalidInput("pattern", "must not end in a single \\; write \\\\ for a backslash");
  return { tokens, runsBefore };
}

function literalPrefixOf(tokens: readonly string[], runsBefore: ReadonlySet<number>): string {
  let length = 0;
  while (length < tokens.length && tokens[length] !== anyOne && !runsBefore.has(length)) length += 1;
  return tokens.slice(0, length).join("");
}
