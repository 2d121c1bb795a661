import { quoted, quoteMark, visible } from "../stored-text.ts";

const lineCharactersMax = 240;

/** Splits stored text into lines of bounded length, so that part of it can fit into a budget. */
export function storedLines(text: string, charactersMax: number): readonly string[] {
  const shown = text.length > charactersMax ? `${text.slice(0, charactersMax).toWellFormed()} (cut)` : text;
  return quoted(visible(shown)).split("\n").flatMap(wrapped);
}

/** Breaks lines at spaces, so that a path or a word is not split. Only a word longer than a line is cut. */
function wrapped(line: string): string[] {
  const characters = [...line.slice(quoteMark.length)];
  const lineMax = lineCharactersMax - quoteMark.length;
  const pieces: string[] = [];
  let start = 0;
  while (characters.length - start > lineMax) {
    const blank = characters.slice(start, start + lineMax + 1).lastIndexOf(" ");
    const isWord = blank <= 0;
    const end = start + (isWord ? lineMax : blank);
    pieces.push(characters.slice(start, end).join(""));
    start = isWord ? end : end + 1;
  }
  return [...pieces, characters.slice(start).join("")].map((piece) => `${quoteMark}${piece}`.trimEnd());
}
