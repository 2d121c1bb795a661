/**
 * Invisible characters that change how others are shown: controls, direction marks and overrides, zero-width characters, tag characters, fillers.
 * The signs that precede Arabic numbers are in the same class but visible, so they are excluded.
 */
export const unseenInNames = /\u034F|[[\p{Cc}\p{Cf}\u115F\u1160\u3164\uFFA0]--[\t\n\u0600-\u0605\u06DD\u070F\u08E2]]/gv;
/** In running text, joiners and marks that scripts and emoji need are kept. */
export const unseenInProse = /\u034F|[[\p{Cc}\p{Cf}\u115F\u1160\u3164\uFFA0]--[\t\n\r\u0600-\u0605\u06DD\u070F\u08E2\u200C-\u200F]]/gv;

/** U+202E */
export const codeOf = (character: string): string => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** For places that accept only a string: titles, options, chart labels. */
export const plain = (text: string): string => text.replaceAll(unseenInNames, (character) => `[${codeOf(character)}]`);
