import { useState } from "preact/hooks";
import type { Overview } from "../../src/surfaces/dashboard/api.ts";
import { statusTone } from "../parts/badge.tsx";
import { durationText, formatExact, plural } from "../parts/format.ts";
import { Name } from "../parts/stored-text.tsx";
import { plain } from "../parts/unseen.ts";
import { useWidth } from "../parts/use-width.ts";
import { hrefOf, navigate } from "../router.ts";
import { ChartFigure } from "./chart-figure.tsx";
import { formatMoment } from "./range-words.ts";
import { linear, quantile } from "./scale.ts";

const height = 148;
const margin = { top: 10, right: 8, bottom: 20, left: 46 };
const ticksMs = [1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000];

/** A mark for each run that ended: x is when it ended, y how long it took (logarithmic: each line is several times the one below). */
export function DurationsChart({ overview: { runDurations: runs, nowMs, rangeMs }, namespace }: { readonly overview: Overview; readonly namespace: string }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const [pointed, setPointed] = useState<string>();
  const marks = runs.map((run) => ({ ...run, tookMs: Math.max(1, run.endedAtMs - run.startedAtMs) }));
  const sorted = marks.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const median = quantile(sorted, 0.5);
  const slow = quantile(sorted, 0.95);
  const low = ticksMs.findLast((tick) => tick <= (sorted[0] ?? 1)) ?? 1;
  const high = ticksMs.find((tick) => tick >= (sorted.at(-1) ?? 1) && tick > low) ?? sorted.at(-1) ?? 1;
  const y = (ms: number): number => linear(Math.log(low), Math.log(high), height - margin.bottom, margin.top)(Math.log(ms));
  // The same span as the other charts of the page.
  const firstMs = nowMs - rangeMs;
  const x = linear(firstMs, nowMs, margin.left + 6, width - margin.right - 6);
  const failed = marks.filter(({ status }) => status === "failed").length;
  const shown = marks.find(({ runId }) => runId === pointed);
  const summary = `The last ${plural(marks.length, "run")} that ended took ${durationText(median)} in the middle; 95 of 100 took no more than ${durationText(slow)}. ${failed === 0 ? "None" : plural(failed, "run")} failed.`;
  return (
    <ChartFigure
      summary={summary}
      note={
        shown === undefined
          ? `median ${durationText(median)}, 95 % within ${durationText(slow)}`
          : `${plain(shown.name)}: ${shown.status} after ${durationText(shown.tookMs)}, ${formatExact(shown.endedAtMs)}`
      }
      headings={["Run", "Name", "Status", "Took"]}
      rows={marks.map(({ runId, name, status, tookMs }) => [
        <a key="run" href={hrefOf(namespace, "runs", runId)}>
          <Name text={runId} />
        </a>,
        <Name key="name" text={name} mono={false} />,
        status,
        durationText(tookMs),
      ])}
    >
      <div ref={box} class="chart-box" style={{ height: `${height}px` }}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={summary}>
            {ticksMs
              .filter((tick) => tick >= low && tick <= high)
              .map((tick) => (
                <g key={tick}>
                  <line class="grid-line" x1={margin.left} x2={width - margin.right} y1={y(tick)} y2={y(tick)} />
                  <text class="axis end" x={margin.left - 6} y={y(tick) + 4}>
                    {durationText(tick)}
                  </text>
                </g>
              ))}
            <line class="median" x1={margin.left} x2={width - margin.right} y1={y(median)} y2={y(median)} />
            {marks.map(({ runId, status, tookMs, endedAtMs }) => (
              // biome-ignore lint/a11y/noStaticElementInteractions: keyboard users reach the runs through the table below.
              <circle
                key={runId}
                class={`run-mark ${statusTone(status)}`}
                cx={x(endedAtMs)}
                cy={y(tookMs)}
                r={runId === pointed ? 5 : 3.6}
                onPointerEnter={() => setPointed(runId)}
                onPointerLeave={() => setPointed(undefined)}
                onClick={() => navigate(hrefOf(namespace, "runs", runId))}
              />
            ))}
            <text class="axis" x={margin.left} y={height - 5}>
              {formatMoment(firstMs, rangeMs)}
            </text>
            <text class="axis end" x={width - margin.right} y={height - 5}>
              now
            </text>
          </svg>
        )}
      </div>
    </ChartFigure>
  );
}

export function DurationsLegend() {
  return (
    <span class="legend">
      <span class="dot good" /> done <span class="dot bad" /> failed <span class="dot off" /> cancelled
    </span>
  );
}
