import { invalidInput } from "../../kernel/errors.ts";
import { readText, requireFields, requireList, requireOneOf, requireText } from "../read-fields.ts";
import { arrayOf, enumOf, number, object, optional, pairOf, storedAs, string } from "../stored-record.ts";

export const triggers = ["synthesis", "branch_point", "constraint", "transition", "manual"] as const;
export const sourceTypes = ["person", "document", "code", "api", "observation"] as const;
export const relations = ["supports", "contradicts", "nuances"] as const;
export const resolutions = ["unresolved", "resolved", "moot"] as const;
export const contributionTypes = ["discovery", "experiment", "synthesis"] as const;
export const actionTypes = ["decision", "implementation", "learning", "exploration"] as const;

export interface Source {
  readonly id: string;
  readonly type: (typeof sourceTypes)[number];
  /** What the source says, in the researcher's words. */
  readonly take: string;
  readonly relation: (typeof relations)[number];
}
export interface Tension {
  /** Two sources, or two claims. */
  readonly between: readonly [string, string];
  readonly nature: string;
  readonly resolution: (typeof resolutions)[number];
}
export interface Contribution {
  readonly type: (typeof contributionTypes)[number];
  readonly content: string;
}
export interface Action {
  readonly goal: string;
  readonly type: (typeof actionTypes)[number];
}

/** The state of a line of research at one moment. A checkpoint never changes; a later one continues it. */
export interface ResearchContent {
  readonly coreQuestion: string;
  readonly thesis: string;
  /** 0 to 1. */
  readonly confidence: number;
  readonly trigger: (typeof triggers)[number];
  readonly openQuestions: readonly string[];
  readonly sources: readonly Source[];
  readonly tensions: readonly Tension[];
  readonly uniqueContributions: readonly Contribution[];
  readonly action?: Action;
  readonly skill?: string;
  readonly workspace?: string;
  /** The full id of an earlier checkpoint. */
  readonly continues?: string;
  /** Questions that a later reader would ask to find this checkpoint. */
  readonly questions?: readonly string[];
}

export interface ResearchCheckpoint extends ResearchContent {
  readonly id: string;
  readonly savedAtMs: number;
  /** The authenticated principal, and the label the caller gave itself. */
  readonly writer: string;
  readonly agent?: string;
}

/** The stored value; the id is part of the key. */
export type StoredResearch = ResearchContent & Pick<ResearchCheckpoint, "savedAtMs">;

export const toResearch = storedAs(
  object<StoredResearch>({
    coreQuestion: string,
    thesis: string,
    confidence: number,
    trigger: enumOf(triggers),
    openQuestions: arrayOf(string),
    sources: arrayOf(object<Source>({ id: string, type: enumOf(sourceTypes), take: string, relation: enumOf(relations) })),
    tensions: arrayOf(object<Tension>({ between: pairOf(string), nature: string, resolution: enumOf(resolutions) })),
    uniqueContributions: arrayOf(object<Contribution>({ type: enumOf(contributionTypes), content: string })),
    action: optional(object<Action>({ goal: string, type: enumOf(actionTypes) })),
    skill: optional(string),
    workspace: optional(string),
    continues: optional(string),
    questions: optional(arrayOf(string)),
    savedAtMs: number,
  }),
);

export const researchLimits = { textBytesMax: 65_536, labelBytesMax: 256, itemsMax: 200, questionsMax: 5 } as const;
const { textBytesMax, labelBytesMax, itemsMax, questionsMax } = researchLimits;

const contentFields = [
  "coreQuestion",
  "thesis",
  "confidence",
  "trigger",
  "openQuestions",
  "sources",
  "tensions",
  "uniqueContributions",
  "action",
  "skill",
  "workspace",
  "continues",
  "questions",
] as const satisfies readonly (keyof ResearchContent)[];

/** Checks content from a caller or a mirror file, field by field. Errors name fields as the tools spell them. */
export function requireResearchContent(value: unknown): ResearchContent {
  const fields = requireFields(value, "checkpoint", contentFields);
  const { confidence } = fields;
  if (typeof confidence !== "number" || !(confidence >= 0 && confidence <= 1)) throw invalidInput("confidence", "must be a number from 0 to 1");
  return withoutAbsent({
    coreQuestion: requireText(fields.coreQuestion, "core_question", textBytesMax),
    thesis: requireText(fields.thesis, "thesis", textBytesMax),
    // JSON has no negative zero.
    confidence: confidence + 0,
    trigger: requireOneOf(fields.trigger ?? "synthesis", "trigger", triggers),
    openQuestions: requireList(fields.openQuestions, "open_questions", itemsMax, (item, field) => requireText(item, field, textBytesMax)),
    sources: requireList(fields.sources, "sources", itemsMax, requireSource),
    tensions: requireList(fields.tensions, "tensions", itemsMax, requireTension),
    uniqueContributions: requireList(fields.uniqueContributions, "unique_contributions", itemsMax, requireContribution),
    action: fields.action === undefined ? undefined : requireAction(fields.action),
    skill: readText(fields.skill, "skill", labelBytesMax),
    workspace: readText(fields.workspace, "workspace", labelBytesMax),
    continues: readText(fields.continues, "continues", labelBytesMax),
    questions: fields.questions === undefined ? undefined : requireList(fields.questions, "questions", questionsMax, (item, field) => requireText(item, field, labelBytesMax)),
  });
}

function requireSource(value: unknown, field: string): Source {
  const { id, type, take, relation } = requireFields(value, field, ["id", "type", "take", "relation"]);
  return {
    id: requireText(id, `${field}.id`, textBytesMax),
    type: requireOneOf(type, `${field}.type`, sourceTypes),
    take: requireText(take, `${field}.take`, textBytesMax),
    relation: requireOneOf(relation, `${field}.relation`, relations),
  };
}

function requireTension(value: unknown, field: string): Tension {
  const { between, nature, resolution } = requireFields(value, field, ["between", "nature", "resolution"]);
  if (!Array.isArray(between) || between.length !== 2) throw invalidInput(`${field}.between`, "must be a list of exactly two strings");
  return {
    between: [requireText(between[0], `${field}.between[0]`, textBytesMax), requireText(between[1], `${field}.between[1]`, textBytesMax)],
    nature: requireText(nature, `${field}.nature`, textBytesMax),
    resolution: requireOneOf(resolution ?? "unresolved", `${field}.resolution`, resolutions),
  };
}

function requireContribution(value: unknown, field: string): Contribution {
  const { type, content } = requireFields(value, field, ["type", "content"]);
  return { type: requireOneOf(type, `${field}.type`, contributionTypes), content: requireText(content, `${field}.content`, textBytesMax) };
}

function requireAction(value: unknown): Action {
  const { goal, type } = requireFields(value, "action", ["goal", "type"]);
  return { goal: requireText(goal, "action.goal", textBytesMax), type: requireOneOf(type, "action.type", actionTypes) };
}

/** Drops undefined members: the store keeps JSON, which has no `undefined`. */
const withoutAbsent = <Record_ extends object>(record: Record_): Record_ => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Record_;
