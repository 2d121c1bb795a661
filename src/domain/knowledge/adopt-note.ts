import { canonicalJson } from "../../kernel/json.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import type { AdoptOptions, Landing } from "../adoption.ts";
import { adopt } from "../adoption.ts";
import { knowledgeKeys } from "../keyspace.ts";
import { noteWrite } from "./knowledge.ts";
import type { NoteContent } from "./note.ts";
import { fullName, requireNoteContent, requireNoteId, requireSkill } from "./note.ts";

export interface ForeignNote extends NoteContent {
  readonly id: string;
  readonly skill?: string;
}

/** Imports a note unchanged, regardless of its status. */
export function adoptNote(scope: Scope, { id, skill, ...rest }: ForeignNote, options: AdoptOptions): Promise<Landing> {
  const name = fullName(requireNoteId(id), skill === undefined ? undefined : requireSkill(skill));
  const note = requireNoteContent(rest);
  const key = knowledgeKeys.note(name);
  return adopt(scope, options, async () => {
    const here = (await scope.store.read(keyRange(key))).entries[0];
    if (here !== undefined) return { landing: canonicalJson(here.value) === canonicalJson(note) ? "same" : "different" };
    return { checks: [{ key, is: "absent" }], writes: [noteWrite(name, note, "save")] };
  });
}
