import { HoldfastError } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { knowledgeKeys } from "../keyspace.ts";
import { noteWrite } from "./knowledge.ts";
import type { NoteContent, NoteStatus, Trust } from "./note.ts";
import { requireFullName, requireNoteContent, toNoteContent } from "./note.ts";

export interface NoteChange {
  /** The note's full name. */
  readonly name: string;
  /** The version that the user saw; absent to change any version. */
  readonly version?: number;
  readonly content?: string;
  readonly keywords?: readonly string[];
  readonly questions?: readonly string[];
  readonly source?: string;
  readonly status?: NoteStatus;
  readonly trust?: Trust;
}

/** Changes the given fields of a note and keeps the others. Fails with `conflict` if the note has changed since `version`. */
export function changeNote(scope: Scope, { name, version, ...change }: NoteChange): Promise<{ readonly version: number }> {
  requireFullName(name, "name");
  const key = knowledgeKeys.note(name);
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  return transact<null, { version: number }>(scope, {
    async decide() {
      const entry = (await scope.store.read(keyRange(key))).entries[0];
      if (entry === undefined) throw new HoldfastError("not_found", `There is no note ${JSON.stringify(name)}.`, { details: { name } });
      if (version !== undefined && entry.version !== version)
        throw new HoldfastError(
          "conflict",
          `The note ${JSON.stringify(name)} was changed since you read it: it has version ${entry.version}, not ${version}; nothing was changed.`,
          {
            hint: "Read it again and decide based on its current content.",
            details: { name, expected_version: version, actual_version: entry.version },
          },
        );
      const before = toNoteContent(entry);
      const after = requireNoteContent({ ...before, ...given });
      // A note that is active again is no longer superseded.
      const { supersededBy, ...free } = after;
      const note: NoteContent = after.status === "active" || supersededBy === undefined ? free : after;
      if (canonicalJson(before) === canonicalJson(note)) return { answer: { version: entry.version } };
      return { checks: [{ key, version: entry.version }], writes: [noteWrite(name, note, "save")], note: null };
    },
    finish: (_, committed) => ({ version: committed.writes[0]?.version ?? 0 }),
  });
}
