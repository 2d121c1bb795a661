import { useState } from "preact/hooks";
import type { NoteRow, NotesPage } from "../../src/surfaces/dashboard/api.ts";
import { useCell } from "../cell.ts";
import { usePages } from "../data/use-pages.ts";
import { NoteStatusBadge } from "../parts/badge.tsx";
import { plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { LoadMore } from "../parts/load-more.tsx";
import { PageHead } from "../parts/panel.tsx";
import { SelectFilter } from "../parts/select-filter.tsx";
import { Empty, Listing } from "../parts/state-panels.tsx";
import { Name, visibleText } from "../parts/stored-text.tsx";
import { Ago } from "../parts/time.tsx";
import { hrefOf, refine, route } from "../router.ts";
import { useView } from "../view-context.ts";
import { NewNoteDialog } from "./note-dialogs.tsx";

const statuses = [
  ["", "Every status"],
  ["active", "Active"],
  ["deprecated", "Deprecated"],
  ["archived", "Archived"],
] as const;

/** Notes and research together are what agents know. */
export function KnowledgeTabs({ chosen }: { readonly chosen: "knowledge" | "research" }) {
  const { namespace } = useView();
  return (
    <nav class="tabs" aria-label="Kinds of knowledge">
      <a href={hrefOf(namespace, "knowledge")} aria-current={chosen === "knowledge" ? "page" : undefined}>
        Notes
      </a>
      <a href={hrefOf(namespace, "research")} aria-current={chosen === "research" ? "page" : undefined}>
        Research
      </a>
    </nav>
  );
}

export function KnowledgeView() {
  const { api, canWrite } = useView();
  const { query } = useCell(route);
  const status = query.get("status") ?? "";
  const [creating, setCreating] = useState(false);
  const pages = usePages<NotesPage, NoteRow>({
    path: `${api}/notes`,
    fields: { status },
    cursorField: "cursor",
    pageSize: 50,
    pageSizeMax: 100,
    rows: ({ notes }) => notes,
    next: ({ next }) => next,
    keyOf: ({ name }) => name,
    subjectOf: ({ kind, subject }) => (kind === "knowledge" ? subject : undefined),
    newcomers: "anywhere",
  });
  return (
    <>
      <PageHead
        title="Knowledge"
        lead="Lasting facts that agents recall. Correct what is wrong, retire what is outdated: only active notes are recalled."
        actions={
          canWrite && (
            <button type="button" class="button primary" onClick={() => setCreating(true)}>
              <Icon name="plus" /> New note
            </button>
          )
        }
      />
      <KnowledgeTabs chosen="knowledge" />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <SelectFilter label="Status" options={statuses} value={status} onChange={(value) => refine({ status: value })} />
        <span class="muted count" role="status">
          {!pages.loading && `${plural(pages.rows.length, "note")}${pages.more ? " so far" : ""}`}
        </span>
      </form>
      <Listing
        pages={pages}
        what="notes"
        empty={<Empty title={status === "" ? "No notes yet" : "No note of this status"}>Agents keep facts with save_knowledge and find them again with recall_knowledge.</Empty>}
      >
        <ul class="cards">
          {pages.rows.map((note) => (
            <NoteCard key={note.name} note={note} />
          ))}
        </ul>
        <LoadMore more={pages.more} loading={pages.loadingMore} onMore={pages.loadMore} text="More notes" />
      </Listing>
      {creating && <NewNoteDialog onClose={() => setCreating(false)} />}
    </>
  );
}

const previewCharacters = 220;

function NoteCard({ note }: { readonly note: NoteRow }) {
  const { namespace } = useView();
  // The note's heading is often also its first line.
  const body = note.content.replace(/^#+\s*/, "");
  const rest = body.startsWith(note.title) ? body.slice(note.title.length).trim() : body;
  return (
    <li class="card">
      <div class="card-head">
        <a class="card-link" href={hrefOf(namespace, "knowledge", note.name)}>
          <bdi>{visibleText(note.title.slice(0, 160))}</bdi>
        </a>
        {note.status !== "active" && <NoteStatusBadge status={note.status} />}
        {note.trust === "quarantined" && <NoteStatusBadge status="quarantined" />}
      </div>
      <p class="card-text">
        <bdi>{visibleText(rest.slice(0, previewCharacters))}</bdi>
      </p>
      <div class="card-foot">
        <Name text={note.name} />
        <Ago at={note.updatedAtMs} />
      </div>
    </li>
  );
}
