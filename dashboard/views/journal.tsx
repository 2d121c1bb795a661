import type { ComponentChildren } from "preact";
import type { JournalPage, JournalRow } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { queryText } from "../data/api-client.ts";
import { usePages } from "../data/use-pages.ts";
import { useQuery } from "../data/use-query.ts";
import { Who } from "../parts/activity-line.tsx";
import { formatClock, formatDayHeading, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { LoadMore } from "../parts/load-more.tsx";
import { FactList, PageHead, Panel } from "../parts/panel.tsx";
import { SelectFilter } from "../parts/select-filter.tsx";
import { AnswerPanel, Empty, Listing } from "../parts/state-panels.tsx";
import { Name, Prose } from "../parts/stored-text.tsx";
import { TextFilters } from "../parts/text-filters.tsx";
import { Ago, At } from "../parts/time.tsx";
import { plain } from "../parts/unseen.ts";
import { hrefOf, refine, route } from "../router.ts";
import { useTyped } from "../use-typed.ts";
import { useView } from "../view-context.ts";

const filterFields = [
  ["who", "Who", "agent or person"],
  ["tag", "Tag", "exact match"],
  ["q", "Contains", "text, file or branch"],
] as const;

export function JournalView() {
  const { api } = useView();
  const { query } = useCell(route);
  const workspace = query.get("workspace") ?? "";
  const filters = { who: query.get("who") ?? "", tag: query.get("tag") ?? "", q: query.get("q") ?? "" };
  const [typed, setTyped] = useTyped(filters);
  const filtered = Object.values(filters).some((value) => value !== "");
  const pages = usePages<JournalPage, JournalRow>({
    path: `${api}/journal`,
    fields: { workspace, ...filters },
    cursorField: "before",
    pageSize: 30,
    pageSizeMax: 50,
    rows: ({ entries }) => entries,
    next: ({ next }) => next,
    keyOf: ({ id }) => id,
    subjectOf: ({ kind, subject, written }) => (kind === "checkpoint" && written !== "research" ? subject : undefined),
    newcomers: filtered ? "anywhere" : "first",
  });
  const workspaces = pages.first?.workspaces ?? [];
  return (
    <>
      <PageHead title="Journal" lead="Agents' notes about their work, day by day." />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <SelectFilter
          label="Workspace"
          options={[
            ["", "Every workspace"],
            ...(workspace !== "" && !workspaces.some(({ id }) => id === workspace) ? [[workspace, plain(workspace)] as const] : []),
            ...workspaces.map(({ id, name }) => [id, plain(name)] as const),
          ]}
          value={workspace}
          onChange={(value) => refine({ workspace: value })}
        />
        <TextFilters fields={filterFields} typed={typed} onType={setTyped} />
        <span class="muted count" role="status">
          {!pages.loading && `${plural(pages.rows.length, "entry", "entries")}${pages.more ? " so far" : ""}`}
        </span>
      </form>
      <Listing
        pages={pages}
        what="the journal"
        empty={
          filtered ? (
            <>
              <Empty title={pages.more ? "No entry matches these filters so far" : "No entry matches these filters"}>
                {pages.more ? "Older entries have not been searched yet." : "Change or clear one of them."}
              </Empty>
              <LoadMore more={pages.more} loading={pages.loadingMore} onMore={pages.loadMore} text="Search older entries" />
            </>
          ) : (
            <Empty title={workspace === "" ? "The journal is empty" : "Nothing was written in this workspace"}>
              Agents write entries with the checkpoint tool. In Claude Code, a hook also writes one before the context is compacted.
            </Empty>
          )
        }
      >
        <Days rows={pages.rows} workspaces={workspaces} />
        <LoadMore more={pages.more} loading={pages.loadingMore} onMore={pages.loadMore} text="Older entries" />
      </Listing>
    </>
  );
}

/** One entry at its own address, with everything that was saved with it and links to the entries around it. */
export function JournalEntryView({ id }: { readonly id: string }) {
  const { api, namespace } = useView();
  // A later entry makes this one's way to it.
  const query = useQuery<JournalPage>(`${api}/journal${queryText({ id })}`, ({ kind, written }) => kind === "checkpoint" && written !== "research");
  const step = (to: string | undefined, text: string, icon: "back" | "forward") =>
    to !== undefined && (
      <a class="button" href={hrefOf(namespace, "journal", to)}>
        <Icon name={icon} /> {text}
      </a>
    );
  return (
    <>
      <PageHead
        back={{ href: hrefOf(namespace, "journal"), text: "Journal" }}
        title="Journal entry"
        actions={
          <>
            {step(query.data?.older, "Previous", "back")}
            {step(query.data?.newer, "Next", "forward")}
          </>
        }
      />
      <AnswerPanel query={query} what="the entry">
        {({ entries: [entry] }) => (entry === undefined ? <Empty title="There is no such entry">It may have expired.</Empty> : <WholeEntry entry={entry} />)}
      </AnswerPanel>
    </>
  );
}

function WholeEntry({ entry }: { readonly entry: JournalRow }) {
  return (
    <>
      <FactList
        facts={[
          ["Workspace", <Name key="workspace" text={entry.global === true ? `${entry.workspace} (for every workspace)` : entry.workspace} mono={false} />],
          ["Saved", <Ago key="saved" at={entry.atMs} />],
          ["By", <Who key="by" agent={entry.agent} writer={entry.writer} />],
          ["Branch", entry.branch === undefined ? undefined : <Name key="branch" text={entry.branch} />],
          ["Commit", entry.commit === undefined ? undefined : <Name key="commit" text={entry.commit} />],
          ["Tags", entry.tags.length === 0 ? undefined : <Name key="tags" text={entry.tags.join(", ")} mono={false} />],
          ["Session", <Name key="session" text={entry.session} />],
          ["Id", <Name key="id" text={entry.id} />],
        ]}
      />
      <Panel title="What was done">
        <Prose text={entry.text} charactersMax={10_000} />
        <Highlights entry={entry} />
      </Panel>
      {entry.context !== undefined && (
        <Panel title="Context">
          <Prose text={entry.context} charactersMax={20_000} />
        </Panel>
      )}
      {entry.files.length > 0 && (
        <Panel title="Files">
          <FileNames files={entry.files} />
        </Panel>
      )}
    </>
  );
}

const FileNames = ({ files }: Pick<JournalRow, "files">) => (
  <ul>
    {files.map((file) => (
      <li key={file}>
        <Name text={file} />
      </li>
    ))}
  </ul>
);

function Highlights({ entry: { highlights } }: { readonly entry: JournalRow }) {
  if (highlights.length === 0) return null;
  return (
    <ul class="highlights">
      {highlights.map((highlight) => (
        <li key={highlight}>
          <Prose text={highlight} charactersMax={300} />
        </li>
      ))}
    </ul>
  );
}

function Days({ rows, workspaces }: { readonly rows: readonly JournalRow[]; readonly workspaces: JournalPage["workspaces"] }) {
  const nowMs = Date.now();
  const days = new Map<string, JournalRow[]>();
  for (const row of rows) {
    const day = formatDayHeading(row.atMs, nowMs);
    const entries = days.get(day);
    if (entries === undefined) days.set(day, [row]);
    else entries.push(row);
  }
  const names = new Map(workspaces.map(({ id, name }) => [id, name]));
  return (
    <>
      {[...days].map(([day, entries]) => (
        <section key={day} class="day">
          <h2>{day}</h2>
          <ol class="entries">
            {entries.map((entry) => (
              <Entry key={entry.id} entry={entry} workspace={names.get(entry.workspace) ?? entry.workspace} />
            ))}
          </ol>
        </section>
      ))}
    </>
  );
}

function Entry({ entry, workspace }: { readonly entry: JournalRow; readonly workspace: string }) {
  const { namespace } = useView();
  return (
    <li class="entry">
      <a class="entry-time" href={hrefOf(namespace, "journal", entry.id)} aria-label={`Entry of ${formatClock(entry.atMs)}`}>
        <At at={entry.atMs} as={formatClock} />
      </a>
      <div class="entry-body">
        <Prose text={entry.text} charactersMax={600} />
        <Highlights entry={entry} />
        <ul class="meta">
          <Meta name="Workspace">
            <Name text={workspace} mono={false} />
          </Meta>
          {entry.branch !== undefined && (
            <Meta name="Branch">
              <Name text={entry.branch} />
            </Meta>
          )}
          <Meta name="By">
            <Who agent={entry.agent} writer={entry.writer} />
          </Meta>
          {entry.tags.map((tag) => (
            <Meta key={tag} name="Tag">
              <span class="tag">
                <Name text={tag} mono={false} />
              </span>
            </Meta>
          ))}
        </ul>
        {entry.files.length > 0 && (
          <details class="files">
            <summary>{plural(entry.files.length, "file")}</summary>
            <FileNames files={entry.files} />
          </details>
        )}
      </div>
    </li>
  );
}

function Meta({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <li>
      <span class="meta-name">{name}</span> {children}
    </li>
  );
}
