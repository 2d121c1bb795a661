import { useState } from "preact/hooks";
import type { LeaseRow, LeasesAnswer as LeasesPage, SteppedIn } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { ApiFailure, requestApi } from "../data/api-client.ts";
import { noteServerTime } from "../data/server-clock.ts";
import { usePages } from "../data/use-pages.ts";
import { Confirm } from "../parts/dialog.tsx";
import { plural } from "../parts/format.ts";
import { announce } from "../parts/notice.tsx";
import { PageHead } from "../parts/panel.tsx";
import { Empty, Listing } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { Countdown, Since } from "../parts/time.tsx";
import { plain } from "../parts/unseen.ts";
import type { Column } from "../parts/windowed-table.tsx";
import { WindowedTable } from "../parts/windowed-table.tsx";
import { hrefOf, refine, route } from "../router.ts";
import { useView } from "../view-context.ts";

const nothingHeld = <Empty title="Nothing is held">Agents take a lease with lease_acquire, and a run with workflow_claim; both show up here.</Empty>;

export function LeasesView() {
  const { api, namespace, canWrite } = useView();
  const { query } = useCell(route);
  const wanted = query.get("resource") ?? "";
  const [releasing, setReleasing] = useState<LeaseRow>();
  const pages = usePages<LeasesPage, LeaseRow>({
    path: `${api}/leases`,
    fields: {},
    cursorField: "cursor",
    pageSize: 200,
    pageSizeMax: 500,
    rows: ({ leases }) => leases,
    next: ({ next }) => next,
    keyOf: ({ resource }) => resource,
    subjectOf: ({ kind, subject }) => (kind === "lease" ? subject : kind === "workflow" ? `workflow/${subject}` : undefined),
    newcomers: "anywhere",
    // History does not record that an agent joined the queue.
    everyMs: 2_000,
  });
  if (pages.first !== undefined) noteServerTime(pages.first.nowMs);
  const rows = wanted === "" ? pages.rows : pages.rows.filter(({ resource, runName = "" }) => resource.includes(wanted) || runName.includes(wanted));
  const waiting = pages.rows.reduce((sum, lease) => sum + lease.waiting, 0);
  const columns: readonly Column<LeaseRow>[] = [
    {
      heading: "Resource",
      track: "minmax(12rem, 2fr)",
      narrow: "first",
      cell: ({ resource, runId, runName }) =>
        runId === undefined ? (
          <Name text={resource} />
        ) : (
          <>
            {runName !== undefined && <span class="muted">run </span>}
            <a href={hrefOf(namespace, "runs", runId)}>
              <Name text={runName ?? resource} mono={runName === undefined} />
            </a>
            {runName !== undefined && runName !== runId && (
              <span class="muted small-id">
                <Name text={runId} />
              </span>
            )}
          </>
        ),
    },
    { heading: "Holder", track: "minmax(7rem, 1.2fr)", narrow: "second", cell: ({ holder }) => <Name text={holder} mono={false} /> },
    { heading: "Held for", track: "7rem", drop: 2, narrow: "hidden", cell: ({ heldSinceMs }) => <Since at={heldSinceMs} /> },
    { heading: "Ends", track: "8rem", narrow: "second-end", labelled: true, cell: ({ expiresAtMs }) => <Countdown until={expiresAtMs} /> },
    {
      heading: "Waiting",
      track: "minmax(5rem, 0.8fr)",
      drop: 3,
      narrow: "first-end",
      cell: ({ waiting: count, waiters }) =>
        count === 0 ? (
          <span class="muted none">–</span>
        ) : (
          <span class="badge wait" title={waiters?.map(plain).join(", ")}>
            {count} in line
          </span>
        ),
    },
    { heading: "Token", track: "5rem", drop: 1, align: "end", narrow: "hidden", cell: ({ token }) => <span class="mono">{token}</span> },
    ...(canWrite
      ? [
          {
            heading: "Action",
            track: "6rem",
            align: "end" as const,
            narrow: "action" as const,
            cell: (lease: LeaseRow) => (
              <button type="button" class="button small" aria-label={`Release ${plain(lease.resource)}`} onClick={() => setReleasing(lease)}>
                Release
              </button>
            ),
          },
        ]
      : []),
  ];
  return (
    <>
      <PageHead title="Leases" lead="Leases held now, by whom, and for how long. A lease that is not renewed lapses by itself." />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Resource
          <input type="search" placeholder="part of its name" value={wanted} onInput={(event) => refine({ resource: event.currentTarget.value })} />
        </label>
        <span class="muted count" role="status">
          {!pages.loading &&
            `${plural(rows.length, "lease")} held${pages.more ? " so far, scroll for more" : ""}${waiting > 0 ? `, ${plural(waiting, "waits", "wait")} in line` : ""}`}
        </span>
      </form>
      <Listing
        pages={{ ...pages, rows }}
        what="leases"
        empty={wanted === "" ? nothingHeld : <Empty title="No lease with this name is held">It may have been released or have lapsed.</Empty>}
      >
        <WindowedTable
          label="Leases held"
          rows={rows}
          columns={columns}
          keyOf={({ resource }) => resource}
          more={pages.more}
          loadingMore={pages.loadingMore}
          onMore={pages.loadMore}
        />
      </Listing>
      {releasing !== undefined && <ReleaseDialog lease={releasing} onClose={() => setReleasing(undefined)} />}
    </>
  );
}

export function ReleaseDialog({ lease, onClose }: { readonly lease: LeaseRow; onClose(): void }) {
  const { api } = useView();
  const act = async () => {
    try {
      await requestApi<SteppedIn>(`${api}/leases/release`, { method: "POST", body: { resource: lease.resource, token: lease.token } });
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 409)
        return `Meanwhile ${plain(lease.holder)} no longer holds it under token ${lease.token}, so nothing was changed. Close this and look again.`;
      throw error;
    }
    announce(`${lease.runName ?? lease.resource} was released.`);
    return undefined;
  };
  return (
    <Confirm title="Release this lease?" action="Release the lease" danger act={act} onClose={onClose}>
      <p>
        <Name text={lease.holder} mono={false} /> loses{" "}
        {lease.runName === undefined ? (
          <Name text={lease.resource} />
        ) : (
          <>
            its claim on <Name text={lease.runName} mono={false} />
          </>
        )}{" "}
        at once
        {lease.waiting > 0 ? `, and the first of ${lease.waiting} in line gets it` : ", and any agent can take it"}. What <Name text={lease.holder} mono={false} /> writes under
        token {lease.token} after that is refused{lease.runId === undefined ? "" : "; the run can be claimed again, its steps stay"}.
      </p>
      <p class="muted">Agents do not notice until their next call: be sure that it no longer works on it.</p>
    </Confirm>
  );
}
