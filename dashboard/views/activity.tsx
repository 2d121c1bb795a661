import type { ActivityItem, Kind } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { activityKey } from "../data/live.ts";
import { useActivity } from "../data/use-activity.ts";
import { Subject, Who } from "../parts/activity-line.tsx";
import { KindTag, kindWords } from "../parts/badge.tsx";
import { plural } from "../parts/format.ts";
import { PageHead } from "../parts/panel.tsx";
import { SelectFilter } from "../parts/select-filter.tsx";
import { Empty, Listing } from "../parts/state-panels.tsx";
import { Name } from "../parts/stored-text.tsx";
import { Ago } from "../parts/time.tsx";
import type { Column } from "../parts/windowed-table.tsx";
import { WindowedTable } from "../parts/windowed-table.tsx";
import { refine, route } from "../router.ts";
import { useTyped } from "../use-typed.ts";
import { useView } from "../view-context.ts";

const kinds: readonly Kind[] = ["state", "lease", "workflow", "effect", "session", "checkpoint", "knowledge"];

export function ActivityView() {
  const { api, namespace } = useView();
  const { query } = useCell(route);
  const kind = query.get("kind") ?? "";
  const who = query.get("who") ?? "";
  const subject = query.get("subject") ?? "";
  const [typed, setTyped] = useTyped({ who, subject });
  const revision = Number.parseInt(query.get("through") ?? "", 10);
  const through = Number.isSafeInteger(revision) && revision >= 0 ? revision : undefined;
  const pages = useActivity(api, { kind, who, subject, through });
  const filtered = kind !== "" || who !== "" || subject !== "" || through !== undefined;
  const columns: readonly Column<ActivityItem>[] = [
    { heading: "Kind", track: "5.5rem", drop: 2, narrow: "hidden", cell: (item) => <KindTag kind={item.kind} /> },
    {
      heading: "What",
      track: "minmax(12rem, 2fr)",
      narrow: "first",
      cell: (item) => (
        <>
          <Subject item={item} namespace={namespace} />
          {/* "Begins with" searches the id. */}
          {item.title !== undefined && item.title !== item.subject && item.kind === "workflow" && (
            <span class="muted small-id">
              <Name text={item.subject} />
            </span>
          )}
        </>
      ),
    },
    {
      heading: "Done",
      track: "minmax(6rem, 0.8fr)",
      narrow: "first-end",
      cell: (item) => (
        <>
          {item.operation}
          {item.times !== undefined && item.times > 1 && ` × ${item.times}`}
        </>
      ),
    },
    { heading: "By", track: "minmax(7rem, 1.4fr)", narrow: "second", cell: (item) => <Who agent={item.agent} writer={item.writer} /> },
    { heading: "Revision", track: "5.5rem", drop: 1, align: "end", narrow: "hidden", cell: (item) => <span class="mono">{item.revision}</span> },
    { heading: "When", track: "7rem", align: "end", narrow: "second-end", cell: (item) => <Ago at={item.atMs} /> },
  ];
  return (
    <>
      <PageHead title="Activity" lead="All changes, newest first, and who made them." />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <SelectFilter
          label="Kind"
          options={[["", "Every kind"], ...kinds.map((each) => [each, kindWords[each]] as const)]}
          value={kind}
          onChange={(value) => refine({ kind: value })}
        />
        <label>
          Begins with
          <input
            type="search"
            class="mono"
            spellcheck={false}
            autocapitalize="off"
            placeholder="key, run, resource"
            value={typed.subject}
            onInput={(event) => setTyped({ ...typed, subject: event.currentTarget.value })}
          />
        </label>
        <label>
          Who
          <input
            type="search"
            spellcheck={false}
            autocapitalize="off"
            placeholder="agent or person"
            value={typed.who}
            onInput={(event) => setTyped({ ...typed, who: event.currentTarget.value })}
          />
        </label>
        {through !== undefined && (
          <button type="button" class="button small" onClick={() => refine({ through: undefined })}>
            Up to revision {through}: show all
          </button>
        )}
        <span class="muted count" role="status">
          {pages.loaded && `${plural(pages.rows.length, "change")}${pages.more ? " so far" : ""}`}
        </span>
      </form>
      <Listing
        pages={{ ...pages, loading: !pages.loaded && pages.error === undefined }}
        what="activity"
        empty={
          <Empty title={filtered ? "Nothing matches these filters" : "Nothing has happened yet"}>
            {filtered ? "History keeps the newest changes; older ones may be forgotten." : "Every change by every agent appears here."}
          </Empty>
        }
      >
        {pages.held.length > 0 && (
          <button
            type="button"
            class="button primary news"
            onClick={() => {
              pages.showHeld();
              scrollTo(0, 0);
            }}
          >
            {plural(pages.held.length, "new change")}
          </button>
        )}
        <WindowedTable
          label="Activity, newest first"
          rows={pages.rows}
          columns={columns}
          keyOf={activityKey}
          more={pages.more}
          loadingMore={pages.loadingMore}
          onMore={pages.loadMore}
        />
      </Listing>
    </>
  );
}
