/** The candidate that was most likely meant: it starts with the word, or differs in at most a third of its letters. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = candidate.startsWith(word) && word.length > 1 ? 0.5 : editDistance(word, candidate);
    if (distance <= Math.max(1, Math.floor(candidate.length / 3)) && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** The number of insertions, deletions, replacements and swaps of adjacent letters that turn one word into the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, (beforeLast[j - 2] as number) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] as number;
}

const shownMax = 80;

/** Text from the user, short enough to repeat in a message. */
export const quotedName = (text: string): string => JSON.stringify(text.length <= shownMax ? text : `${text.slice(0, shownMax)}…`);

/** `; did you mean state?`, or nothing if no candidate is close. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const close = nearest(word, candidates);
  return close === undefined ? "" : `; did you mean ${close}?`;
}

/** The end of an error about a word that is not allowed: `must be one of a, b (got "aa"; did you mean a?)`. */
export const mustBeOneOf = (word: string, allowed: readonly string[]): string => `must be one of ${allowed.join(", ")} (got ${quotedName(word)}${suggestion(word, allowed)})`;
