import type { RunRow, RunStatusName, RunsPage } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { usePages } from "../data/use-pages.ts";
import { RunStatusBadge } from "../parts/badge.tsx";
import { durationText, plural } from "../parts/format.ts";
import { LoadMore } from "../parts/load-more.tsx";
import { PageHead } from "../parts/panel.tsx";
import { SelectFilter } from "../parts/select-filter.tsx";
import { Empty, Listing } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { TextFilters } from "../parts/text-filters.tsx";
import { Ago, Countdown } from "../parts/time.tsx";
import type { Column } from "../parts/windowed-table.tsx";
import { WindowedTable } from "../parts/windowed-table.tsx";
import { hrefOf, refine, route } from "../router.ts";
import { runOfLease } from "../subject-href.ts";
import { useTyped } from "../use-typed.ts";
import { useView } from "../view-context.ts";

const statuses: readonly (readonly [RunStatusName | "", string])[] = [
  ["", "Every status"],
  ["created", "Waiting"],
  ["claimed", "Claimed"],
  ["running", "Running"],
  ["done", "Done"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
];

const ended: readonly RunStatusName[] = ["done", "failed", "cancelled"];

const columns: readonly Column<RunRow>[] = [
  {
    heading: "Run",
    track: "minmax(12rem, 2.4fr)",
    narrow: "first",
    cell: (run) => (
      <>
        <Name text={run.name} mono={false} /> <span class="muted small-id">{run.runId !== run.name && <Name text={run.runId} />}</span>
      </>
    ),
  },
  { heading: "Status", track: "6rem", narrow: "first-end", cell: (run) => <RunStatusBadge status={run.status} /> },
  {
    heading: "Agent",
    track: "minmax(6rem, 0.8fr)",
    narrow: "second",
    cell: (run) => (run.agent === undefined ? <span class="muted">–</span> : <Name text={run.agent} mono={false} />),
  },
  {
    heading: "Tags",
    track: "minmax(6.5rem, 1fr)",
    drop: 3.5,
    narrow: "hidden",
    cell: ({ tags }) => {
      const [first, ...others] = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
      return first === undefined ? (
        <span class="muted">–</span>
      ) : (
        <>
          <span class="tag">
            <Name text={first} />
          </span>
          {others.length > 0 && <span class="muted"> +{others.length}</span>}
        </>
      );
    },
  },
  { heading: "Last step", track: "4.5rem", drop: 4, align: "end", narrow: "hidden", cell: (run) => run.lastStep },
  { heading: "Tries", track: "3rem", drop: 1, align: "end", narrow: "hidden", cell: (run) => run.attempts },
  {
    heading: "Claim ends",
    track: "7rem",
    drop: 3,
    narrow: "hidden",
    cell: (run) =>
      run.claimExpiresAtMs !== undefined && (run.status === "claimed" || run.status === "running") ? <Countdown until={run.claimExpiresAtMs} /> : <span class="muted">–</span>,
  },
  {
    heading: "Took",
    track: "5rem",
    drop: 0.5,
    align: "end",
    narrow: "hidden",
    cell: (run) => (ended.includes(run.status) ? durationText(run.updatedAtMs - (run.startedAtMs ?? run.createdAtMs)) : <span class="muted">–</span>),
  },
  { heading: "Changed", track: "5.7rem", align: "end", narrow: "hidden", cell: (run) => <Ago at={run.updatedAtMs} /> },
  { heading: "Created", track: "5.7rem", drop: 2, align: "end", narrow: "second-end", labelled: true, cell: (run) => <Ago at={run.createdAtMs} /> },
];

const fields = [
  ["q", "Name", "name or id"],
  ["agent", "Agent", "who has it"],
  ["tag", "Tag", "name=value"],
] as const;

export function RunsView() {
  const { api, namespace, canWrite } = useView();
  const { query } = useCell(route);
  const status = query.get("status") ?? "";
  const [q, agent, tag] = [query.get("q") ?? "", query.get("agent") ?? "", query.get("tag") ?? ""];
  const [typed, setTyped] = useTyped({ q, agent, tag });
  const filtered = [status, q, agent, tag].some((value) => value !== "");
  const badTag = tag !== "" && !tag.includes("=");
  const pages = usePages<RunsPage, RunRow>({
    path: `${api}/runs`,
    // A tag that is still being typed does not count yet.
    fields: { status, q, agent, tag: badTag ? "" : tag },
    cursorField: "cursor",
    pageSize: 100,
    pageSizeMax: 200,
    rows: ({ runs }) => runs,
    next: ({ next }) => next,
    keyOf: ({ runId }) => runId,
    subjectOf: ({ kind, subject }) => (kind === "workflow" ? subject : kind === "lease" ? runOfLease(subject) : undefined),
    newcomers: filtered ? "anywhere" : "first",
  });
  return (
    <>
      <PageHead title="Runs" lead="Work that survives crashes: agents claim a run, report its steps, and if one stops, another takes over." />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <SelectFilter label="Status" options={statuses} value={status} onChange={(value) => refine({ status: value })} />
        <TextFilters fields={fields} typed={typed} onType={setTyped} />
        <span class="muted count" role="status">
          {!pages.loading && `${plural(pages.rows.length, "run")}${pages.more ? " so far, scroll for more" : ""}`}
        </span>
      </form>
      {badTag ? (
        <Empty title="A tag is a name, an equals sign and a value">For example team=search.</Empty>
      ) : (
        <Listing
          pages={pages}
          what="runs"
          empty={
            filtered ? (
              <>
                <Empty title={pages.more ? "No run matches these filters so far" : "No run matches these filters"}>
                  {pages.more ? "Older runs have not been searched yet." : "Choose another status, name, agent or tag."}
                </Empty>
                <LoadMore more={pages.more} loading={pages.loadingMore} onMore={pages.loadMore} text="Search older runs" />
              </>
            ) : (
              <Empty title="No runs yet">
                An agent creates one with workflow_create
                {canWrite && (
                  <>
                    ; you can, too, under <a href={hrefOf(namespace, "try", "workflow_create")}>Try it</a>
                  </>
                )}
                .
              </Empty>
            )
          }
        >
          <WindowedTable
            label="Runs, newest first"
            rows={pages.rows}
            columns={columns}
            keyOf={({ runId }) => runId}
            hrefOf={({ runId }) => hrefOf(namespace, "runs", runId)}
            more={pages.more}
            loadingMore={pages.loadingMore}
            onMore={pages.loadMore}
          />
        </Listing>
      )}
    </>
  );
}
