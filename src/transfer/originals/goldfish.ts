import { basename } from "node:path";
import type { ForeignEntry } from "../../domain/journal/adopt-entry.ts";
import { isMemoryMatter, memoryToEntry, projectOf, readMemoryFile } from "./goldfish-memories.ts";
import { isObject, textOf, textsOf } from "./parse-json.ts";
import type { FoundRecord, LeftBehind, Problem, Reading } from "./reading.ts";
import { readTextFile, walkFolder } from "./walk-folder.ts";

/**
 * COA Goldfish writes one JSON file per item: `<workspace>/checkpoints/<day>/<id>.json`, in earlier versions
 * `memories/<workspace>/sessions/<day>/<session>/checkpoint-….json`. Version 5 and later keep Markdown in each project's `.memories` folder.
 * The kind of a file is determined by its content, so folder names need not be trusted.
 */
export async function readGoldfish(path: string): Promise<Reading> {
  const records: FoundRecord[] = [];
  const problems: Problem[] = [];
  const others = new Map<string, number>();
  const project = projectOf(path);
  // A copy in another location is named after its folder.
  const workspaceName = project?.workspaceName ?? basename(path, ".md");
  for (const file of await walkFolder(path, [".json", ".db", ".md"], problems)) {
    if (file.name.endsWith(".db")) {
      problems.push({ where: file.name, reason: "is the database of a later Goldfish; only JSON and Markdown files are read" });
      continue;
    }
    const read = await readTextFile(file.path);
    const readOne = file.name.endsWith(".md") ? readMemoryFile : readMemory;
    const memory = "text" in read ? readOne(read.text, file.name, workspaceName) : read;
    if ("reason" in memory) problems.push({ where: file.name, reason: memory.reason });
    else if ("other" in memory) others.set(memory.other, (others.get(memory.other) ?? 0) + 1);
    else records.push(memory);
  }
  // A session's highlights are collected in the order in which they were saved.
  records.sort((a, b) => timeOf(a) - timeOf(b));
  return { source: "goldfish", records, problems, leftBehind: [...others].map(leftBehind), project };
}

const timeOf = (record: FoundRecord): number => (record.kind === "journal entry" ? record.entry.createdAtMs : 0);

const leftBehind = ([type, count]: readonly [string, number]): LeftBehind => ({ what: type, count, reason: "Only checkpoints can be imported, as journal entries." });

function readMemory(text: string, name: string, projectName: string): FoundRecord | { readonly other: string } | { readonly reason: string } {
  let memory: unknown;
  try {
    memory = JSON.parse(text);
  } catch {
    return { reason: "is not JSON" };
  }
  if (!isObject(memory)) return { reason: "is not an object" };
  if (isMemoryMatter(memory) && typeof memory.description === "string") return memoryToEntry(memory, memory.description, name, projectName);
  if (memory.type !== "checkpoint") return describeOther(memory);
  const content = isObject(memory.content) ? memory.content : { description: memory.content };
  const description = textOf(content.description);
  if (description === undefined) return { reason: "has no description" };
  const createdAtMs = Date.parse(String(memory.timestamp));
  if (Number.isNaN(createdAtMs)) return { reason: "has no time" };
  const id = textOf(memory.id) ?? name.slice(name.lastIndexOf("/") + 1, -".json".length);
  const workspaceName = textOf(memory.workspace) ?? name.split("/")[0] ?? "global";
  const entry: ForeignEntry = {
    id,
    createdAtMs,
    description,
    highlights: textsOf(content.highlights),
    activeFiles: textsOf(content.activeFiles),
    // Goldfish tags every checkpoint as one.
    tags: textsOf(memory.tags).filter((tag) => tag !== "checkpoint"),
    gitBranch: textOf(content.gitBranch),
    workContext: textOf(content.workContext),
    sessionId: textOf(memory.sessionId) ?? textOf(content.sessionId) ?? "default",
    global: workspaceName === "global",
  };
  return { kind: "journal entry", where: name, entry, workspaceName };
}

/** To-do lists have no type; everything else names its own. */
function describeOther(memory: Readonly<Record<string, unknown>>): { readonly other: string } | { readonly reason: string } {
  if (typeof memory.type === "string") return { other: `memories of type ${memory.type.slice(0, 40)}` };
  return Array.isArray(memory.items) ? { other: "to-do lists" } : { reason: "is not in a form that Goldfish writes" };
}
