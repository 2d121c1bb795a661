import type { ComponentChildren } from "preact";
import { visibleText } from "./stored-text.tsx";

const shortestWord = 2;

/** The text with every occurrence of a word of the question marked. */
export function markedText(text: string, question: string): ComponentChildren {
  const lower = text.toLowerCase();
  // A few letters change their length with their case: places in one text are then not those in the other.
  if (lower.length !== text.length) return visibleText(text);
  const words = [...new Set(question.toLowerCase().split(/\s+/))].filter((word) => word.length >= shortestWord);
  const next = new Map(words.map((word) => [word, lower.indexOf(word)]));
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (;;) {
    let found: { readonly at: number; readonly word: string } | undefined;
    for (const [word, known] of next) {
      const at = known >= 0 && known < from ? lower.indexOf(word, from) : known;
      next.set(word, at);
      if (at >= 0 && (found === undefined || at < found.at || (at === found.at && word.length > found.word.length))) found = { at, word };
    }
    if (found === undefined) break;
    const end = found.at + found.word.length;
    parts.push(visibleText(text.slice(from, found.at)), <mark key={found.at}>{visibleText(text.slice(found.at, end))}</mark>);
    from = end;
  }
  parts.push(visibleText(text.slice(from)));
  return parts;
}
