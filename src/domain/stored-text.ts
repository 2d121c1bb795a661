/**
 * Stored text on its way to a model. Every line of stored text begins with this mark, so a line without it is never stored text.
 * No note, whatever it contains, can end the quotation or imitate the text around it.
 */
export const quoteMark = "> ";

/** Every character that some reader treats as a line break. */
const lineBreak = /\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/u;

export const quoted = (text: string): string =>
  text
    .split(lineBreak)
    .map((line) => `${quoteMark}${visible(line)}`.trimEnd())
    .join("\n");

/** Short stored text within a line of our own text. It is quoted so that it cannot end the quotation or start a new line. */
export const quotedInline = (text: string, charactersMax = 120): string => {
  const characters = [...text];
  const shown = characters.length > charactersMax ? `${characters.slice(0, charactersMax).join("")}…` : text;
  return visible(JSON.stringify(shown).replaceAll(/[\u007f-\u009f\u2028\u2029]/gu, " "));
};

/** Returns a plain name unchanged. Any other name is quoted, because it could pass for a sentence of our own. */
export const plainName = (name: string, charactersMax = 120): string =>
  /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._/@#+:-]*$/u.test(name) && name.length <= charactersMax ? name : quotedInline(name, charactersMax);

/** The authenticated writer, followed by the label the caller gave itself. */
export const authorText = (writer: string, agent: string | undefined): string =>
  agent === undefined ? quotedInline(writer) : `${quotedInline(writer)} (as ${quotedInline(agent)})`;

/** Shows control characters and direction marks as escapes, so that they cannot affect a terminal or the reading direction. Keeps line breaks. */
export const visible = (text: string): string =>
  text.replaceAll(/[\u0000-\u0009\u000e-\u001f\u007f-\u0084\u0086-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    character === "\t" ? "  " : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Puts the text on one line of at most about this length for a marked line; line breaks become slashes. */
export function onOneLine(text: string, charactersMax: number): string {
  const line = visible(
    text
      .trim()
      .split(lineBreak)
      .map((part) => part.trim())
      .join(" / "),
  );
  return line.length > charactersMax ? `${line.slice(0, charactersMax).toWellFormed()}...` : line;
}
