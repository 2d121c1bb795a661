import { useState } from "preact/hooks";
import type { Overview } from "../../src/surfaces/dashboard/api.ts";
import { formatClock, formatClockSeconds, formatDay, formatNumber, formatShort, plural } from "../parts/format.ts";
import { useWidth } from "../parts/use-width.ts";
import { hrefOf, navigate } from "../router.ts";
import { ChartFigure } from "./chart-figure.tsx";
import { formatMoment, rangeWords, stepWords } from "./range-words.ts";
import { linear, niceCeiling } from "./scale.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const height = 148;
const margin = { top: 8, right: 2, bottom: 20, left: 34 };

/** One bar for each step of the range, the one that is still running paler. */
export function CommitsChart({ minutes, complete, rangeMs, namespace }: Overview["commitsPerMinute"] & { readonly rangeMs: number; readonly namespace: string }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const [pointed, setPointed] = useState<number>();
  const named = (atMs: number): string => (rangeMs > dayMs ? `${formatDay(atMs)}, ${formatClock(atMs)}` : rangeMs < hourMs ? formatClockSeconds(atMs) : formatClock(atMs));
  const total = minutes.reduce((sum, { commits }) => sum + commits, 0);
  const top = niceCeiling(Math.max(...minutes.map(({ commits }) => commits), 4));
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
              // biome-ignore lint/a11y/noStaticElementInteractions: by keyboard the same is reached through the table below.
              <rect
                key={atMs}
                onClick={() => commits > 0 && navigate(activityHref(through))}
                class={`bar-mark${index === minutes.length - 1 ? " partial" : ""}${index === pointed ? " pointed" : ""}`}
                x={x(index)}
                width={bar}
                y={commits === 0 ? y(0) - 1 : Math.min(y(commits), y(0) - 2)}
                height={commits === 0 ? 1 : Math.max(2, y(0) - y(commits))}
                rx={Math.min(2, bar / 2)}
                data-zero={commits === 0}
              />
            ))}
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
