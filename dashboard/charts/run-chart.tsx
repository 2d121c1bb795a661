import type { RunDetail } from "../../src/surfaces/dashboard/api.ts";
import { serverNowMs } from "../data/server-clock.ts";
import { durationText, formatExact, plural } from "../parts/format.ts";
import { Name } from "../parts/stored-text.tsx";
import { plain } from "../parts/unseen.ts";
import { useWidth } from "../parts/use-width.ts";
import { ChartFigure } from "./chart-figure.tsx";
import { linear, seriesOf } from "./scale.ts";

type Happening = RunDetail["timeline"][number];
interface Holding {
  readonly agent: string;
  readonly fromMs: number;
  untilMs?: number;
  ended?: Happening["what"];
}

const laneHeight = 30;
const axisHeight = 22;
const starts: readonly Happening["what"][] = ["claimed", "taken over"];
const ends: readonly Happening["what"][] = ["lapsed", "returned", "done", "failed", "cancelled"];

/** Who held the run from when to when, derived from the timeline. */
export function holdingsOf(timeline: RunDetail["timeline"]): readonly Holding[] {
  const holdings: Holding[] = [];
  let open: Holding | undefined;
  for (const { what, atMs, agent, writer } of timeline) {
    const who = agent ?? writer;
    if (starts.includes(what)) {
      // A holder that claims again extends its claim.
      if (open?.agent === who) continue;
      if (open !== undefined) Object.assign(open, { untilMs: atMs, ended: what });
      open = { agent: who, fromMs: atMs };
      holdings.push(open);
    } else if (ends.includes(what) && open !== undefined) {
      Object.assign(open, { untilMs: atMs, ended: what });
      open = undefined;
    }
  }
  return holdings;
}

/** A lane for each agent that held the run, with a tick for every step it reported. A take-over shows as one lane ending and another beginning. */
export function RunChart({ timeline, finished }: { readonly timeline: RunDetail["timeline"]; readonly finished: boolean }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const holdings = holdingsOf(timeline);
  const steps = timeline.filter(({ what }) => what === "step");
  const agents = [...new Set([...holdings.map(({ agent }) => agent), ...steps.map(({ agent, writer }) => agent ?? writer)])];
  const firstMs = timeline[0]?.atMs ?? 0;
  const lastMs = finished ? (timeline.at(-1)?.atMs ?? firstMs) : Math.max(serverNowMs(), timeline.at(-1)?.atMs ?? 0);
  if (agents.length === 0) return null;
  const height = agents.length * laneHeight + axisHeight;
  const x = linear(firstMs, Math.max(lastMs, firstMs + 1), 4, width - 4);
  const takeOvers = Math.max(0, holdings.length - 1);
  const summary = `${plural(agents.length, "agent")} worked on the run over ${durationText(lastMs - firstMs)}: ${plural(steps.length, "step")}, ${plural(takeOvers, "take-over")}.`;
  return (
    <ChartFigure
      summary={summary}
      note={summary}
      headings={["Agent", "From", "Until", "How it ended"]}
      rows={holdings.map(({ agent, fromMs, untilMs, ended }) => [
        <Name key="agent" text={agent} mono={false} />,
        formatExact(fromMs),
        untilMs === undefined ? "still" : formatExact(untilMs),
        ended ?? "still working",
      ])}
    >
      <div class="lanes">
        <div class="lane-names tall" aria-hidden="true">
          {agents.map((agent) => (
            <div key={agent} class="lane-name">
              <Name text={agent} mono={false} />
            </div>
          ))}
        </div>
        <div ref={box} class="chart-box" style={{ height: `${height}px` }}>
          {width > 0 && (
            <svg width={width} height={height} role="img" aria-label={summary}>
              {agents.map((agent, lane) => (
                <line key={agent} class="lane-line" x1={0} x2={width} y1={(lane + 1) * laneHeight} y2={(lane + 1) * laneHeight} />
              ))}
              {holdings.map(({ agent, fromMs, untilMs, ended }, index) => {
                const top = agents.indexOf(agent) * laneHeight;
                const left = x(fromMs);
                const right = x(untilMs ?? lastMs);
                const before = holdings[index - 1];
                return (
                  <g key={fromMs} class={`span series-${seriesOf(agent)}${untilMs === undefined ? " open" : ""}`}>
                    {before !== undefined && (
                      <path class="hand-over" d={`M${x(before.untilMs ?? fromMs)} ${agents.indexOf(before.agent) * laneHeight + laneHeight / 2}L${left} ${top + laneHeight / 2}`} />
                    )}
                    <rect x={left} y={top + 6} width={Math.max(3, right - left)} height={laneHeight - 12} rx={4}>
                      <title>{`${plain(agent)}: ${formatExact(fromMs)}, ${durationText((untilMs ?? lastMs) - fromMs)}, ${ended ?? "still working"}`}</title>
                    </rect>
                  </g>
                );
              })}
              {steps.map(({ atMs, step, agent, writer, revision }) => {
                const top = agents.indexOf(agent ?? writer) * laneHeight;
                return (
                  <circle key={revision} class="step-mark" cx={x(atMs)} cy={top + laneHeight / 2} r={3.2}>
                    <title>{`Step ${step}: ${formatExact(atMs)}`}</title>
                  </circle>
                );
              })}
              <text class="axis" x={0} y={height - 5}>
                created
              </text>
              <text class="axis end" x={width} y={height - 5}>
                {finished ? "ended" : "now"} · {durationText(lastMs - firstMs)}
              </text>
            </svg>
          )}
        </div>
      </div>
    </ChartFigure>
  );
}
