import type { Contribution, ResearchContent, Source, Tension } from "../../domain/research/checkpoint.ts";
import { actionTypes, contributionTypes, relations, resolutions, sourceTypes, triggers } from "../../domain/research/checkpoint.ts";
import { neutralWord, withSaid } from "../../domain/research/neutral-word.ts";
import { isObject, textOf, textsOf } from "./parse-json.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Sage does not validate its words and has fields without a counterpart here. A word that is not allowed becomes a neutral one and stays
 * readable in the text beside it. A field without a counterpart becomes a contribution that names the field. The report lists both.
 */
export function contentOf(fields: Fields, knownIds: ReadonlySet<string>): { readonly content: ResearchContent; readonly adjusted: readonly string[] } {
  const adjusted: string[] = [];
  const action = isObject(fields.action) ? fields.action : {};
  const goal = textOf(action.goal);
  const parent = textOf(fields.parent_checkpoint);
  if (parent !== undefined && !knownIds.has(parent)) adjusted.push(`it continues ${parent}, which does not exist`);
  const contributions = [...listOf(fields.unique_contributions).flatMap((each) => contribution(each, adjusted)), ...withoutPlace(fields, adjusted)];
  return {
    content: {
      coreQuestion: textOf(fields.core_question) ?? missing("core question", adjusted),
      thesis: textOf(fields.thesis) ?? missing("thesis", adjusted),
      confidence: typeof fields.confidence === "number" ? fields.confidence : Number.NaN,
      trigger: neutralWord(textOf(fields.trigger) ?? "manual", { allowed: triggers, neutral: "manual", what: "trigger" }, adjusted).word,
      openQuestions: textsOf(fields.open_questions).filter((question) => question.trim() !== ""),
      sources: listOf(fields.sources).map((each) => source(each, adjusted)),
      tensions: listOf(fields.tensions).flatMap((each) => tension(each, contributions, adjusted)),
      uniqueContributions: contributions,
      action: goal === undefined ? undefined : actionOf(goal, action.type, adjusted),
      skill: textOf(fields.skill),
      workspace: textOf(fields.project),
      continues: parent !== undefined && knownIds.has(parent) ? parent : undefined,
    },
    adjusted,
  };
}

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);

function missing(what: string, adjusted: string[]): string {
  adjusted.push(`it has no ${what}`);
  return "(not recorded)";
}

function source({ id, type, take, relation }: Fields, adjusted: string[]): Source {
  const kind = neutralWord(type, { allowed: sourceTypes, neutral: "document", what: "source type" }, adjusted);
  const stance = neutralWord(relation, { allowed: relations, neutral: "nuances", what: "relation" }, adjusted);
  return { id: textOf(id) ?? "(unnamed)", type: kind.word, take: withSaid(textOf(take) ?? "(nothing noted)", kind.said, stance.said), relation: stance.word };
}

function tension({ between, nature, resolution }: Fields, contributions: Contribution[], adjusted: string[]): Tension[] {
  const [one, other, ...more] = textsOf(between);
  const outcome = neutralWord(resolution, { allowed: resolutions, neutral: "unresolved", what: "resolution" }, adjusted);
  const text = withSaid(textOf(nature) ?? "(nothing noted)", outcome.said);
  if (textOf(one) !== undefined && textOf(other) !== undefined && more.length === 0) return [{ between: [one as string, other as string], nature: text, resolution: outcome.word }];
  adjusted.push("a tension that is not between two became a contribution");
  contributions.push({ type: "synthesis", content: `Tension between ${textsOf(between).join(", ")}: ${text}` });
  return [];
}

function contribution({ type, content }: Fields, adjusted: string[]): Contribution[] {
  const text = textOf(content);
  if (text === undefined) return [];
  const kind = neutralWord(type, { allowed: contributionTypes, neutral: "discovery", what: "contribution type" }, adjusted);
  return [{ type: kind.word, content: withSaid(text, kind.said) }];
}

function actionOf(goal: string, type: unknown, adjusted: string[]): ResearchContent["action"] {
  const kind = neutralWord(type, { allowed: actionTypes, neutral: "exploration", what: "action type" }, adjusted);
  return { goal: withSaid(goal, kind.said), type: kind.word };
}

function withoutPlace(fields: Fields, adjusted: string[]): Contribution[] {
  const parts: readonly (readonly [what: string, texts: readonly string[]])[] = [
    ["Key evidence", textsOf(fields.key_evidence)],
    ["Reasoning", [textOf(fields.reasoning_trace)].filter((text) => text !== undefined)],
    ["Code references", [textOf(fields.code_references)].filter((text) => text !== undefined)],
    ["Files explored", [textsOf(fields.files_explored).join(", ")]],
    ["Files changed", [textsOf(fields.files_changed).join(", ")]],
    ["From", textsOf(fields.unread)],
  ];
  return parts.flatMap(([what, texts]) => {
    const said = texts.filter((text) => text.trim() !== "");
    if (said.length > 0) adjusted.push(`${what.toLowerCase()} became ${said.length === 1 ? "a contribution" : "contributions"}`);
    return said.map((text): Contribution => ({ type: "synthesis", content: `${what}: ${text}` }));
  });
}
