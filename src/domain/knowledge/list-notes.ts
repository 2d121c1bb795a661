import { rangeAfter } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Scope } from "../../store/transact.ts";
import { knowledgeKeys } from "../keyspace.ts";
import { toNote } from "./knowledge.ts";
import type { Note, NoteStatus } from "./note.ts";
import { fullName } from "./note.ts";

export interface NotesQuery {
  readonly status?: NoteStatus;
  /** Only notes whose full name begins with this. */
  readonly prefix?: string;
  readonly limit: number;
  /** The last name of the previous page. */
  readonly after?: string;
}

/** Limits for one page: characters of content, notes per read, and notes examined. */
const page = { charactersMax: 1_000_000, readAtOnce: 20, lookedAtMax: 2_000 } as const;

/** Lists notes of every status and trust by name, for display to people. A page may be short and still have a next one. */
export const listNotes = (scope: Pick<Scope, "store">, query: NotesQuery): Promise<NotesPage> => readTogether(scope.store, (store) => readPage({ store }, query));

interface NotesPage {
  readonly notes: readonly Note[];
  readonly next?: string;
}

async function readPage({ store }: Pick<Scope, "store">, { status, prefix = "", limit, after }: NotesQuery): Promise<NotesPage> {
  const all = knowledgeKeys.notes(prefix);
  const notes: Note[] = [];
  let last = after;
  let left: number = page.charactersMax;
  for (let looked = 0; looked < page.lookedAtMax; looked += page.readAtOnce) {
    const { entries, more } = await store.read(last === undefined ? all : rangeAfter(all, knowledgeKeys.note(last)), { limit: page.readAtOnce });
    for (const [i, entry] of entries.entries()) {
      const note = toNote(entry);
      last = fullName(note.id, note.skill);
      if (status !== undefined && note.status !== status) continue;
      notes.push(note);
      left -= note.content.length;
      const isLast = !more && i === entries.length - 1;
      if (notes.length === limit || left <= 0) return isLast ? { notes } : { notes, next: last };
    }
    if (!more) return { notes };
  }
  return { notes, next: last };
}

const skillsMax = 100;

/** Lists the skills that have notes. It seeks from one skill to the next instead of reading all notes. */
export async function listSkills({ store }: Pick<Scope, "store">): Promise<readonly string[]> {
  const skills: string[] = [];
  let range = knowledgeKeys.notes("@");
  while (skills.length < skillsMax) {
    const { entries } = await store.read(range, { limit: 1, values: false });
    const [, skill] = /^@([^/]+)\//u.exec(entries[0] === undefined ? "" : knowledgeKeys.nameOf(entries[0].key)) ?? [];
    if (skill === undefined) break;
    skills.push(skill);
    range = { ...range, start: knowledgeKeys.notes(`@${skill}/`).end as string };
  }
  return skills;
}
