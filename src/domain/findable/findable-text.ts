import type { Json } from "../../kernel/json.ts";
import type { IndexedText } from "../../store/store.ts";
import { entryIndex, fromStoredEntry } from "../journal/journal-entry.ts";
import { journalKeys, knowledgeKeys, researchKeys } from "../keyspace.ts";
import { noteWrite } from "../knowledge/knowledge.ts";
import { toNoteContent } from "../knowledge/note.ts";
import { toResearch } from "../research/checkpoint.ts";
import { checkpointWrites } from "../research/checkpoints.ts";

/** True for keys whose values are in the text index. */
export const isFindable = (key: string): boolean => [journalKeys.entries, researchKeys.all, knowledgeKeys.all].some(({ start }) => key.startsWith(start));

/**
 * Rebuilds the searchable text of a value. A store keeps that text only for live entries, and restored past entries need it too.
 * Returns undefined for a value that does not have the form its key requires; it is restored without searchable text.
 */
export function findableText(key: string, value: Json): IndexedText | undefined {
  try {
    if (key.startsWith(journalKeys.entries.start)) {
      const entry = fromStoredEntry({ key, value });
      return entryIndex(entry.global ? "global" : entry.workspace.id, entry);
    }
    if (key.startsWith(knowledgeKeys.all.start)) return noteWrite(knowledgeKeys.nameOf(key), toNoteContent({ key, value }), "save").index;
    if (!key.startsWith(researchKeys.all.start)) return undefined;
    const [write] = checkpointWrites(researchKeys.idOf(key), toResearch({ key, value }), { savedAtMs: 0, seenRevision: 0 });
    return write?.op === "put" ? write.index : undefined;
  } catch {
    return undefined;
  }
}
