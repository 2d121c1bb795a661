import type { Note } from "../../domain/knowledge/note.ts";
import { requireNoteContent, requireNoteId, requireSkill } from "../../domain/knowledge/note.ts";
import { requireFields } from "../../domain/read-fields.ts";
import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { requireLabel, requireTimeText } from "./record-fields.ts";
import { fromYaml, toYaml } from "./yaml-text.ts";

const format = "holdfast-note-1";
const fence = "---\n";

const names = {
  format: "format",
  id: "id",
  skill: "skill",
  version: "version",
  saved: "savedAtMs",
  author: "writer",
  agent: "agent",
  source: "source",
  status: "status",
  trust: "trust",
  supersedes: "supersedes",
  superseded_by: "supersededBy",
  keywords: "keywords",
  questions: "questions",
} as const satisfies Record<string, keyof Note | "format">;

/** The note's Markdown unchanged, after front matter with all other fields; one line break is added at the end. */
export function noteToMarkdown(note: Note): string {
  const record: Record<string, unknown> = { ...note, format, savedAtMs: new Date(note.savedAtMs).toISOString() };
  const matter = toYaml(Object.fromEntries(Object.entries(names).flatMap(([key, name]) => (record[name] === undefined ? [] : [[key, record[name] as Json]]))));
  return `${fence}${matter}${fence}${note.content}\n`;
}

/** Reads a record written by `noteToMarkdown`, with the same checks as for a caller's input. */
export function noteFromMarkdown(text: string): Note {
  const end = text.indexOf(`\n${fence}`, fence.length - 1);
  if (!text.startsWith(fence) || end === -1) throw invalidInput("file", "must begin with front matter between two lines of three dashes");
  const fields = requireFields(fromYaml(text.slice(fence.length, end + 1)), "file", Object.keys(names));
  if (fields.format !== format) throw invalidInput("format", `must be ${format}`);
  const { id, skill, version, savedAtMs, writer, agent, format: _, ...rest } = Object.fromEntries(Object.entries(names).map(([key, name]) => [name, fields[key]]));
  if (!Number.isSafeInteger(version) || (version as number) < 1) throw invalidInput("version", "must be a whole number, 1 or more");
  return {
    id: requireNoteId(id),
    ...(skill === undefined ? {} : { skill: requireSkill(skill) }),
    version: version as number,
    savedAtMs: requireTimeText(savedAtMs, "saved"),
    writer: requireLabel(writer, "author"),
    ...(agent === undefined ? {} : { agent: requireLabel(agent, "agent") }),
    ...requireNoteContent({ ...rest, content: text.slice(end + 1 + fence.length).replace(/\n$/, "") }),
  };
}
