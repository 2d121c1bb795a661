import type { Overview, RunStatusName } from "../../src/surfaces/dashboard/api.ts";
import { CommitsChart } from "../charts/commits-chart.tsx";
import { DurationsChart, DurationsLegend } from "../charts/durations-chart.tsx";
import { OccupancyChart } from "../charts/occupancy-chart.tsx";
import { activityKey } from "../data/live.ts";
import { noteServerTime } from "../data/server-clock.ts";
import { useFeed } from "../data/use-feed.ts";
import { useQuery } from "../data/use-query.ts";
import { ActivityLine } from "../parts/activity-line.tsx";
import { formatNumber, formatShort, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { Answer, Empty, Loading } from "../parts/state-panels.tsx";
import { Name, visible } from "../parts/stored-text.tsx";
import { Ago } from "../parts/time.tsx";
import type { NamespaceView } from "../router.ts";
import { hrefOf } from "../router.ts";
import { useView } from "../view-context.ts";

const feedSize = 10;

export function OverviewView() {
  const { api, namespace } = useView();
  const query = useQuery<Overview>(`${api}/overview`, () => true, 5_000);
  if (query.data !== undefined) noteServerTime(query.data.nowMs);
  return (
    <>
      <PageHead title="Overview" lead="Who holds what, what waits, what is stuck, and what changed just now." />
      <Answer query={query} what="the overview" lines={10}>
        {(overview) => (
          <>
            <Counts overview={overview} namespace={namespace} />
            <Attention overview={overview} namespace={namespace} />
            <div class="grid">
              <Panel title="Commits per minute" class="half">
                <CommitsChart {...overview.commitsPerMinute} />
              </Panel>
              <Panel title="Run durations" class="half" aside={overview.runDurations.length > 0 && <DurationsLegend />}>
                {overview.runDurations.length === 0 ? (
                  <Empty title="No run has ended yet">Each run that ends is drawn here: when it ended, and how long it took.</Empty>
                ) : (
                  <DurationsChart runs={overview.runDurations} namespace={namespace} />
                )}
              </Panel>
              <Panel title="Lease occupancy" class="whole" aside={<a href={hrefOf(namespace, "leases")}>All leases</a>}>
                {overview.leaseOccupancy.length === 0 ? (
                  <Empty title="Nothing was held in the last hour">When agents hold leases or claim runs, this shows who had what and for how long.</Empty>
                ) : (
                  <OccupancyChart overview={overview} />
                )}
              </Panel>
              <Panel title="Fleet" class="half" aside={overview.agents.length > 0 && plural(overview.agents.length, "agent")}>
                <Fleet agents={overview.agents} namespace={namespace} />
              </Panel>
              <Panel title="Just now" class="half" aside={<a href={hrefOf(namespace, "activity")}>All activity</a>}>
                <Feed />
              </Panel>
            </div>
          </>
        )}
      </Answer>
    </>
  );
}

const statuses: readonly (readonly [string, readonly RunStatusName[]])[] = [
  ["at work", ["claimed", "running"]],
  ["waiting", ["created"]],
  ["failed", ["failed"]],
];

function Counts({ overview: { counts, runsByStatus }, namespace }: { readonly overview: Overview; readonly namespace: string }) {
  const { byStatus } = runsByStatus;
  const runs = statuses.map(([word, those]) => [word, those.reduce((sum, status) => sum + byStatus[status], 0)] as const);
  const tiles: readonly (readonly [string, number, NamespaceView, string | undefined])[] = [
    ["Runs", counts.runs, "runs", runs.flatMap(([word, count]) => (count === 0 ? [] : `${formatShort(count)} ${word}`)).join(" · ")],
    ["Leases held", counts.leases, "leases", counts.waiting === 0 ? "nobody waits" : `${formatNumber(counts.waiting)} waiting`],
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

function Attention({ overview: { stuck, health }, namespace }: { readonly overview: Overview; readonly namespace: string }) {
  if (stuck.length === 0 && health.warnings.length === 0 && health.status === "ok")
    return (
      <p class="calm">
        <Icon name="check" /> Nothing is stuck.
      </p>
    );
  return (
    <Panel title="Needs a look" class="attention">
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
        {stuck.map(({ kind, id, title, why }) => (
          <li key={`${kind} ${id}`}>
            <Icon name={kind === "run" ? "runs" : "leases"} />
            <span class="grow">
              <a href={kind === "run" ? hrefOf(namespace, "runs", id) : hrefOf(namespace, "leases", undefined, { resource: id })}>
                <Name text={title ?? id} mono={title === undefined} />
              </a>{" "}
              <bdi class="muted">{visible(why)}</bdi>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Fleet({ agents, namespace }: { readonly agents: Overview["agents"]; readonly namespace: string }) {
  if (agents.length === 0)
    return (
      <Empty title="No agent was here yet">
        Agents appear as soon as they write. How to connect one is shown under <a href={hrefOf(namespace, "health")}>Health</a>.
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
              <span class="muted">
                {" "}
                as <Name text={writer} mono={false} />
              </span>
            )}
            <span class="did muted">
              <bdi>{visible(lastDid)}</bdi>
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
  if (items.length === 0) return <Empty title="Nothing has happened yet">The first change of any agent shows up here within a second.</Empty>;
  return (
    <ul class="feed" aria-label="Newest changes">
      {items.map((item) => (
        <ActivityLine key={activityKey(item)} item={item} namespace={namespace} />
      ))}
    </ul>
  );
}
