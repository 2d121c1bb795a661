import { useState } from "preact/hooks";
import type { NoteRow, NoteView } from "../../src/surfaces/dashboard/api.ts";
import { queryText } from "../data/api-client.ts";
import { useQuery } from "../data/use-query.ts";
import { Who } from "../parts/activity-line.tsx";
import { NoteStatusBadge } from "../parts/badge.tsx";
import { Icon } from "../parts/icon.tsx";
import { NoteText } from "../parts/note-text.tsx";
import { FactList, PageHead, Panel } from "../parts/panel.tsx";
import { AnswerPanel } from "../parts/state-panels.tsx";
import { Name, Prose, visibleText } from "../parts/stored-text.tsx";
import { Ago } from "../parts/time.tsx";
import { Versions } from "../parts/versions.tsx";
import { hrefOf } from "../router.ts";
import { useView } from "../view-context.ts";
import { ChangeStatusDialog, CorrectNoteDialog, NewNoteDialog } from "./note-dialogs.tsx";

type Action = "correct" | "supersede" | "deprecated" | "archived" | "active";

export function NoteDetailView({ name }: { readonly name: string }) {
  const { api, namespace, canWrite } = useView();
  const [action, setAction] = useState<{ readonly what: Action; readonly note: NoteRow }>();
  const query = useQuery<NoteView>(`${api}/note${queryText({ name })}`, ({ kind, subject }) => kind === "knowledge" && subject === name);
  const note = query.data?.note;
  const close = () => setAction(undefined);
  const button = (what: Action, icon: Parameters<typeof Icon>[0]["name"], text: string) =>
    note !== undefined && (
      <button type="button" class="button" onClick={() => setAction({ what, note })}>
        <Icon name={icon} /> {text}
      </button>
    );
  return (
    <>
      <PageHead
        back={{ href: hrefOf(namespace, "knowledge"), text: "Knowledge" }}
        title={<bdi>{visibleText(note?.title ?? name)}</bdi>}
        actions={
          canWrite &&
          note !== undefined && (
            <>
              {button("correct", "edit", "Correct")}
              {button("supersede", "swap", "Supersede")}
              {note.status === "active" ? button("deprecated", "warning", "Deprecate") : button("active", "undo", "Make active")}
              {note.status !== "archived" && button("archived", "folder", "Archive")}
            </>
          )
        }
      />
      <AnswerPanel query={query} what="the note">
        {(view) => <Detail view={view} />}
      </AnswerPanel>
      {action?.what === "correct" && <CorrectNoteDialog note={action.note} onClose={close} />}
      {action?.what === "supersede" && <NewNoteDialog supersedes={action.note} onClose={close} />}
      {action !== undefined && action.what !== "correct" && action.what !== "supersede" && <ChangeStatusDialog note={action.note} status={action.what} onClose={close} />}
    </>
  );
}

function Detail({ view: { note, versions, more } }: { readonly view: NoteView }) {
  const { namespace } = useView();
  const link = (name: string) => (
    <a key={name} href={hrefOf(namespace, "knowledge", name)}>
      <Name text={name} />
    </a>
  );
  return (
    <>
      <FactList
        facts={[
          ["Status", <NoteStatusBadge key="status" status={note.status} />],
          ["Trust", note.trust === "quarantined" ? <NoteStatusBadge key="trust" status="quarantined" /> : note.trust],
          ["Name", <Name key="name" text={note.name} />],
          ["For skill", note.skill === undefined ? "every one" : <Name key="skill" text={note.skill} />],
          ["Source", note.source === undefined ? undefined : <Name key="source" text={note.source} mono={false} />],
          ["Keywords", note.keywords.length === 0 ? undefined : <Name key="keywords" text={note.keywords.join(", ")} mono={false} />],
          ["Supersedes", note.supersedes === undefined ? undefined : link(note.supersedes)],
          ["Superseded by", note.supersededBy === undefined ? undefined : link(note.supersededBy)],
          ["Version", note.version],
          ["Changed", <Ago key="changed" at={note.updatedAtMs} />],
          ["By", <Who key="by" agent={note.agent} writer={note.writer} />],
        ]}
      />
      <Panel title="Note">
        <NoteText text={note.content} title={note.title} charactersMax={8_000} />
      </Panel>
      <Versions versions={versions} more={more} textOf={noteText} whole={({ value }) => <Prose text={noteText(value)} charactersMax={8_000} />} />
    </>
  );
}

/** A stored note as lines: its text, then its other fields. */
function noteText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const { content, ...rest } = value as Readonly<Record<string, unknown>>;
  const facts = Object.entries(rest).map(([name, fact]) => `${name}: ${Array.isArray(fact) ? fact.join(", ") : typeof fact === "string" ? fact : JSON.stringify(fact)}`);
  return [String(content ?? ""), "", ...facts].join("\n");
}
