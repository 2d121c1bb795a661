/** Characters with a common ASCII spelling that Unicode decomposition does not produce. */
const spellings: Readonly<Record<string, string>> = {
  "\u00df": "ss",
  "\u00e6": "ae",
  "\u00c6": "AE",
  "\u0153": "oe",
  "\u0152": "OE",
  "\u00f8": "o",
  "\u00d8": "O",
  "\u0142": "l",
  "\u0141": "L",
  "\u0111": "d",
  "\u0110": "D",
  "\u00fe": "th",
  "\u00de": "Th",
  "\u00f0": "d",
  "\u00d0": "D",
  "\u0131": "i",
  "\u2018": "'",
  "\u2019": "'",
  "\u201a": "'",
  "\u201c": '"',
  "\u201d": '"',
  "\u201e": '"',
  "\u00ab": '"',
  "\u00bb": '"',
  "\u2010": "-",
  "\u2011": "-",
  "\u2012": "-",
  "\u2013": "-",
  "\u2014": "--",
  "\u2212": "-",
  "\u2022": "*",
  "\u00b7": "*",
  "\u00d7": "x",
  "\u2192": "->",
  "\u2190": "<-",
  "\u21d2": "=>",
  "\u2264": "<=",
  "\u2265": ">=",
  "\u2713": "[x]",
  "\u2714": "[x]",
  "\u20ac": "EUR",
  "\u00a9": "(c)",
  "\u00ae": "(R)",
  "\u00b0": "deg",
};

/**
 * Converts text to ASCII for terminals and logs that support nothing else. Accents are dropped and common signs spelled out. Other
 * characters become JSON escapes, so nothing is lost. "Größe → 大きさ" becomes "Grosse -> \u5927\u304d\u3055".
 */
export const toAscii = (text: string): string => (/^[\u0000-\u007f]*$/.test(text) ? text : Array.from(text, asciiOf).join(""));

function asciiOf(character: string): string {
  if (character <= "\u007f") return character;
  const known = spellings[character];
  if (known !== undefined) return known;
  // Canonical decomposition only: compatibility decomposition would turn 10⁹ into 109.
  const base = character.normalize("NFD").replaceAll(/\p{M}/gu, "");
  // A separate combining mark belongs to the letter before it, which has already been written.
  if (/^[\u0020-\u007e]*$/.test(base) && (base !== "" || /[\u0300-\u036f]/.test(character))) return base;
  return Array.from({ length: character.length }, (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
}
