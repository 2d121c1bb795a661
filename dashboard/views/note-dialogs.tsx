import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { NoteChanged, NoteRow, NoteView } from "../../src/surfaces/dashboard/api.ts";
import { ApiFailure, callTool, queryText, requestApi } from "../data/api-client.ts";
import { Who } from "../parts/activity-line.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { DiffView } from "../parts/diff-view.tsx";
import { FieldInput } from "../parts/field.tsx";
import { announce } from "../parts/notice.tsx";
import { Name } from "../parts/stored-text.tsx";
import { hrefOf, navigate } from "../router.ts";
import { useView } from "../view-context.ts";

const trusts = ["quarantined", "low", "medium", "high"] as const;

const keywordList = (text: string): readonly string[] =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

/** Changes a note if it is still at the version shown. Otherwise shows its current state and bases the next attempt on that. */
function useNoteChange(opened: NoteRow) {
  const { api } = useView();
  const [base, setBase] = useState(opened);
  const change = async (changes: object, done: string): Promise<ComponentChildren | undefined> => {
    try {
      await requestApi<NoteChanged>(`${api}/notes/change`, { method: "POST", body: { name: base.name, version: base.version, ...changes } });
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 409) throw error;
      const { note } = await requestApi<NoteView>(`${api}/note${queryText({ name: base.name })}`);
      setBase(note);
      return (
        <>
          <p>
            Meanwhile <Who agent={note.agent} writer={note.writer} /> saved version {note.version}, so nothing was changed. This is what changed there:
          </p>
          <DiffView before={base.content} after={note.content} label="What changed meanwhile" />
          <p>Try again to make your change to version {note.version}.</p>
        </>
      );
    }
    announce(done);
    return undefined;
  };
  return { base, change };
}

export function CorrectNoteDialog({ note, onClose }: { readonly note: NoteRow; onClose(): void }) {
  const { base, change } = useNoteChange(note);
  const [content, setContent] = useState(note.content);
  const [keywords, setKeywords] = useState(note.keywords.join(", "));
  const [source, setSource] = useState(note.source ?? "");
  const [trust, setTrust] = useState(note.trust);
  const act = () => change({ content, keywords: keywordList(keywords), trust, ...(source.trim() === "" ? {} : { source: source.trim() }) }, `${note.name} was corrected.`);
  return (
    <Confirm
      title="Correct this note"
      action="Save the note"
      dismiss="Close without saving"
      wide
      needs={content.trim() === "" ? "The note is empty." : undefined}
      act={act}
      onClose={onClose}
    >
      <p>
        <Name text={note.name} /> is at version {base.version}. Saving makes the next one, under your name; the earlier ones stay in its history.
      </p>
      <FieldInput label="Note (Markdown)">{(ids) => <textarea {...ids} rows={12} value={content} onInput={(event) => setContent(event.currentTarget.value)} />}</FieldInput>
      <FieldInput label="Keywords" hint="Words to find it by, separated by commas.">
        {(ids) => <input {...ids} type="text" value={keywords} onInput={(event) => setKeywords(event.currentTarget.value)} />}
      </FieldInput>
      <div class="row">
        <FieldInput label="Source">{(ids) => <input {...ids} type="text" value={source} onInput={(event) => setSource(event.currentTarget.value)} />}</FieldInput>
        <FieldInput label="Trust" hint="A quarantined note is never recalled.">
          {(ids) => (
            <select {...ids} value={trust} onChange={(event) => setTrust(event.currentTarget.value)}>
              {trusts.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          )}
        </FieldInput>
      </div>
    </Confirm>
  );
}

const statusTexts = {
  deprecated: {
    title: "Deprecate this note?",
    action: "Deprecate the note",
    what: "is no longer recalled. It stays readable here, marked as deprecated, and can be made active again.",
  },
  archived: { title: "Archive this note?", action: "Archive the note", what: "is put away: no longer recalled, still readable here, and can be made active again." },
  active: { title: "Make this note active?", action: "Make it active", what: "is recalled again by every agent whose question it answers." },
} as const;

export function ChangeStatusDialog({ note, status, onClose }: { readonly note: NoteRow; readonly status: keyof typeof statusTexts; onClose(): void }) {
  const { change } = useNoteChange(note);
  const { title, action, what } = statusTexts[status];
  return (
    <Confirm title={title} action={action} act={() => change({ status }, `${note.name} is now ${status}.`)} onClose={onClose}>
      <p>
        <Name text={note.name} /> {what}
      </p>
    </Confirm>
  );
}

/** A new note, on its own or as the replacement of another. */
export function NewNoteDialog({ supersedes, onClose }: { readonly supersedes?: NoteRow; onClose(): void }) {
  const { namespace } = useView();
  const [id, setId] = useState("");
  const [content, setContent] = useState(supersedes?.content ?? "");
  const [keywords, setKeywords] = useState(supersedes?.keywords.join(", ") ?? "");
  const [source, setSource] = useState("");
  const [skill, setSkill] = useState(supersedes?.skill ?? "");
  const act = async () => {
    const skillPart = skill.trim() === "" ? {} : { skill: skill.trim() };
    await callTool(namespace, "save_knowledge", {
      id: id.trim(),
      content,
      keywords: keywordList(keywords),
      ...skillPart,
      ...(source.trim() === "" ? {} : { source: source.trim() }),
      ...(supersedes === undefined ? {} : { supersedes: supersedes.name }),
    });
    const name = skill.trim() === "" ? id.trim() : `@${skill.trim()}/${id.trim()}`;
    announce(supersedes === undefined ? `${name} was saved.` : `${name} supersedes ${supersedes.name}.`);
    navigate(hrefOf(namespace, "knowledge", name));
    return undefined;
  };
  return (
    <Confirm
      title={supersedes === undefined ? "New note" : "Supersede this note"}
      action="Save the note"
      dismiss="Cancel"
      wide
      needs={id.trim() === "" ? "An id is still missing." : content.trim() === "" ? "The note is still empty." : undefined}
      act={act}
      onClose={onClose}
    >
      {supersedes !== undefined && (
        <p>
          The new note takes the place of <Name text={supersedes.name} />, which is deprecated in the same step and no longer recalled.
        </p>
      )}
      <div class="row">
        <FieldInput label="Id" hint="A short name, for example deploy/rollback. A note with this id is replaced.">
          {(ids) => <input {...ids} type="text" class="mono" spellcheck={false} autocapitalize="off" value={id} onInput={(event) => setId(event.currentTarget.value)} />}
        </FieldInput>
        <FieldInput label="Skill (optional)" hint="Only recalled for this skill.">
          {(ids) => <input {...ids} type="text" class="mono" spellcheck={false} autocapitalize="off" value={skill} onInput={(event) => setSkill(event.currentTarget.value)} />}
        </FieldInput>
      </div>
      <FieldInput label="Note (Markdown)">{(ids) => <textarea {...ids} rows={10} value={content} onInput={(event) => setContent(event.currentTarget.value)} />}</FieldInput>
      <div class="row">
        <FieldInput label="Keywords" hint="Separated by commas.">
          {(ids) => <input {...ids} type="text" value={keywords} onInput={(event) => setKeywords(event.currentTarget.value)} />}
        </FieldInput>
        <FieldInput label="Source (optional)">{(ids) => <input {...ids} type="text" value={source} onInput={(event) => setSource(event.currentTarget.value)} />}</FieldInput>
      </div>
    </Confirm>
  );
}
