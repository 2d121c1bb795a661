import { useState } from "preact/hooks";
import type { Overview } from "../../src/surfaces/dashboard/api.ts";
import { formatClock, formatClockSeconds, formatDay, formatNumber, formatShort, plural } from "../parts/format.ts";
import { Empty } from "../parts/state-panels.tsx";
import { useWidth } from "../parts/use-width.ts";
import { hrefOf, navigate } from "../router.ts";
import { ChartFigure } from "./chart-figure.tsx";
import { formatMoment, rangeWords, stepWords } from "./range-words.ts";
import { linear, niceCeiling, quantile } from "./scale.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const height = 148;
const margin = { top: 14, right: 2, bottom: 20, left: 34 };
/** A bar is cut if it is this many times as high as three quarters of all bars. */
const cutFrom = 8;
const barsToCompare = 8;

/** One bar for each step of the range; the current step is paler. */
export function CommitsChart({ minutes, complete, rangeMs, namespace }: Overview["commitsPerMinute"] & { readonly rangeMs: number; readonly namespace: string }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const [pointed, setPointed] = useState<number>();
  const named = (atMs: number): string => (rangeMs > dayMs ? `${formatDay(atMs)}, ${formatClock(atMs)}` : rangeMs < hourMs ? formatClockSeconds(atMs) : formatClock(atMs));
  const total = minutes.reduce((sum, { commits }) => sum + commits, 0);
  const counts = minutes.flatMap(({ commits }) => (commits > 0 ? [commits] : [])).toSorted((a, b) => a - b);
  const usual = quantile(counts, 0.75);
  const most = counts.at(-1) ?? 0;
  // A single burst would flatten all other bars, so its bar is cut at the top, with its number above.
  const top = niceCeiling(Math.max(most > cutFrom * usual && counts.length >= barsToCompare ? 2 * usual : most, 4));
  const y = linear(0, top, height - margin.bottom, margin.top);
  const step = (width - margin.left - margin.right) / Math.max(1, minutes.length);
  const bar = Math.max(1, Math.min(step - 1.5, 14));
  const x = (index: number): number => margin.left + index * step + (step - bar) / 2;
  const activityHref = (through: number): string => hrefOf(namespace, "activity", undefined, { through: String(through) });
  const shown = pointed === undefined ? undefined : minutes[pointed];
  const busiest = minutes.reduce<(typeof minutes)[number] | undefined>((best, each) => (best === undefined || each.commits > best.commits ? each : best), undefined);
  const summary =
    total === 0
      ? `No commits in the last ${rangeWords(rangeMs)}.`
      : `${plural(total, "commit")} in the last ${rangeWords(rangeMs)}; the busiest ${stepWords(rangeMs)} was ${named(busiest?.atMs ?? 0)} with ${formatNumber(busiest?.commits ?? 0)}.`;
  const point = (event: PointerEvent & { readonly currentTarget: SVGSVGElement }) => {
    const index = Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left - margin.left) / step);
    setPointed(index >= 0 && index < minutes.length ? index : undefined);
  };
  if (total === 0 && complete)
    return <Empty title={summary.slice(0, -1)}>A commit is one change that takes effect as a whole: a key set, a lease acquired, a step reported, several keys at once.</Empty>;
  return (
    <ChartFigure
      summary={summary}
      note={
        shown === undefined
          ? `${plural(total, "commit")} in ${rangeWords(rangeMs)}${complete ? "" : "; history does not reach further back, or there was too much to count"}`
          : `${named(shown.atMs)} — ${plural(shown.commits, "commit")}`
      }
      headings={["From", "Commits"]}
      rows={minutes
        .filter(({ commits }) => commits > 0)
        .map(({ atMs, commits, through }) => [
          <a key="from" href={activityHref(through)}>
            {named(atMs)}
          </a>,
          formatNumber(commits),
        ])}
    >
      <div ref={box} class="chart-box" style={{ height: `${height}px` }}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={summary} onPointerMove={point} onPointerLeave={() => setPointed(undefined)}>
            {[0, top / 2, top].map((value) => (
              <g key={value}>
                <line class="grid-line" x1={margin.left} x2={width - margin.right} y1={y(value)} y2={y(value)} />
                {(value !== top / 2 || Number.isInteger(value)) && (
                  <text class="axis end" x={margin.left - 6} y={y(value) + 4}>
                    {formatShort(value)}
                  </text>
                )}
              </g>
            ))}
            {minutes.map(({ atMs, commits, through }, index) => (
              // biome-ignore lint/a11y/noStaticElementInteractions: keyboard users reach the same through the table below.
              <rect
                key={atMs}
                onClick={() => commits > 0 && navigate(activityHref(through))}
                class={`bar-mark${index === minutes.length - 1 ? " partial" : ""}${index === pointed ? " pointed" : ""}`}
                x={x(index)}
                width={bar}
                y={commits === 0 ? y(0) - 1 : Math.min(y(Math.min(top, commits)), y(0) - 2)}
                height={commits === 0 ? 1 : Math.max(2, y(0) - y(Math.min(top, commits)))}
                rx={Math.min(2, bar / 2)}
                data-zero={commits === 0}
              />
            ))}
            {minutes.map(({ atMs, commits }, index) =>
              commits > top ? (
                <text key={atMs} class="bar-over" x={x(index) + bar / 2} y={margin.top - 4}>
                  {formatShort(commits)}
                </text>
              ) : null,
            )}
            {[0, 15, 30, 45].map((index) => {
              const minute = minutes[index];
              return (
                minute !== undefined && (
                  <text key={index} class="axis" x={margin.left + index * step} y={height - 5}>
                    {formatMoment(minute.atMs, rangeMs)}
                  </text>
                )
              );
            })}
            <text class="axis end" x={width - margin.right} y={height - 5}>
              now
            </text>
          </svg>
        )}
      </div>
    </ChartFigure>
  );
}
