import { sep } from "node:path";
import type { ForeignEntry } from "../../domain/journal/adopt-entry.ts";
import { entryLimits } from "../../domain/journal/journal-entry.ts";
import { structuredContext } from "../../domain/journal/structured-context.ts";
import { parseYaml, splitFrontMatter } from "./front-matter.ts";
import { isObject, textOf, textsOf } from "./parse-json.ts";
import type { FoundRecord, Reading } from "./reading.ts";

/** The content of a file in a `.memories` folder: an entry, something without a counterpart, or something unreadable. */
export type Memory = FoundRecord | { readonly other: string } | { readonly reason: string };

/** Recognises the fields of a Goldfish checkpoint, version 5 and later: in front matter, or in JSON written by a related program. */
export const isMemoryMatter = ({ id, timestamp }: Readonly<Record<string, unknown>>): boolean =>
  typeof id === "string" && id.startsWith("checkpoint_") && (typeof timestamp === "string" || typeof timestamp === "number" || timestamp instanceof Date);

/** Reads `.memories/<day>/<time>_<hash>.md`; briefs (formerly plans) are in a folder next to the days. */
export function readMemoryFile(text: string, name: string, workspaceName: string): Memory {
  const { matter, body } = splitFrontMatter(text);
  if (matter === undefined) return { other: "Markdown files without front matter" };
  const parsed = parseYaml(matter, "1.2");
  if ("reason" in parsed) return parsed;
  const { fields } = parsed;
  if (isMemoryMatter(fields)) return memoryToEntry(fields, body, name, workspaceName);
  return typeof fields.title === "string" && typeof fields.status === "string" ? { other: "briefs and plans" } : { reason: "is not a checkpoint: id or timestamp is missing" };
}

export function memoryToEntry(fields: Readonly<Record<string, unknown>>, body: string, name: string, workspaceName: string): FoundRecord | { readonly reason: string } {
  const description = body.trim();
  if (description === "") return { reason: "has no description" };
  const createdAtMs = timeOf(fields.timestamp);
  if (Number.isNaN(createdAtMs)) return { reason: "has no time" };
  const git = isObject(fields.git) ? fields.git : {};
  const files = textsOf(git.files ?? git.files_changed ?? git.filesChanged);
  const brief = textOf(fields.briefId) ?? textOf(fields.planId);
  const context = [...structuredContext(fields), ...(brief === undefined ? [] : [`Brief: ${brief}`])];
  const entry: ForeignEntry = {
    id: String(fields.id),
    createdAtMs,
    description,
    highlights: [],
    activeFiles: files.slice(0, entryLimits.filesMax),
    tags: textsOf(fields.tags),
    gitBranch: textOf(git.branch),
    gitCommit: typeof git.commit === "string" && /^[0-9a-f]{4,64}$/.test(git.commit) ? git.commit : undefined,
    workContext: context.length === 0 ? undefined : context.join("\n"),
    // Goldfish 5 and later have no sessions.
    sessionId: `goldfish-${new Date(createdAtMs).toISOString().slice(0, 10)}`,
    global: false,
  };
  const adjusted = files.length > entryLimits.filesMax ? [`the first ${entryLimits.filesMax} of ${files.length} files were kept`] : undefined;
  return { kind: "journal entry", where: name, entry, workspaceName, adjusted };
}

/** ISO text, or seconds or milliseconds in files of related programs. */
function timeOf(value: unknown): number {
  const ms = typeof value === "number" ? (value > 1e10 ? value : value * 1000) : typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(new Date(ms).getTime()) ? Number.NaN : ms;
}

/** The project that contains this `.memories` folder or this file in it. */
export function projectOf(path: string): Reading["project"] {
  const parts = path.split(sep);
  const memories = parts.lastIndexOf(".memories");
  const workspaceName = parts[memories - 1];
  return memories < 1 || workspaceName === undefined || workspaceName === "" ? undefined : { folder: parts.slice(0, memories).join(sep), workspaceName };
}
