/**
 * Replaces a word that is not allowed here with a neutral one and returns the original for the text beside it, so that
 * one unknown word does not lose the whole save. Adds one line to `adjusted` for each replacement.
 */
export function neutralWord<Word extends string>(
  value: unknown,
  { allowed, neutral, what }: { readonly allowed: readonly Word[]; readonly neutral: Word; readonly what: string },
  adjusted: string[],
): { readonly word: Word; readonly said: readonly string[] } {
  const found = allowed.find((each) => each === value);
  if (found !== undefined) return { word: found, said: [] };
  adjusted.push(`${what} ${JSON.stringify(typeof value === "string" ? shortened(value) : (value ?? ""))} became ${JSON.stringify(neutral)}`);
  return { word: neutral, said: typeof value === "string" && value.trim() !== "" ? [`${what}: ${value}`] : [] };
}

const shortened = (text: string): string => (text.length > 64 ? `${text.slice(0, 64).toWellFormed()}…` : text);

export const withSaid = (text: string, ...said: readonly (readonly string[])[]): string => (said.flat().length === 0 ? text : `${text} (${said.flat().join("; ")})`);
