import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { indexText } from "../../search/index-text.ts";
import { keyRange, rangeAfter } from "../../store/ranges.ts";
import type { Check, Entry, Put, Store } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { knowledgeKeys } from "../keyspace.ts";
import { toStored } from "../stored-record.ts";
import type { Note, NoteContent, NoteStatus, Trust } from "./note.ts";
import { fullName, isRecallable, requireFullName, requireNoteContent, requireNoteId, requireSkill, toNoteContent } from "./note.ts";

export interface SaveNoteInput {
  readonly id: string;
  readonly content: string;
  readonly keywords?: readonly string[];
  /** Questions that someone who has not read the note would ask. If omitted, they are removed unless the text is unchanged; the same applies to keywords and source. */
  readonly questions?: readonly string[];
  readonly skill?: string;
  readonly source?: string;
  readonly status?: NoteStatus;
  /** If omitted, the note keeps its trust, so that saving it again does not lift a quarantine. New notes get medium. */
  readonly trust?: Trust;
  /** The note to deprecate in the same commit: the id of a note of the same skill or of a global one, or a full name. */
  readonly supersedes?: string;
}
export interface SaveNoteResult {
  /** The note's full name. */
  readonly name: string;
  readonly version: number;
  /** The full name of the note that this one replaced. */
  readonly superseded?: string;
}

/** Saves a note and replaces the one with the same id and skill. If the text is unchanged, omitted fields are kept. Saving an identical note writes nothing. */
export async function saveNote(scope: Scope, { id, skill, trust, supersedes, ...rest }: SaveNoteInput): Promise<SaveNoteResult> {
  const name = fullName(requireNoteId(id), skill === undefined ? undefined : requireSkill(skill));
  const given = requireNoteContent({ ...rest, trust });
  const key = knowledgeKeys.note(name);
  return transact<{ superseded: string | null }, SaveNoteResult>(scope, {
    async decide() {
      const before = (await scope.store.read(keyRange(key))).entries[0];
      const other = supersedes === undefined ? undefined : await requireSuperseded(scope.store, name, skill, supersedes);
      const previous = before && toNoteContent(before);
      const note: NoteContent = {
        ...(previous?.content.trim() === given.content.trim() ? withLeftOut(given, rest, previous) : given),
        trust: trust ?? previous?.trust ?? given.trust,
        ...(other === undefined ? {} : { supersedes: knowledgeKeys.nameOf(other.key) }),
      };
      const deprecated = other && deprecation(other, name);
      const superseded = other === undefined ? null : knowledgeKeys.nameOf(other.key);
      if (before !== undefined && deprecated === undefined && canonicalJson(before.value) === canonicalJson(note))
        return { answer: { name, version: before.version, ...(superseded === null ? {} : { superseded }) } };
      const checks: Check[] = [{ key, version: before?.version ?? 0 }, ...(other === undefined ? [] : [{ key: other.key, revision: other.revision }])];
      return { checks, writes: [noteWrite(name, note, "save"), ...(deprecated === undefined ? [] : [deprecated])], note: { superseded } };
    },
    finish: ({ superseded }, committed) => ({ name, version: committed.writes[0]?.version ?? 0, ...(superseded === null ? {} : { superseded }) }),
  });
}

/** Saving the same text again adds to the note, so omitted fields are kept. */
const withLeftOut = (given: NoteContent, { keywords, questions, source }: Pick<SaveNoteInput, "keywords" | "questions" | "source">, previous: NoteContent): NoteContent => ({
  ...given,
  ...(keywords === undefined ? { keywords: previous.keywords } : {}),
  ...(questions === undefined && previous.questions !== undefined ? { questions: previous.questions } : {}),
  ...(source === undefined && previous.source !== undefined ? { source: previous.source } : {}),
  ...(previous.supersedes === undefined ? {} : { supersedes: previous.supersedes }),
});

function deprecation(other: Entry, by: string): Put | undefined {
  const note = toNoteContent(other);
  return note.status !== "active" && note.supersededBy === by
    ? undefined
    : noteWrite(knowledgeKeys.nameOf(other.key), { ...note, status: "deprecated", supersededBy: by }, "supersede");
}

export function noteWrite(name: string, note: NoteContent, op: "save" | "supersede"): Put {
  const { id, skill } = requireFullName(name, "id");
  return {
    op: "put",
    key: knowledgeKeys.note(name),
    value: toStored(note),
    record: { kind: "knowledge", op, subject: name },
    index: isRecallable(note)
      ? indexText(knowledgeKeys.area(skill), [
          { text: note.keywords.join("\n"), weight: 3 },
          { text: id, weight: 2 },
          { text: note.content, weight: 1 },
          { text: (note.questions ?? []).join("\n"), weight: 1 },
        ])
      : undefined,
  };
}

/** An id refers to the note of the same skill if there is one, otherwise to the global note. */
async function requireSuperseded(store: Store, name: string, skill: string | undefined, supersedes: string): Promise<Entry> {
  const target = requireFullName(supersedes, "supersedes");
  const names = target.skill !== undefined || skill === undefined ? [supersedes] : [fullName(target.id, skill), supersedes];
  const { entries } = await store.read(names.map((each) => keyRange(knowledgeKeys.note(each))));
  const entry = entries.find(({ key }) => knowledgeKeys.nameOf(key) !== name);
  if (entry !== undefined) return entry;
  if (names.includes(name)) throw invalidInput("supersedes", "must be another note than the one being saved");
  throw new HoldfastError("not_found", `supersedes: there is no note ${JSON.stringify(supersedes)}.`, {
    hint: "history_log with kind knowledge shows the saved ones.",
    details: { supersedes },
  });
}

/** Reads the note with this full name, regardless of its status. */
export async function readNote({ store }: Pick<Scope, "store">, name: string): Promise<Note | undefined> {
  requireFullName(name, "id");
  const entry = (await store.read(keyRange(knowledgeKeys.note(name)))).entries[0];
  return entry && toNote(entry);
}

/** Lists the full names of recallable notes in order. `after` is the last name of the previous page. */
export async function listNoteNames(
  { store }: Pick<Scope, "store">,
  { prefix = "", after, limit }: { readonly prefix?: string; readonly after?: string; readonly limit: number },
): Promise<{ readonly names: readonly string[]; readonly next?: string }> {
  const all = knowledgeKeys.notes(prefix);
  const { entries, more } = await store.read(after === undefined ? all : rangeAfter(all, knowledgeKeys.note(after)), { limit });
  const last = entries.at(-1);
  return {
    names: entries.filter((entry) => isRecallable(toNoteContent(entry))).map(({ key }) => knowledgeKeys.nameOf(key)),
    ...(more && last !== undefined ? { next: knowledgeKeys.nameOf(last.key) } : {}),
  };
}

export function toNote(entry: Entry): Note {
  const { key, version, updatedAtMs, writer, agent } = entry;
  return {
    ...requireFullName(knowledgeKeys.nameOf(key), "id"),
    ...toNoteContent(entry),
    version,
    savedAtMs: updatedAtMs,
    writer,
    ...(agent === undefined ? {} : { agent }),
  };
}
