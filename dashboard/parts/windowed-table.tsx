import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { scrollBackTo, scrolledBack } from "../router.ts";
import { useWidth } from "./use-width.ts";

export interface Column<Row> {
  readonly heading: string;
  /** A grid track: "2fr", "6rem". */
  readonly track: string;
  readonly align?: "end";
  /** Its position on a narrow screen, where a row has two lines, each with an item at its end, and a button next to both. */
  readonly narrow: "first" | "first-end" | "second" | "second-end" | "action" | "hidden";
  /** The order in which columns are hidden if the table is too narrow, lowest number first. Absent = never. */
  readonly drop?: number;
  /** The values are unclear without the heading. A narrow screen has no heading line, so each value is preceded by its heading there. */
  readonly labelled?: boolean;
  cell(row: Row): ComponentChildren;
}

interface TableProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  keyOf(row: Row): string;
  /** The link of the row's first column; clicking anywhere in the row follows it. */
  hrefOf?(row: Row): string;
  /** The total number of rows, if known. */
  readonly total?: number;
  readonly more?: boolean;
  readonly loadingMore?: boolean;
  onMore?(): void;
  toneOf?(row: Row): string | undefined;
}

const overscan = 8;
const moreAhead = 40;
const narrowScreen = matchMedia("(max-width: 44rem)");
const rowHeight = (): number => (narrowScreen.matches ? 66 : 36);

const rowPaddingRem = 2;
const gapRem = 1;

/** The smallest width of a track, in rem: "minmax(12rem, 2fr)" and "12rem" need 12. */
const leastRem = (track: string): number => Number.parseFloat(track.replace("minmax(", ""));

/** The columns that fit into a table of this width. On a narrow screen the style sheet arranges all of them in two lines. */
function columnsThatFit<Row>(columns: readonly Column<Row>[], widthPx: number): readonly Column<Row>[] {
  if (narrowScreen.matches || widthPx === 0) return columns;
  const widthRem = widthPx / Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const needed = (those: readonly Column<Row>[]): number => those.reduce((sum, { track }) => sum + leastRem(track) + gapRem, rowPaddingRem - gapRem);
  let kept = columns;
  for (const dropped of columns.filter(({ drop }) => drop !== undefined).toSorted((a, b) => (a.drop ?? 0) - (b.drop ?? 0))) {
    if (needed(kept) <= widthRem) break;
    kept = kept.filter((column) => column !== dropped);
  }
  return kept;
}

/** A table of any length: only rows near the window are in the document. Arrow keys move from row to row. */
export function WindowedTable<Row>({ label, rows, columns: all, keyOf, hrefOf, total, more = false, loadingMore = false, onMore, toneOf }: TableProps<Row>) {
  const [table, width] = useWidth<HTMLDivElement>();
  const columns = columnsThatFit(all, width);
  const body = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ first: 0, last: 40, height: rowHeight() });
  const [current, setCurrent] = useState(0);
  const wantsFocus = useRef(false);
  // Key presses can outpace rendering, so the row they have reached is tracked separately.
  const walkedTo = useRef(0);
  const remeasure = useRef(() => {});

  useLayoutEffect(() => {
    if (scrollBackTo !== undefined && rows.length > 0) {
      scrollTo(0, scrollBackTo);
      scrolledBack();
    }
    let asked = 0;
    const measure = () => {
      asked = 0;
      const height = rowHeight();
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / height) - overscan);
      const last = Math.min(rows.length, Math.ceil((innerHeight - top) / height) + overscan);
      setRange((before) => (before.first === first && before.last === last && before.height === height ? before : { first, last, height }));
      if (more && last > rows.length - moreAhead) onMore?.();
    };
    const schedule = () => {
      asked ||= requestAnimationFrame(measure);
    };
    remeasure.current = measure;
    measure();
    addEventListener("scroll", schedule, { passive: true });
    addEventListener("resize", schedule);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener("scroll", schedule);
      removeEventListener("resize", schedule);
    };
  }, [rows, more, onMore]);

  const focusable = current >= range.first && current < range.last ? current : range.first;
  // In a layout effect: the old row may leave the document, and the focus would be lost with it.
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    const link = body.current?.querySelector<HTMLElement>(`[data-row="${current}"] a`);
    if (link === null || link === undefined) return;
    wantsFocus.current = false;
    link.focus();
  });

  const walk = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -rows.length, End: rows.length };
    const step = steps[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey || !(event.target instanceof HTMLAnchorElement)) return;
    event.preventDefault();
    const next = Math.min(rows.length - 1, Math.max(0, (wantsFocus.current ? walkedTo.current : focusable) + step));
    wantsFocus.current = true;
    walkedTo.current = next;
    setCurrent(next);
    const top = (body.current?.getBoundingClientRect().top ?? 0) + next * range.height;
    if (top < 120) scrollBy(0, top - 120);
    else if (top + range.height > innerHeight - 40) scrollBy(0, top + range.height - innerHeight + 40);
    remeasure.current();
  };

  const shown = rows.slice(range.first, range.last);
  const tracks = { "--tracks": columns.map(({ track }) => track).join(" "), "--row-height": `${range.height}px` };
  return (
    <div class="table" role="table" ref={table} aria-label={label} aria-rowcount={total === undefined ? (more ? -1 : rows.length + 1) : total + 1} style={tracks}>
      <div class="table-head" role="rowgroup">
        <div class="table-row" role="row" aria-rowindex={1}>
          {columns.map(({ heading, align }) => (
            <div key={heading} role="columnheader" class={align === "end" ? "end" : undefined}>
              {heading}
            </div>
          ))}
        </div>
      </div>
      <div class="table-body" role="rowgroup" ref={body} onKeyDown={walk} style={{ paddingTop: `${range.first * range.height}px`, height: `${rows.length * range.height}px` }}>
        {shown.map((row, offset) => {
          const index = range.first + offset;
          const href = hrefOf?.(row);
          return (
            <div key={keyOf(row)} class="table-row" role="row" aria-rowindex={index + 2} data-row={index} data-tone={toneOf?.(row)}>
              {columns.map(({ heading, cell, align, narrow, labelled = false }, column) => (
                <div key={heading} role="cell" class={align === "end" ? "end" : undefined} data-narrow={narrow}>
                  {labelled && <span class="narrow-label">{heading} </span>}
                  {column === 0 && href !== undefined ? (
                    <a class="row-link" href={href} tabIndex={index === focusable ? 0 : -1} onFocus={() => setCurrent(index)}>
                      {cell(row)}
                    </a>
                  ) : (
                    cell(row)
                  )}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {loadingMore && (
        <p class="table-more" role="status">
          Reading more…
        </p>
      )}
    </div>
  );
}
