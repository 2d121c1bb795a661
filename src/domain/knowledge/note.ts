import { invalidInput } from "../../kernel/errors.ts";
import { readText, requireFields, requireList, requireOneOf, requireText } from "../read-fields.ts";
import { arrayOf, enumOf, object, optional, storedAs, string } from "../stored-record.ts";

export const statuses = ["active", "deprecated", "archived"] as const;
/** How reliable a note is. Quarantined notes are kept but never recalled; the other levels affect the ranking. */
export const trustLevels = ["quarantined", "low", "medium", "high"] as const;
export type NoteStatus = (typeof statuses)[number];
export type Trust = (typeof trustLevels)[number];

/** The stored value of a note. Its id and skill form the key. */
export interface NoteContent {
  readonly content: string;
  readonly keywords: readonly string[];
  /** Questions that someone who has not read the note would ask. Absent in notes saved without any. */
  readonly questions?: readonly string[];
  readonly source?: string;
  readonly status: NoteStatus;
  readonly trust: Trust;
  /** Full names of the note that this one replaces and of the note that replaces it. */
  readonly supersedes?: string;
  readonly supersededBy?: string;
}

export interface Note extends NoteContent {
  readonly id: string;
  /** Absent for a global note. */
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

/** Small enough that every note fits into the largest budget of a recall. */
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

/** `limits` is a global note, and `@shipping/limits` a note of the skill shipping. This is unambiguous: no id begins with @, and no skill contains a slash. */
export const fullName = (id: string, skill: string | undefined): string => (skill === undefined ? id : `@${skill}/${id}`);

export function requireFullName(name: string, field: string): { readonly id: string; readonly skill?: string } {
  const [, skill, id] = /^@([^/]+)\/(.+)$/u.exec(name) ?? [];
  return skill === undefined ? { id: requireNoteId(name, field) } : { id: requireNoteId(id, field), skill: requireSkill(skill) };
}

const contentFields = ["content", "keywords", "questions", "source", "status", "trust", "supersedes", "supersededBy"] as const satisfies readonly (keyof NoteContent)[];

/** Checks every field, because the value may come from a caller or from a mirror file. */
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

/** Deprecated, archived and quarantined notes are not indexed, so no search can return them by mistake. */
export const isRecallable = ({ status, trust }: Pick<NoteContent, "status" | "trust">): boolean => status === "active" && trust !== "quarantined";
