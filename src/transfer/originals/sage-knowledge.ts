import { statuses } from "../../domain/knowledge/note.ts";
import { parseYaml, splitFrontMatter } from "./front-matter.ts";
import { isObject, textOf, textsOf } from "./parse-json.ts";
import type { FoundRecord, Problem } from "./reading.ts";
import type { FoundFile } from "./walk-folder.ts";
import { readTextFile } from "./walk-folder.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Notes are in a folder called knowledge, unless the given folder is that folder itself. */
export const isKnowledgeFile = (name: string, rootName: string): boolean => name.split("/").slice(0, -1).includes("knowledge") || (rootName === "knowledge" && name !== rootName);

/** A note's file contains its text; the index has its id, keywords and scope. For files missing from the index, their own front matter is used. */
export async function readNotes(files: readonly FoundFile[], problems: Problem[]): Promise<readonly FoundRecord[]> {
  const index = await readIndex(files, problems);
  const records: FoundRecord[] = [];
  for (const file of files.filter(({ name }) => name.endsWith(".md"))) {
    const read = await readTextFile(file.path);
    const path = [...index.keys()].find((candidate) => file.name === candidate || file.name.endsWith(`/${candidate}`));
    const items = path === undefined ? [undefined] : (index.get(path) as readonly Fields[]);
    if (path !== undefined) index.delete(path);
    // Each index item that names the file is a separate note.
    for (const item of items) {
      const result = "text" in read ? notesOf(read.text, item, file.name) : read;
      if ("reason" in result) problems.push({ where: file.name, reason: result.reason });
      else records.push(...result.notes);
    }
  }
  for (const [path, items] of index) for (const { id } of items) problems.push({ where: path, reason: `is listed in the index (${String(id)}) but does not exist` });
  return records;
}

async function readIndex(files: readonly FoundFile[], problems: Problem[]): Promise<Map<string, Fields[]>> {
  const items = new Map<string, Fields[]>();
  for (const file of files.filter(({ name }) => /\.ya?ml$/.test(name))) {
    const read = await readTextFile(file.path);
    const parsed = "text" in read ? parseYaml(read.text, "1.1") : read;
    if ("reason" in parsed) {
      problems.push({ where: file.name, reason: parsed.reason });
      continue;
    }
    for (const [i, item] of (Array.isArray(parsed.fields.items) ? parsed.fields.items : []).entries()) {
      if (isObject(item) && typeof item.file === "string") items.set(item.file, [...(items.get(item.file) ?? []), item]);
      else problems.push({ where: `${file.name} item ${i + 1}`, reason: "names no file" });
    }
  }
  return items;
}

function notesOf(text: string, item: Fields | undefined, where: string): { readonly notes: readonly FoundRecord[] } | { readonly reason: string } {
  const { matter, body } = splitFrontMatter(text);
  const parsed = matter === undefined ? { fields: {} } : parseYaml(matter, "1.1");
  if ("reason" in parsed) return parsed;
  const own: Fields = parsed.fields;
  const [triggers, scope, metadata] = [item?.triggers, item?.scope, item?.metadata].map((part) => (isObject(part) ? part : {})) as [Fields, Fields, Fields];
  const id = textOf(item?.id) ?? textOf(own.id);
  if (id === undefined) return { reason: "is not listed in the index and has no id" };
  const type = textOf(item?.type) ?? textOf(own.type) ?? "knowledge";
  const adjusted = [
    ...(item === undefined ? ["it is not listed in the index"] : []),
    ...(type === "knowledge" ? [] : [`its type ${JSON.stringify(type)} became a keyword`]),
    ...(textsOf(triggers.patterns).length === 0 ? [] : ["its patterns are dropped: notes are found by their words"]),
    ...(scope.always === true ? ["it was always recalled; here it is recalled when it matches the question"] : []),
  ];
  const keywords = item === undefined ? textsOf(own.keywords) : textsOf(triggers.keywords);
  const source = textOf(metadata.source) ?? textOf(own.source);
  const note = {
    id,
    content: body,
    keywords: type === "knowledge" ? keywords : [...keywords, type],
    ...(source === undefined ? {} : { source }),
    status: statusOf(textOf(metadata.status) ?? textOf(own.status)),
    trust: "medium" as const,
  };
  const skills = item === undefined ? skillsOf(own.skill) : textsOf(scope.skills);
  if (skills.length > 1) adjusted.push("it was for several skills; each gets its own copy");
  const scopes: readonly (string | undefined)[] = skills.length === 0 ? [undefined] : skills;
  return { notes: scopes.map((skill): FoundRecord => ({ kind: "note", where, note: skill === undefined ? note : { ...note, skill }, adjusted })) };
}

const skillsOf = (skill: unknown): readonly string[] => (typeof skill === "string" ? [skill] : textsOf(skill));

/** Completed to-dos are kept but not recalled. */
const statusOf = (status: string | undefined): (typeof statuses)[number] => (status === "done" ? "archived" : (statuses.find((each) => each === status) ?? "active"));
