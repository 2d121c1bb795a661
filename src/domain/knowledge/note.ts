import { invalidInput } from "../../kernel/errors.ts";
import { readText, requireFields, requireList, requireOneOf, requireText } from "../read-fields.ts";
import { arrayOf, enumOf, object, optional, storedAs, string } from "../stored-record.ts";

export const statuses = ["active", "deprecated", "archived"] as const;
/** How far a note may be relied on. A quarantined one is kept and never recalled; the others weigh in the ranking. */
export const trustLevels = ["quarantined", "low", "medium", "high"] as const;
export type NoteStatus = (typeof statuses)[number];
export type Trust = (typeof trustLevels)[number];

/** What the store keeps of a note; its id and skill are its key. */
export interface NoteContent {
  readonly content: string;
  readonly keywords: readonly string[];
  /** What somebody who has not read the note would ask. Absent in notes that were saved without. */
  readonly questions?: readonly string[];
  readonly source?: string;
  readonly status: NoteStatus;
  readonly trust: Trust;
  /** Full names of the note this one replaces, and of the one that replaces it. */
  readonly supersedes?: string;
  readonly supersededBy?: string;
}

export interface Note extends NoteContent {
  readonly id: string;
  /** Absent: a global note. */
  readonly skill?: string;
  readonly version: number;
  readonly savedAtMs: number;
  readonly writer: string;
  readonly agent?: string;
}

export const toNoteContent = storedAs(
  object<NoteContent>({
    content: string,
    keywords: arrayOf(string),
    questions: optional(arrayOf(string)),
    source: optional(string),
    status: enumOf(statuses),
    trust: enumOf(trustLevels),
    supersedes: optional(string),
    supersededBy: optional(string),
  }),
);

/** Every note fits the largest budget a recall may have. */
export const noteLimits = {
  contentBytesMax: 80_000,
  idBytesMax: 128,
  skillBytesMax: 64,
  keywordBytesMax: 128,
  keywordsMax: 64,
  questionBytesMax: 256,
  questionsMax: 5,
  sourceBytesMax: 2_048,
} as const;

const idForm = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._:@/-]*$/u;
const skillForm = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._:-]*$/u;

export function requireNoteId(id: unknown, field = "id"): string {
  if (typeof id !== "string" || !idForm.test(id) || !id.isWellFormed() || Buffer.byteLength(id) > noteLimits.idBytesMax)
    throw invalidInput(field, `must begin with a letter or digit, then letters, digits and . _ : @ / -, at most ${noteLimits.idBytesMax} bytes`);
  return id;
}

export function requireSkill(skill: unknown): string {
  if (typeof skill !== "string" || !skillForm.test(skill) || !skill.isWellFormed() || Buffer.byteLength(skill) > noteLimits.skillBytesMax)
    throw invalidInput("skill", `must begin with a letter or digit, then letters, digits and . _ : -, at most ${noteLimits.skillBytesMax} bytes`);
  return skill;
}

/** `limits` is global, `@shipping/limits` the one of the skill shipping: no id begins with @, no skill contains a slash. */
export const fullName = (id: string, skill: string | undefined): string => (skill === undefined ? id : `@${skill}/${id}`);

export function requireFullName(name: string, field: string): { readonly id: string; readonly skill?: string } {
  const [, skill, id] = /^@([^/]+)\/(.+)$/u.exec(name) ?? [];
  return skill === undefined ? { id: requireNoteId(name, field) } : { id: requireNoteId(id, field), skill: requireSkill(skill) };
}

const contentFields = ["content", "keywords", "questions", "source", "status", "trust", "supersedes", "supersededBy"] as const satisfies readonly (keyof NoteContent)[];

/** Checked field by field, from whoever brings it: a caller or a mirror file. */
export function requireNoteContent(value: unknown): NoteContent {
  const fields = requireFields(value, "note", contentFields);
  const source = readText(fields.source, "source", noteLimits.sourceBytesMax);
  const questions = requireList(fields.questions, "questions", noteLimits.questionsMax, (item, field) => requireText(item, field, noteLimits.questionBytesMax));
  return {
    content: requireText(fields.content, "content", noteLimits.contentBytesMax),
    keywords: requireList(fields.keywords, "keywords", noteLimits.keywordsMax, (item, field) => requireText(item, field, noteLimits.keywordBytesMax)),
    ...(questions.length === 0 ? {} : { questions }),
    ...(source === undefined ? {} : { source }),
    status: requireOneOf(fields.status ?? "active", "status", statuses),
    trust: requireOneOf(fields.trust ?? "medium", "trust", trustLevels),
    ...optionalName("supersedes", fields.supersedes),
    ...optionalName("supersededBy", fields.supersededBy),
  };
}

function optionalName(field: "supersedes" | "supersededBy", value: unknown): { readonly [K in typeof field]?: string } {
  if (value === undefined) return {};
  const { id, skill } = requireFullName(requireText(value, field, noteLimits.idBytesMax + noteLimits.skillBytesMax + 2), field);
  return { [field]: fullName(id, skill) };
}

/** Deprecated, archived and quarantined notes are not in the index at all: nothing has to remember to leave them out. */
export const isRecallable = ({ status, trust }: Pick<NoteContent, "status" | "trust">): boolean => status === "active" && trust !== "quarantined";
