/**
 * Text that somebody stored, on its way to a model. Every line of it gets a mark of its own, and no line without the mark is stored text:
 * whatever a note contains, it can neither close the quotation nor imitate what stands outside it.
 */
export const quoteMark = "> ";

/** Everything that some reader may take for the end of a line. */
const lineBreak = /\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/u;

export const quoted = (text: string): string =>
  text
    .split(lineBreak)
    .map((line) => `${quoteMark}${visible(line)}`.trimEnd())
    .join("\n");

/** A short stored text inside a line of ours: in quotation marks, which it cannot leave, and never a second line. */
export const quotedInline = (text: string, charactersMax = 120): string => {
  const characters = [...text];
  const shown = characters.length > charactersMax ? `${characters.slice(0, charactersMax).join("")}…` : text;
  return visible(JSON.stringify(shown).replaceAll(/[\u007f-\u009f\u2028\u2029]/gu, " "));
};

/** A plain name as it is; whatever could pass for a sentence of ours in quotation marks, which it cannot leave. */
export const plainName = (name: string, charactersMax = 120): string =>
  /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._/@#+:-]*$/u.test(name) && name.length <= charactersMax ? name : quotedInline(name, charactersMax);

/** Who wrote it: the authenticated writer, and beside it the name the caller gave itself. */
export const authorText = (writer: string, agent: string | undefined): string =>
  agent === undefined ? quotedInline(writer) : `${quotedInline(writer)} (as ${quotedInline(agent)})`;

/** Characters that steer a terminal or turn the reading direction are shown, not obeyed. Line breaks stay. */
export const visible = (text: string): string =>
  text.replaceAll(/[\u0000-\u0009\u000e-\u001f\u007f-\u0084\u0086-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    character === "\t" ? "  " : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** For a marked line: the text on one line, its own breaks as slashes, no longer than this. */
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
