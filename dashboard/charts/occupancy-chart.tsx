import type { Overview } from "../../src/surfaces/dashboard/api.ts";
import { serverNowMs } from "../data/server-clock.ts";
import { durationText, formatClock, formatNumber, plural } from "../parts/format.ts";
import { Name } from "../parts/stored-text.tsx";
import { useTicking } from "../parts/time.tsx";
import { plain } from "../parts/unseen.ts";
import { useWidth } from "../parts/use-width.ts";
import { hrefOf, navigate } from "../router.ts";
import { subjectHref } from "../subject-href.ts";
import { ChartFigure } from "./chart-figure.tsx";
import { formatMoment, rangeWords } from "./range-words.ts";
import { linear, seriesOf } from "./scale.ts";

const laneHeight = 26;
const axisHeight = 20;
const lanesMax = 10;

const characterPixels = 7;
const fitting = (text: string, room: number): string =>
  text.length * characterPixels > room - 12 ? `${text.slice(0, Math.max(1, Math.floor((room - 18) / characterPixels)))}…` : text;

type Lane = Overview["leaseOccupancy"][number];

/** A claim's lane links to its run, any other lane to its lease. */
const laneHref = (namespace: string, resource: string): string => subjectHref(namespace, { kind: "lease", subject: resource }) ?? "";

const LaneName = ({ lane: { resource, title } }: { readonly lane: Lane }) =>
  title === undefined ? (
    <Name text={resource} />
  ) : (
    <>
      <span class="muted">run </span>
      <Name text={title} mono={false} />
    </>
  );

export function OccupancyLegend({ namespace }: { readonly namespace: string }) {
  return (
    <>
      <span class="legend">
        one colour per holder
        <span class="dot held" /> held now <span class="dot given-back" /> released or lapsed
      </span>{" "}
      <a href={hrefOf(namespace, "leases")}>All leases</a>
    </>
  );
}

/** A lane for each resource: who held it when, over the range. A bar that reaches the right edge is held now. */
export function OccupancyChart({ overview, namespace }: { readonly overview: Overview; readonly namespace: string }) {
  const { leaseOccupancy: lanes, leaseOccupancyOf: all, leaseOccupancyComplete: complete = true, leaseOccupancySinceMs: knownMs, rangeMs } = overview;
  const [box, width] = useWidth<HTMLDivElement>();
  // Re-rendered as time passes; a pixel is about ten seconds.
  useTicking(() => String(Math.floor(serverNowMs() / 10_000)));
  const nowMs = serverNowMs();
  const fromMs = nowMs - rangeMs;
  // In the server's order: leases before claims of runs, of which there may be hundreds; most recently held first.
  const shown = lanes.slice(0, lanesMax);
  const height = shown.length * laneHeight + axisHeight;
  const x = linear(fromMs, nowMs, 0, width);
  const inAll = `${complete ? "" : "at least "}${plural(all.resources, "resource")}`;
  const summary = `${complete ? "" : "At least "}${plural(all.resources, "resource")} held in the last ${rangeMs === 3_600_000 ? "hour" : rangeWords(rangeMs)}, ${all.heldNow === 0 ? "none" : formatNumber(all.heldNow)} of them now.`;
  const notes = [
    ...(all.resources > shown.length ? [`${shown.length} of ${inAll} shown${lanes.length > shown.length ? `, ${lanes.length} in the table` : ""}`] : []),
    ...(knownMs === undefined
      ? complete
        ? []
        : ["more leases are held than were examined"]
      : [`who held what before ${formatMoment(knownMs, rangeMs)} was not looked up (hatched)`]),
  ];
  return (
    <ChartFigure
      summary={summary}
      note={notes.length === 0 ? undefined : notes.join("; ")}
      headings={["Resource", "Holder", "From", "Until", "Held for"]}
      rows={lanes.flatMap((lane) =>
        lane.spans.map(({ holder, fromMs: start, untilMs }) => [
          <a key="resource" href={laneHref(namespace, lane.resource)}>
            <LaneName lane={lane} />
          </a>,
          <Name key="holder" text={holder} mono={false} />,
          formatClock(start),
          untilMs === undefined ? "still held" : formatClock(untilMs),
          durationText((untilMs ?? nowMs) - start),
        ]),
      )}
    >
      <div class="lanes">
        <div class="lane-names" aria-hidden="true">
          {shown.map((lane) => (
            <div key={lane.resource} class="lane-name">
              <LaneName lane={lane} />
            </div>
          ))}
        </div>
        <div ref={box} class="chart-box" style={{ height: `${height}px` }}>
          {width > 0 && (
            <svg width={width} height={height} role="img" aria-label={summary}>
              {[0, 1, 2, 3, 4].map((quarter) => {
                const at = x(fromMs + (quarter * rangeMs) / 4);
                return <line key={quarter} class="grid-line" x1={at} x2={at} y1={0} y2={height - axisHeight} />;
              })}
              {knownMs !== undefined && x(knownMs) > 0 && (
                <>
                  <pattern id="not-looked-up" width={8} height={8} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                    <line class="hatch" x1={0} x2={0} y1={0} y2={8} />
                  </pattern>
                  <rect class="not-looked-up" fill="url(#not-looked-up)" x={0} y={0} width={x(knownMs)} height={height - axisHeight} />
                </>
              )}
              {shown.map(({ resource, spans }, lane) => (
                <g key={resource}>
                  <line class="lane-line" x1={0} x2={width} y1={(lane + 1) * laneHeight} y2={(lane + 1) * laneHeight} />
                  {spans.map(({ holder, fromMs: start, untilMs }) => {
                    const left = Math.max(0, x(start));
                    const right = Math.min(width, untilMs === undefined ? width : x(untilMs));
                    if (right < 0) return null;
                    const room = right - left;
                    return (
                      <g key={`${holder} ${start}`} class={`span series-${seriesOf(holder)}${untilMs === undefined ? " open" : ""}`}>
                        {/* biome-ignore lint/a11y/noStaticElementInteractions: keyboard users reach the same through the table below. */}
                        <rect onClick={() => navigate(laneHref(namespace, resource))} x={left} y={lane * laneHeight + 4} width={Math.max(2, room)} height={laneHeight - 8} rx={3}>
                          <title>{`${plain(holder)}: ${formatClock(start)} to ${untilMs === undefined ? "now" : formatClock(untilMs)}, ${durationText((untilMs ?? nowMs) - start)}`}</title>
                        </rect>
                        {room > 46 && (
                          <text class="span-name" x={left + 6} y={lane * laneHeight + laneHeight / 2 + 4}>
                            {fitting(plain(holder), room)}
                          </text>
                        )}
                      </g>
                    );
                  })}
                </g>
              ))}
              <text class="axis" x={0} y={height - 4}>
                {durationText(rangeMs)} ago
              </text>
              <text class="axis middle" x={width / 2} y={height - 4}>
                {durationText(rangeMs / 2)}
              </text>
              <text class="axis end" x={width} y={height - 4}>
                now
              </text>
            </svg>
          )}
        </div>
      </div>
    </ChartFigure>
  );
}
