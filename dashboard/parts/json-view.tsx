import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Expand, visibleText } from "./stored-text.tsx";

export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2) ?? "undefined";

const clippedCharacters = 6_000;
/** Longer values are shown without colours, which would slow the page down. */
const colouredCharactersMax = 60_000;
const tokens = /("(?:[^"\\]|\\.)*"?)(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/** Small enough for one line. */
const oneLineCharacters = 46;
const oneLine = (value: unknown): string | undefined => {
  const text = prettyJson(value);
  const line = text.replaceAll(/\n\s*/g, " ");
  return line.length <= oneLineCharacters ? line : undefined;
};

/** A stored value as indented JSON; `compact`: on one line if it fits. */
export function JsonView({ value, label, compact = false }: { readonly value: unknown; readonly label: string; readonly compact?: boolean }) {
  const text = (compact ? oneLine(value) : undefined) ?? prettyJson(value);
  const [open, setOpen] = useState(false);
  const shown = open || text.length <= clippedCharacters ? text : `${text.slice(0, clippedCharacters)}…`;
  return (
    <div class="json">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard. */}
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{shown.length <= colouredCharactersMax ? coloured(shown) : visibleText(shown)}</code>
      </pre>
      {text.length > clippedCharacters && <Expand open={open} size={text.length} onToggle={() => setOpen(!open)} />}
    </div>
  );
}

export function coloured(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const match of text.matchAll(tokens)) {
    const [whole, string, colon, word, number] = match;
    if (match.index > from) parts.push(text.slice(from, match.index));
    const kind = string === undefined ? (word === undefined ? "number" : "word") : colon === undefined ? "string" : "key";
    parts.push(
      <span key={match.index} class={`json-${kind}`}>
        {visibleText(string ?? word ?? number ?? whole)}
      </span>,
    );
    if (colon !== undefined) parts.push(colon);
    from = match.index + whole.length;
  }
  parts.push(text.slice(from));
  return parts;
}
