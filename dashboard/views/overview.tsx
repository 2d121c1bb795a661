import { useState } from "preact/hooks";
import type { Overview } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { CommitsChart } from "../charts/commits-chart.tsx";
import { DurationsChart, DurationsLegend } from "../charts/durations-chart.tsx";
import { OccupancyChart, OccupancyLegend } from "../charts/occupancy-chart.tsx";
import { rangeWords, stepWords } from "../charts/range-words.ts";
import { queryText } from "../data/api-client.ts";
import { activityKey } from "../data/live.ts";
import { noteServerTime } from "../data/server-clock.ts";
import { useFeed } from "../data/use-feed.ts";
import { useQuery } from "../data/use-query.ts";
import { ActivityLine, Via } from "../parts/activity-line.tsx";
import { formatNumber, formatShort, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { SelectFilter } from "../parts/select-filter.tsx";
import { AnswerPanel, Empty, Loading } from "../parts/state-panels.tsx";
import { Name, visibleText } from "../parts/stored-text.tsx";
import { Ago } from "../parts/time.tsx";
import { plain } from "../parts/unseen.ts";
import type { NamespaceView } from "../router.ts";
import { hrefOf, refine, route } from "../router.ts";
import { useView } from "../view-context.ts";
import { ConnectAgent, NotThereYet } from "./connect-agent.tsx";
import { ResolveDialog } from "./effect-detail.tsx";
import { ReleaseDialog } from "./leases.tsx";
import { CancelDialog } from "./run-detail.tsx";

const feedSize = 10;
const ranges = [
  ["15m", "15 minutes"],
  ["", "1 hour"],
  ["6h", "6 hours"],
  ["24h", "24 hours"],
  ["7d", "7 days"],
] as const;

export function OverviewView() {
  const { api, namespace } = useView();
  const { query: address } = useCell(route);
  const range = address.get("range") ?? "";
  const query = useQuery<Overview>(`${api}/overview${queryText({ range })}`, () => true, 5_000);
  if (query.data !== undefined) noteServerTime(query.data.nowMs);
  return (
    <>
      <PageHead title="Overview" lead="Who holds what, what waits, what is stuck, and what changed just now." />
      <AnswerPanel query={query} what="the overview" lines={10}>
        {(overview) => (
          <>
            {overview.revision === 0 && <FirstRun />}
            <Attention overview={overview} namespace={namespace} />
            <Counts overview={overview} namespace={namespace} />
            <form class="filters" onSubmit={(event) => event.preventDefault()}>
              <SelectFilter label="Time range of the charts" options={ranges} value={range} onChange={(value) => refine({ range: value })} />
            </form>
            <div class="grid">
              <Panel title={`Commits per ${stepWords(overview.rangeMs)}`} class="half" aside="atomic changes">
                <CommitsChart {...overview.commitsPerMinute} rangeMs={overview.rangeMs} namespace={namespace} />
              </Panel>
              <Panel title="Run durations" class="half" aside={overview.runDurations.length > 0 && <DurationsLegend />}>
                {overview.runDurations.length === 0 ? (
                  <Empty title={`No run ended in the last ${rangeWords(overview.rangeMs)}`}>Each run that ends appears here, with its end time and duration.</Empty>
                ) : (
                  <DurationsChart overview={overview} namespace={namespace} />
                )}
              </Panel>
              <Panel title="Lease occupancy" class="whole" aside={<OccupancyLegend namespace={namespace} />}>
                {overview.leaseOccupancy.length === 0 ? (
                  <Empty title={`Nothing was held in the last ${rangeWords(overview.rangeMs)}`}>
                    When agents hold leases or claim runs, this chart shows who held what and for how long.
                  </Empty>
                ) : (
                  <OccupancyChart overview={overview} namespace={namespace} />
                )}
              </Panel>
              <Panel title="Fleet" class="half" aside={overview.agents.length > 0 && `${overview.agentsMore ? "the last " : ""}${plural(overview.agents.length, "agent")}`}>
                <Fleet agents={overview.agents} namespace={namespace} />
              </Panel>
              <Panel title="Just now" class="half" aside={<a href={hrefOf(namespace, "activity")}>All activity</a>}>
                <Feed />
              </Panel>
            </div>
          </>
        )}
      </AnswerPanel>
    </>
  );
}

function Counts({ overview: { counts, failedRuns }, namespace }: { readonly overview: Overview; readonly namespace: string }) {
  const runs = [
    ...(counts.runsHeld === 0 ? [] : [`${formatShort(counts.runsHeld)} at work`]),
    ...(counts.runsWaiting === 0 ? [] : [`${formatShort(counts.runsWaiting)} waiting`]),
    ...(failedRuns.count === 0 ? [] : [counts.runs > failedRuns.of ? `${failedRuns.count} of the last ${failedRuns.of} failed` : `${failedRuns.count} failed`]),
  ];
  const tiles: readonly (readonly [string, number, NamespaceView, string | undefined])[] = [
    ["Runs", counts.runs, "runs", runs.join(" · ")],
    ["Leases held", counts.leases, "leases", counts.waiting === 0 ? "none waiting" : `${formatNumber(counts.waiting)} waiting`],
    ["Keys", counts.keys, "keys", undefined],
    ["Journal", counts.journal, "journal", undefined],
    ["Notes", counts.notes, "knowledge", undefined],
    ["Research", counts.research, "research", undefined],
  ];
  return (
    <ul class="tiles">
      {tiles.map(([name, count, view, detail]) => (
        <li key={name}>
          <a class="tile" href={hrefOf(namespace, view)}>
            <span class="tile-name">{name}</span>
            <span class="tile-count">{formatShort(count)}</span>
            <span class="tile-detail">{detail}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Nothing was ever written: the only thing to do is to connect an agent. */
function FirstRun() {
  return (
    <Panel title="Connect your first agent" class="attention">
      <NotThereYet />
      <ConnectAgent />
      <p class="muted" role="status">
        Waiting for the first agent…
      </p>
    </Panel>
  );
}

type StuckItem = Overview["stuck"][number];

/** What a person does about each, and the view that shows it. */
const stuckVerbs: Record<StuckItem["kind"], string> = { run: "Cancel", lease: "Release", effect: "Resolve" };
const stuckIcons = { run: "runs", lease: "leases", effect: "effects" } as const satisfies Record<StuckItem["kind"], NamespaceView>;

function Attention({ overview: { stuck, health }, namespace }: { readonly overview: Overview; readonly namespace: string }) {
  const { canWrite } = useView();
  const [acting, setActing] = useState<StuckItem>();
  const unknown = stuck.filter(({ kind }) => kind === "effect").length;
  if (stuck.length === 0 && health.warnings.length === 0 && health.status === "ok")
    return (
      <p class="calm">
        <Icon name="check" /> Nothing is stuck.
      </p>
    );
  return (
    <Panel
      title="Needs a look"
      class="attention"
      aside={unknown > 0 && <a href={hrefOf(namespace, "effects", undefined, { state: "unknown" })}>{plural(unknown, "unknown effect")}</a>}
    >
      <ul class="list">
        {health.status !== "ok" && (
          <li>
            <Icon name="warning" />
            <span>
              <a href={hrefOf(namespace, "health")}>The store</a> reports an error.
            </span>
          </li>
        )}
        {health.warnings.map(({ about, says }) => (
          <li key={`${about} ${says}`}>
            <Icon name="warning" />
            <span>
              <a href={hrefOf(namespace, "health")}>{about}</a>: {says}
            </span>
          </li>
        ))}
        {stuck.map((item) => {
          const { kind, id, title, why, sinceMs } = item;
          const verb = stuckVerbs[kind];
          return (
            <li key={`${kind} ${id}`}>
              <Icon name={stuckIcons[kind]} />
              <span class="grow">
                <a href={kind === "lease" ? hrefOf(namespace, "leases", undefined, { resource: id }) : hrefOf(namespace, stuckIcons[kind], id)}>
                  <Name text={title ?? id} mono={title === undefined} />
                </a>{" "}
                <bdi class="muted">{visibleText(why)}</bdi>
              </span>
              <Ago at={sinceMs} />
              {canWrite && (
                <button type="button" class="button small" aria-label={`${verb} ${plain(title ?? id)}`} onClick={() => setActing(item)}>
                  {verb}
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {acting?.kind === "run" && (
        <CancelDialog run={{ runId: acting.id, name: acting.title ?? acting.id, status: "created", token: acting.token }} onClose={() => setActing(undefined)} />
      )}
      {acting?.kind === "effect" && acting.token !== undefined && (
        <ResolveDialog effect={{ id: acting.id, token: acting.token, name: acting.title, tool: acting.id }} onClose={() => setActing(undefined)} />
      )}
      {acting?.lease !== undefined && <ReleaseDialog lease={acting.lease} onClose={() => setActing(undefined)} />}
    </Panel>
  );
}

function Fleet({ agents, namespace }: { readonly agents: Overview["agents"]; readonly namespace: string }) {
  if (agents.length === 0)
    return (
      <Empty title="No agents yet">
        Agents appear as soon as they write. <a href={hrefOf(namespace, "health")}>Health</a> shows how to connect one.
      </Empty>
    );
  return (
    <ul class="list fleet">
      {agents.map(({ agent, writer, lastAtMs, lastDid, holds }) => (
        <li key={`${agent} ${writer}`}>
          <span class="grow">
            <a href={hrefOf(namespace, "activity", undefined, { who: agent })}>
              <Name text={agent} mono={false} />
            </a>
            {writer !== agent && (
              <>
                {" "}
                <Via writer={writer} />
              </>
            )}
            <span class="did muted">
              <bdi>{visibleText(lastDid)}</bdi>
            </span>
          </span>
          {holds > 0 && <span class="badge live">holds {holds}</span>}
          <Ago at={lastAtMs} />
        </li>
      ))}
    </ul>
  );
}

function Feed() {
  const { api, namespace } = useView();
  const items = useFeed(api, feedSize);
  if (items === undefined) return <Loading what="the newest changes" lines={5} />;
  if (items.length === 0) return <Empty title="Nothing has happened yet">The first change by any agent appears here within a second.</Empty>;
  return (
    <ul class="feed" aria-label="Newest changes">
      {items.map((item) => (
        <ActivityLine key={activityKey(item)} item={item} namespace={namespace} />
      ))}
    </ul>
  );
}
