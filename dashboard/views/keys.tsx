import { useEffect, useState } from "preact/hooks";
import type { FoldersView, KeyRow, KeysPage } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { queryText } from "../data/api-client.ts";
import { usePages } from "../data/use-pages.ts";
import { useQuery } from "../data/use-query.ts";
import { formatNumber, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/panel.tsx";
import { Empty, Listing } from "../parts/state-panels.tsx";
import { Name, visibleText } from "../parts/stored-text.tsx";
import { Ago, Countdown } from "../parts/time.tsx";
import { plain } from "../parts/unseen.ts";
import type { Column } from "../parts/windowed-table.tsx";
import { WindowedTable } from "../parts/windowed-table.tsx";
import { hrefOf, refine, route } from "../router.ts";
import { useView } from "../view-context.ts";
import { EditKeyDialog } from "./key-dialogs.tsx";

const columns: readonly Column<KeyRow>[] = [
  { heading: "Key", track: "minmax(12rem, 1.6fr)", narrow: "first", cell: ({ key }) => <Name text={key} /> },
  {
    heading: "Value",
    track: "minmax(8rem, 2fr)",
    narrow: "second",
    cell: ({ preview }) => (
      <bdi class="preview mono" title={plain(preview)}>
        {visibleText(preview)}
      </bdi>
    ),
  },
  { heading: "Version", track: "5rem", drop: 1, align: "end", narrow: "hidden", cell: ({ version }) => formatNumber(version) },
  {
    heading: "Expires",
    track: "8rem",
    drop: 2,
    narrow: "hidden",
    cell: ({ expiresAtMs }) => (expiresAtMs === undefined ? <span class="muted">never</span> : <Countdown until={expiresAtMs} over="expired" />),
  },
  { heading: "Changed", track: "7rem", align: "end", narrow: "first-end", cell: ({ updatedAtMs }) => <Ago at={updatedAtMs} /> },
];

export function KeysView() {
  const { api, namespace, canWrite } = useView();
  const { query } = useCell(route);
  const prefix = query.get("prefix") ?? "";
  const [typed, setTyped] = useState(prefix);
  const [creating, setCreating] = useState(false);
  useEffect(() => setTyped(prefix), [prefix]);
  // Waits for a pause in typing: otherwise every letter would be a request.
  useEffect(() => {
    if (typed === prefix) return;
    const timer = setTimeout(() => refine({ prefix: typed }), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  const pages = usePages<KeysPage, KeyRow>({
    path: `${api}/keys`,
    fields: { prefix },
    cursorField: "cursor",
    pageSize: 100,
    pageSizeMax: 200,
    rows: ({ keys }) => keys,
    next: ({ next }) => next,
    keyOf: ({ key }) => key,
    subjectOf: ({ kind, subject }) => (kind === "state" && subject.startsWith(prefix) ? subject : undefined),
    newcomers: pageIndexOf,
  });
  const total = pages.first?.total;
  return (
    <>
      <PageHead
        title="Keys"
        lead="Shared state, in the order of the keys. Every change makes a new version; the earlier ones stay readable."
        actions={
          canWrite && (
            <button type="button" class="button primary" onClick={() => setCreating(true)}>
              <Icon name="plus" /> New key
            </button>
          )
        }
      />
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          refine({ prefix: typed });
        }}
      >
        <label class="wide">
          Keys that begin with
          <input type="search" class="mono" spellcheck={false} autocapitalize="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <span class="muted count" role="status">
          {total !== undefined && plural(total, "key")}
        </span>
      </form>
      <Folders prefix={prefix} />
      <Listing
        pages={pages}
        what="keys"
        empty={
          prefix === "" ? (
            <Empty title="No keys yet">An agent writes one with state_set{canWrite && "; you can with New key"}.</Empty>
          ) : (
            <Empty title="No key begins with this">
              <a href={hrefOf(namespace, "keys")}>Show every key</a>
            </Empty>
          )
        }
      >
        <WindowedTable
          label="Keys"
          rows={pages.rows}
          columns={columns}
          keyOf={({ key }) => key}
          hrefOf={({ key }) => hrefOf(namespace, "keys", key)}
          total={total}
          more={pages.more}
          loadingMore={pages.loadingMore}
          onMore={pages.loadMore}
        />
      </Listing>
      {creating && <EditKeyDialog prefix={prefix} onClose={() => setCreating(false)} />}
    </>
  );
}

/** Keys are ordered by their bytes, which is the order of their characters' numbers. */
function pageIndexOf(key: string, pages: readonly (readonly KeyRow[])[]): number | undefined {
  const index = pages.findLastIndex(([first]) => first !== undefined && compareCharacters(first.key, key) <= 0);
  const last = pages.at(-1)?.at(-1);
  // A key after the last loaded page appears when the user scrolls there.
  if (index === pages.length - 1 && index > 0 && last !== undefined && compareCharacters(last.key, key) < 0) return undefined;
  return Math.max(0, index);
}

function compareCharacters(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** The path to this prefix, and the next parts of the keys below it. */
function Folders({ prefix }: { readonly prefix: string }) {
  const { api, namespace } = useView();
  const at = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  const folders = useQuery<FoldersView>(
    `${api}/folders${queryText({ prefix: at })}`,
    ({ kind, subject, operation }) => kind === "state" && operation !== "set" && subject.startsWith(at),
  );
  const parts = at.split("/").slice(0, -1);
  const shown = folders.data?.folders ?? [];
  if (at === "" && shown.length === 0) return null;
  return (
    <nav class="folders" aria-label="Parts of the keys">
      <ol class="crumbs" hidden={at === ""}>
        <li>
          <a href={hrefOf(namespace, "keys")}>all keys</a>
        </li>
        {parts.map((part, index) => (
          <li key={index}>
            <a href={hrefOf(namespace, "keys", undefined, { prefix: `${parts.slice(0, index + 1).join("/")}/` })}>
              <Name text={part} />
            </a>
          </li>
        ))}
      </ol>
      {shown.length > 0 && (
        <ul class="chips">
          {shown.map((folder) => (
            <li key={folder}>
              <a class="chip" href={hrefOf(namespace, "keys", undefined, { prefix: folder })}>
                <Icon name="folder" /> <Name text={folder.slice(at.length)} />
              </a>
            </li>
          ))}
          {folders.data?.more === true && <li class="muted">and more</li>}
        </ul>
      )}
    </nav>
  );
}
