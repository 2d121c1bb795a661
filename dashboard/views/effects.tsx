import { useState } from "preact/hooks";
import type { EffectRow, EffectStateName, EffectsAnswer } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { noteServerTime } from "../data/server-clock.ts";
import { usePages } from "../data/use-pages.ts";
import { EffectStateBadge } from "../parts/badge.tsx";
import { plural } from "../parts/format.ts";
import { PageHead } from "../parts/panel.tsx";
import { SelectFilter } from "../parts/select-filter.tsx";
import { Empty, Listing } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { Ago } from "../parts/time.tsx";
import { plain } from "../parts/unseen.ts";
import type { Column } from "../parts/windowed-table.tsx";
import { WindowedTable } from "../parts/windowed-table.tsx";
import { hrefOf, refine, route } from "../router.ts";
import { useView } from "../view-context.ts";
import { effectTitle, ResolveDialog } from "./effect-detail.tsx";

const states: readonly (readonly [EffectStateName | "", string])[] = [
  ["", "Every state"],
  ["unknown", "Unknown"],
  ["intended", "In flight"],
  ["done", "Done"],
  ["failed", "Failed"],
];

export function EffectsView() {
  const { api, namespace, canWrite } = useView();
  const { query } = useCell(route);
  const [state, run] = [query.get("state") ?? "", query.get("run") ?? ""];
  const [resolving, setResolving] = useState<EffectRow>();
  const pages = usePages<EffectsAnswer, EffectRow>({
    path: `${api}/effects`,
    fields: { state, run },
    cursorField: "cursor",
    pageSize: 100,
    pageSizeMax: 200,
    rows: ({ effects }) => effects,
    next: ({ next }) => next,
    keyOf: ({ id }) => id,
    subjectOf: ({ kind, subject }) => (kind === "effect" ? subject : undefined),
    newcomers: "anywhere",
    // Nothing is written at the moment an owner is lost.
    everyMs: 5_000,
  });
  if (pages.first !== undefined) noteServerTime(pages.first.nowMs);
  const unknown = pages.rows.filter((effect) => effect.state === "unknown").length;
  const columns: readonly Column<EffectRow>[] = [
    {
      heading: "Effect",
      track: "minmax(12rem, 2fr)",
      narrow: "first",
      cell: (effect) => (
        <>
          <a href={hrefOf(namespace, "effects", effect.id)}>
            <Name text={effectTitle(effect)} mono={false} />
          </a>{" "}
          {effect.name !== undefined && (
            <span class="muted small-id">
              <Name text={effect.tool} />
            </span>
          )}
        </>
      ),
    },
    { heading: "State", track: "6rem", narrow: "first-end", cell: ({ state: each }) => <EffectStateBadge state={each} /> },
    {
      heading: "Run",
      track: "minmax(6rem, 1fr)",
      drop: 2,
      narrow: "hidden",
      cell: ({ run: runId, step }) =>
        runId === undefined ? (
          <span class="muted">–</span>
        ) : (
          <>
            <a href={hrefOf(namespace, "runs", runId)}>
              <Name text={runId} />
            </a>
            {step !== undefined && <span class="muted"> step {plain(String(step))}</span>}
          </>
        ),
    },
    { heading: "Agent", track: "minmax(6rem, 1fr)", drop: 3, narrow: "second", cell: ({ agent, writer }) => <Name text={agent ?? writer} mono={false} /> },
    { heading: "Tries", track: "3rem", drop: 1, align: "end", narrow: "hidden", cell: ({ attempts }) => attempts },
    { heading: "Begun", track: "5.7rem", align: "end", narrow: "second-end", labelled: true, cell: ({ begunAtMs }) => <Ago at={begunAtMs} /> },
    ...(canWrite
      ? [
          {
            heading: "Action",
            track: "6rem",
            align: "end" as const,
            narrow: "action" as const,
            cell: (effect: EffectRow) =>
              effect.state === "unknown" && (
                <button type="button" class="button small" aria-label={`Resolve ${plain(effectTitle(effect))}`} onClick={() => setResolving(effect)}>
                  Resolve
                </button>
              ),
          },
        ]
      : []),
  ];
  return (
    <>
      <PageHead
        title="Effects"
        lead="What agents did outside the store and must not do twice. An unknown one was begun, and it is not known whether it took place: find out, then resolve it."
      />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <SelectFilter label="State" options={states} value={state} onChange={(value) => refine({ state: value })} />
        <label>
          Run
          <input type="search" placeholder="the full id" value={run} onInput={(event) => refine({ run: event.currentTarget.value })} />
        </label>
        <span class="muted count" role="status">
          {!pages.loading && `${plural(pages.rows.length, "effect")}${pages.more ? " so far, scroll for more" : ""}${unknown > 0 ? `, ${unknown} unknown` : ""}`}
        </span>
      </form>
      <Listing
        pages={pages}
        what="effects"
        empty={
          state === "" && run === "" ? (
            <Empty title="No effects yet">Programs record them with effects.once, shells with holdfast effect NAME -- COMMAND.</Empty>
          ) : (
            <Empty title="No effect matches these filters">Choose another state or run.</Empty>
          )
        }
      >
        <WindowedTable label="Effects" rows={pages.rows} columns={columns} keyOf={({ id }) => id} more={pages.more} loadingMore={pages.loadingMore} onMore={pages.loadMore} />
      </Listing>
      {resolving !== undefined && <ResolveDialog effect={resolving} onClose={() => setResolving(undefined)} />}
    </>
  );
}
