/**
 * Invisible characters that change how others are shown: controls, direction marks and overrides, zero widths, tag characters, fillers.
 * The signs that stand before Arabic numbers are of the same class and can be seen.
 */
export const unseenInNames = /\u034F|[[\p{Cc}\p{Cf}\u115F\u1160\u3164\uFFA0]--[\t\n\u0600-\u0605\u06DD\u070F\u08E2]]/gv;
/** In running text the joiners and marks that scripts and emoji need are left alone. */
export const unseenInProse = /\u034F|[[\p{Cc}\p{Cf}\u115F\u1160\u3164\uFFA0]--[\t\n\r\u0600-\u0605\u06DD\u070F\u08E2\u200C-\u200F]]/gv;

/** U+202E */
export const codeOf = (character: string): string => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** For places that take no more than a string: titles, options, drawn text. */
export const plain = (text: string): string => text.replaceAll(unseenInNames, (character) => `[${codeOf(character)}]`);
