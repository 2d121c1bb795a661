import { lstat } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseYaml, splitFrontMatter } from "./front-matter.ts";
import { isObject, textOf } from "./parse-json.ts";
import type { FoundRecord, Problem, Reading } from "./reading.ts";
import { contentOf } from "./sage-content.ts";
import { isKnowledgeFile, readNotes } from "./sage-knowledge.ts";
import { fieldsOfMarkdown } from "./sage-markdown.ts";
import { readTextFile, walkFolder } from "./walk-folder.ts";

/**
 * Sage's folder (`~/.sage`, or `.sage` in a project) contains `checkpoints/<id>.md` (in earlier versions `.yaml`) and `knowledge/index.yaml`
 * with Markdown files below it. A folder with only checkpoints is accepted too, and so is a project with a `.sage` folder.
 */
export async function readSage(path: string): Promise<Reading> {
  const problems: Problem[] = [];
  const root = await rootOf(path);
  const files = await walkFolder(root, [".yaml", ".yml", ".md"], problems);
  const knowledge = files.filter(({ name }) => isKnowledgeFile(name, basename(root)));
  const read: ReadCheckpoint[] = [];
  for (const file of files.filter(({ name }) => isCheckpointFile(name, basename(root)))) {
    const text = await readTextFile(file.path);
    const checkpoint = "text" in text ? parseCheckpoint(text.text) : text;
    if ("reason" in checkpoint) problems.push({ where: file.name, reason: checkpoint.reason });
    else read.push({ ...checkpoint, where: file.name });
  }
  // A later checkpoint may refer to an earlier one, never the other way round.
  read.sort((a, b) => a.savedAtMs - b.savedAtMs);
  const knownIds = new Set(read.map(({ id }) => id));
  const checkpoints = read.map(({ id, savedAtMs, fields, where }): FoundRecord => {
    const { content, adjusted } = contentOf(fields, knownIds);
    return { kind: "research checkpoint", where, checkpoint: { id, savedAtMs, ...content }, adjusted };
  });
  return { source: "sage", records: [...checkpoints, ...(await readNotes(knowledge, problems))], problems, leftBehind: [] };
}

/** In a project, only the `.sage` folder contains Sage's files. */
const rootOf = async (path: string): Promise<string> => ((await lstat(join(path, ".sage")).catch(() => undefined))?.isDirectory() ? join(path, ".sage") : path);

/** Checkpoints are in a folder called checkpoints, unless the given folder or file is itself one. */
const isCheckpointFile = (name: string, rootName: string): boolean =>
  name.split("/").slice(0, -1).includes("checkpoints") || (!name.includes("/") && (rootName === "checkpoints" || rootName === name));

interface ReadCheckpoint {
  readonly id: string;
  readonly savedAtMs: number;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly where: string;
}

export function parseCheckpoint(text: string): Omit<ReadCheckpoint, "where"> | { readonly reason: string } {
  const { matter, body } = splitFrontMatter(text);
  const parsed = parseYaml(matter ?? text, "1.1");
  if ("reason" in parsed) return parsed;
  const fields = matter === undefined ? parsed.fields.checkpoint : markdownFields(parsed.fields, body);
  if (!isObject(fields)) return { reason: "contains no checkpoint" };
  const flat = { ...(isObject(fields.metadata) ? fields.metadata : {}), ...fields };
  const id = textOf(flat.id);
  if (id === undefined) return { reason: "has no id" };
  if (textOf(flat.thesis) === undefined && textOf(flat.core_question) === undefined) return { reason: "has neither a question nor a thesis" };
  const savedAtMs = timeOf(flat.ts, id);
  return Number.isNaN(savedAtMs) ? { reason: "has no time" } : { id, savedAtMs, fields: flat };
}

const markdownFields = (matter: Readonly<Record<string, unknown>>, body: string): Readonly<Record<string, unknown>> => ({
  ...matter,
  ...fieldsOfMarkdown(body),
  action: { goal: matter.action_goal, type: matter.action_type },
});

/** Sage's ids begin with a time, which serves as a fallback. */
function timeOf(ts: unknown, id: string): number {
  const stated = sageTime(ts);
  const [, day, hours, minutes, seconds] = /^(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})/.exec(id) ?? [];
  return Number.isNaN(stated) && day !== undefined ? Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`) : stated;
}

/** YAML 1.1 reads unquoted times as dates. */
const sageTime = (value: unknown): number => (value instanceof Date ? value.getTime() : typeof value === "string" ? Date.parse(value) : Number.NaN);
