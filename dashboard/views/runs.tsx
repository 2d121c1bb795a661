import { useState } from "preact/hooks";
import type { RunRow, RunStatusName, RunsPage } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { usePages } from "../data/use-pages.ts";
import { RunStatus } from "../parts/badge.tsx";
import { plural } from "../parts/format.ts";
import { PageHead } from "../parts/panel.tsx";
import { SelectFilter } from "../parts/select-filter.tsx";
import { Empty, Listing } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { Ago, Countdown } from "../parts/time.tsx";
import type { Column } from "../parts/windowed-table.tsx";
import { WindowedTable } from "../parts/windowed-table.tsx";
import { hrefOf, refine, route } from "../router.ts";
import { runOfLease } from "../subject-href.ts";
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
  { heading: "Status", track: "6rem", narrow: "first-end", cell: (run) => <RunStatus status={run.status} /> },
  {
    heading: "Agent",
    track: "minmax(6rem, 0.8fr)",
    narrow: "second",
    cell: (run) => (run.agent === undefined ? <span class="muted">–</span> : <Name text={run.agent} mono={false} />),
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
  { heading: "Changed", track: "5.7rem", align: "end", narrow: "hidden", cell: (run) => <Ago at={run.updatedAtMs} /> },
  { heading: "Created", track: "5.7rem", drop: 2, align: "end", narrow: "second-end", labelled: true, cell: (run) => <Ago at={run.createdAtMs} /> },
];

export function RunsView() {
  const { api, namespace, canWrite } = useView();
  const { query } = useCell(route);
  const status = query.get("status") ?? "";
  const tag = query.get("tag") ?? "";
  const [typed, setTyped] = useState(tag);
  const filtered = status !== "" || tag !== "";
  const pages = usePages<RunsPage, RunRow>({
    path: `${api}/runs`,
    fields: { status, tag },
    cursorField: "cursor",
    pageSize: 100,
    pageSizeMax: 200,
    rows: ({ runs }) => runs,
    next: ({ next }) => next,
    keyOf: ({ runId }) => runId,
    subjectOf: ({ kind, subject }) => (kind === "workflow" ? subject : kind === "lease" ? runOfLease(subject) : undefined),
    newcomers: filtered ? "anywhere" : "first",
  });
  const badTag = tag !== "" && !tag.includes("=");
  return (
    <>
      <PageHead title="Runs" lead="Work that survives crashes: agents claim a run, report its steps, and another takes over where one stops." />
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          refine({ tag: typed });
        }}
      >
        <SelectFilter label="Status" options={statuses} value={status} onChange={(value) => refine({ status: value })} />
        <label>
          Tag
          <input
            type="search"
            placeholder="name=value"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
            onChange={(event) => refine({ tag: event.currentTarget.value })}
          />
        </label>
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
              <Empty title="No run fits these filters">Choose another status or tag.</Empty>
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
