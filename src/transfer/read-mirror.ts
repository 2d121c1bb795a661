import { isHoldfastError } from "../kernel/errors.ts";
import { checkpointFromYaml } from "./mirror/checkpoint-file.ts";
import { noteFromMarkdown } from "./mirror/note-file.ts";
import type { FoundRecord, LeftBehind, Problem, Reading } from "./originals/reading.ts";
import { readTextFile, walkFolder } from "./originals/walk-folder.ts";

/** Reads mirror files anywhere below the folder. Files of other namespaces, below `@@name`, must be imported separately. */
export async function readMirror(path: string): Promise<Reading> {
  const problems: Problem[] = [];
  const records: FoundRecord[] = [];
  let foreign = 0;
  for (const file of await walkFolder(path, [".yaml", ".md"], problems)) {
    if (file.name.split("/").some((part) => part.startsWith("@@"))) {
      foreign += 1;
      continue;
    }
    const read = await readTextFile(file.path);
    const record = "text" in read ? parseMirrorFile(file.name, read.text) : read;
    if ("reason" in record) problems.push({ where: file.name, reason: record.reason });
    else records.push(record);
  }
  const leftBehind: LeftBehind[] =
    foreign === 0 ? [] : [{ what: "files of other namespaces", count: foreign, reason: "Import the folder that begins with @@ separately, with --namespace." }];
  return { source: "mirror", records: records.sort((a, b) => timeOf(a) - timeOf(b)), problems, leftBehind };
}

function parseMirrorFile(name: string, text: string): FoundRecord | { readonly reason: string } {
  try {
    if (name.endsWith(".yaml")) {
      const { writer, agent, ...checkpoint } = checkpointFromYaml(text);
      return { kind: "research checkpoint", where: name, author: agent ?? writer, checkpoint };
    }
    const { writer, agent, version: _, savedAtMs: __, ...note } = noteFromMarkdown(text);
    return { kind: "note", where: name, author: agent ?? writer, note };
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return { reason: error.message };
  }
}

const timeOf = (record: FoundRecord): number => (record.kind === "research checkpoint" ? record.checkpoint.savedAtMs : 0);
