import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatBytes } from "./format.ts";
import { codeOf, plain, unseenInNames, unseenInProse } from "./unseen.ts";

const meanings: Readonly<Record<string, string>> = {
  "\u200B": "zero width space",
  "\u200C": "zero width non-joiner",
  "\u200D": "zero width joiner",
  "\u200E": "left-to-right mark",
  "\u200F": "right-to-left mark",
  "\u202A": "left-to-right embedding",
  "\u202B": "right-to-left embedding",
  "\u202C": "end of direction change",
  "\u202D": "left-to-right override",
  "\u202E": "right-to-left override",
  "\u2066": "left-to-right isolate",
  "\u2067": "right-to-left isolate",
  "\u2068": "isolate",
  "\u2069": "end of isolate",
  "\uFEFF": "byte order mark",
};

/** The text, with a small mark in place of each invisible character. */
export function visibleText(text: string, unseen: RegExp = unseenInProse): ComponentChildren {
  if (text.search(unseen) < 0) return text;
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const match of text.matchAll(unseen)) {
    parts.push(text.slice(from, match.index));
    parts.push(
      <span class="unseen" key={match.index} title={meanings[match[0]] ?? "a character that cannot be seen"}>
        {codeOf(match[0])}
      </span>,
    );
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** A key, an id or a person's name on one line, isolated from the surrounding text direction. */
export function Name({ text, mono = true }: { readonly text: string; readonly mono?: boolean }) {
  const shown = text.length > nameCharactersMax ? `${text.slice(0, nameCharactersMax)}…` : text;
  return (
    <bdi class={mono ? "name mono" : "name"} title={text.length > 24 ? plain(text.slice(0, 2_000)) : undefined}>
      {text === "" ? <span class="muted">(empty)</span> : visibleText(shown, unseenInNames)}
    </bdi>
  );
}
const nameCharactersMax = 400;

/** Running text as it was written, with its own line breaks and direction; long text expands on demand. */
export function Prose({ text, charactersMax = 2_000 }: { readonly text: string; readonly charactersMax?: number }) {
  const [open, setOpen] = useState(false);
  const clipped = !open && text.length > charactersMax;
  return (
    <div class="prose">
      <bdi>{visibleText(clipped ? `${text.slice(0, charactersMax)}…` : text)}</bdi>
      {text.length > charactersMax && <Expand open={open} size={text.length} onToggle={() => setOpen(!open)} />}
    </div>
  );
}

export function Expand({ open, size, onToggle }: { readonly open: boolean; readonly size: number; onToggle(): void }) {
  return (
    <button type="button" class="expand" aria-expanded={open} onClick={onToggle}>
      {open ? "Show less" : `Show all ${formatBytes(size)}`}
    </button>
  );
}
