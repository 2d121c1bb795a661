import type { Insertion } from "./edit.ts";
import { lineEndOf, unusable } from "./edit.ts";

const begin = "<!-- holdfast:begin -->";
const end = "<!-- holdfast:end -->";

/** A block between two marks in a file that belongs to the user, such as AGENTS.md. */
export function markedBlock(path: string, what: string, content: string): Insertion {
  return {
    path,
    what,
    add(text = "") {
      const eol = lineEndOf(text);
      const block = [begin, ...content.trimEnd().split("\n"), end].join(eol);
      const found = findBlock(path, text);
      if (found !== undefined) return text.slice(0, found.start) + block + text.slice(found.end);
      const gap = text === "" ? "" : text.endsWith("\n") ? eol : eol + eol;
      return `${text}${gap}${block}${eol}`;
    },
    remove(text, before) {
      const found = findBlock(path, text);
      if (found === undefined) return text;
      const head = text.slice(0, found.start);
      const tail = text.slice(found.end).replace(/^\r?\n/, "");
      // The empty line that was added before the block is removed too.
      const rest = (tail === "" ? head.replace(/(\r?\n)\r?\n$/, "$1") : head) + tail;
      return rest.trim() === "" && before === undefined ? undefined : rest;
    },
  };
}

function findBlock(path: string, text: string): { readonly start: number; readonly end: number } | undefined {
  const start = text.indexOf(begin);
  const stop = text.indexOf(end, Math.max(start, 0));
  if (start === -1 && stop === -1) return undefined;
  if (start === -1 || stop === -1 || text.includes(begin, start + 1))
    throw unusable(path, `the marks ${begin} and ${end} must each occur once`, "Remove the rest of the block by hand.");
  return { start, end: stop + end.length };
}

const ownership = "<!-- Written by `holdfast install`. `holdfast uninstall` removes this file, unless this line is gone. -->";

/** A file that is entirely ours. A file of the same name without our line belongs to the user and stays. */
export function ownFile(path: string, what: string, content: string): Insertion {
  return {
    path,
    what,
    add(text) {
      if (text !== undefined && text.trim() !== "" && !text.includes(ownership))
        throw unusable(path, "already exists and was not written by Holdfast", "Move it away, or use --server-only.");
      return content;
    },
    remove: (text) => (text.includes(ownership) ? undefined : text),
  };
}

/** Adds our line below the front matter, which must come first, or at the top. */
export function withOwnership(content: string): string {
  const front = /^---\n[\s\S]*?\n---\n/.exec(content)?.[0] ?? "";
  return `${front}${front === "" ? "" : "\n"}${ownership}\n\n${content.slice(front.length).trimStart()}`;
}
