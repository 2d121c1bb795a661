import { useMemo, useState } from "preact/hooks";
import { plural } from "./format.ts";
import type { DiffLine } from "./line-diff.ts";
import { lineDiff } from "./line-diff.ts";
import { visibleText } from "./stored-text.tsx";

/** Unchanged lines shown around each change. */
const context = 3;
const signs = { same: " ", added: "+", removed: "−" } as const;
const words = { same: "", added: "added", removed: "removed" } as const;
const linesMax = 400;

/** Two texts compared line by line, with unchanged parts folded. */
export function DiffView({ before, after, label }: { readonly before: string; readonly after: string; readonly label: string }) {
  const [open, setOpen] = useState(false);
  const lines = useMemo(() => lineDiff(before, after), [before, after]);
  if (lines === undefined) return <p class="muted">The two have too little in common to be shown side by side.</p>;
  const added = lines.filter(({ kind }) => kind === "added").length;
  const removed = lines.filter(({ kind }) => kind === "removed").length;
  if (added === 0 && removed === 0) return <p class="muted">The value is the same.</p>;
  const parts = open ? [lines] : folded(lines);
  let room = open ? Number.POSITIVE_INFINITY : linesMax;
  return (
    <div class="diff">
      <p class="diff-count">
        <span class="added">{plural(added, "line")} added</span>, <span class="removed">{plural(removed, "line")} removed</span>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard. */}
      <div class="diff-lines" tabIndex={0} role="region" aria-label={label}>
        {parts.map((part) => {
          if ("hidden" in part)
            return (
              <div key={`fold ${part.at}`} class="diff-fold">
                {plural(part.hidden, "line")} without change
              </div>
            );
          const shown = part.slice(0, Math.max(0, room));
          room -= part.length;
          return shown.map((line) => <Line key={`${line.oldLine} ${line.newLine}`} line={line} />);
        })}
      </div>
      {!open && (room < 0 || parts.length > 1 || "hidden" in (parts[0] ?? [])) && (
        <button type="button" class="expand" onClick={() => setOpen(true)}>
          Show every line
        </button>
      )}
    </div>
  );
}

function Line({ line: { kind, text, oldLine, newLine } }: { readonly line: DiffLine }) {
  return (
    <div class={`diff-line ${kind}`}>
      <span class="line-number" aria-hidden="true">
        {newLine ?? oldLine}
      </span>
      <span class="sign" aria-hidden="true">
        {signs[kind]}
      </span>
      {kind !== "same" && <span class="unsighted">{words[kind]}: </span>}
      <code>{visibleText(text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text)}</code>
    </div>
  );
}

type Fold = { readonly at: number; readonly hidden: number };

function folded(lines: readonly DiffLine[]): readonly (readonly DiffLine[] | Fold)[] {
  const near = lines.map(() => false);
  for (const [index, { kind }] of lines.entries())
    if (kind !== "same") for (let at = Math.max(0, index - context); at <= Math.min(lines.length - 1, index + context); at += 1) near[at] = true;
  const parts: (DiffLine[] | Fold)[] = [];
  for (let index = 0; index < lines.length; ) {
    let end = index;
    while (end < lines.length && near[end] === near[index]) end += 1;
    parts.push(near[index] ? lines.slice(index, end) : { at: index, hidden: end - index });
    index = end;
  }
  return parts;
}
