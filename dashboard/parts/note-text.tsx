import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Expand, visibleText } from "./stored-text.tsx";

interface NoteTextProps {
  readonly text: string;
  /** The heading of the page: a note that begins with it need not repeat it. */
  readonly title: string;
  readonly charactersMax: number;
}

/**
 * A note with the Markdown that notes commonly have: headings, lists, fenced code, code spans and bold. Elements are made of the text, never markup from it;
 * links and images stay text, because others wrote them.
 */
export function NoteText({ text, title, charactersMax }: NoteTextProps) {
  const [open, setOpen] = useState(false);
  const isLong = text.length > charactersMax;
  return (
    <div class="prose note-text">
      {blocksOf(isLong && !open ? `${text.slice(0, charactersMax)}…` : text, title)}
      {isLong && <Expand open={open} size={text.length} onToggle={() => setOpen(!open)} />}
    </div>
  );
}

const fence = "```";
const itemStart = /^(?:[-*]|\d{1,4}[.)])\s/;
const headingStart = /^#{1,6}\s/;

function blocksOf(text: string, title: string): readonly ComponentChildren[] {
  const lines = text.split("\n");
  const blocks: ComponentChildren[] = [];
  for (let i = 0; i < lines.length; ) {
    const line = lines[i] as string;
    const key = i;
    if (line.startsWith(fence)) {
      const last = endOf(lines, key + 1, (each) => !each.startsWith(fence));
      blocks.push(
        <pre key={key}>
          <code>{visibleText(lines.slice(key + 1, last).join("\n"))}</code>
        </pre>,
      );
      i = last + 1;
    } else if (headingStart.test(line)) {
      const heading = line.replace(headingStart, "").trim();
      if (blocks.length > 0 || heading !== title) blocks.push(<h3 key={key}>{inline(heading)}</h3>);
      i += 1;
    } else if (itemStart.test(line.trimStart())) {
      const items = lines.slice(
        key,
        endOf(lines, key, (each) => itemStart.test(each.trimStart())),
      );
      blocks.push(
        <ul key={key}>
          {items.map((item, at) => (
            <li key={at} style={{ marginInlineStart: `${Math.min(8, item.length - item.trimStart().length) / 2}rem` }}>
              {inline(item.trim().replace(/^[-*]\s/, ""))}
            </li>
          ))}
        </ul>,
      );
      i += items.length;
    } else if (line.trim() === "") i += 1;
    else {
      const end = endOf(lines, key, (each) => each.trim() !== "" && !each.startsWith(fence) && !headingStart.test(each) && !itemStart.test(each.trimStart()));
      blocks.push(<p key={key}>{inline(lines.slice(key, end).join("\n"))}</p>);
      i = end;
    }
  }
  return blocks;
}

function endOf(lines: readonly string[], from: number, belongs: (line: string) => boolean): number {
  let end = from;
  while (end < lines.length && belongs(lines[end] as string)) end += 1;
  return end;
}

interface Span {
  readonly sign: string;
  readonly Element: "code" | "strong";
  readonly start: number;
  readonly end: number;
}

const marks = [
  ["`", "code"],
  ["**", "strong"],
] as const;

/** The next span of this kind; undefined where a sign has no counterpart: then no later one has. */
function spanFrom(text: string, from: number, [sign, Element]: (typeof marks)[number]): Span | undefined {
  const start = text.indexOf(sign, from);
  const end = start < 0 ? -1 : text.indexOf(sign, start + sign.length);
  return end < 0 ? undefined : { sign, Element, start, end };
}

/** Code spans and bold; a sign without its counterpart stays a sign. */
function inline(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let from = 0;
  // Each kind is searched for only after its last match, so that a long text is read once per kind.
  let next = marks.map((mark) => ({ mark, span: spanFrom(text, 0, mark) }));
  for (;;) {
    next = next.map(({ mark, span }) => ({ mark, span: span !== undefined && span.start < from ? spanFrom(text, from, mark) : span }));
    const spans = next.flatMap(({ span }) => span ?? []);
    const first = spans.reduce<Span | undefined>((best, span) => (best === undefined || span.start < best.start ? span : best), undefined);
    if (first === undefined) break;
    const { start, end, sign, Element } = first;
    parts.push(visibleText(text.slice(from, start)), <Element key={start}>{visibleText(text.slice(start + sign.length, end))}</Element>);
    from = end + sign.length;
  }
  parts.push(visibleText(text.slice(from)));
  return <bdi>{parts}</bdi>;
}
