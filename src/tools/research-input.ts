import * as z from "zod";
import type { Contribution, ResearchContent, Source, Tension } from "../domain/research/checkpoint.ts";
import { actionTypes, contributionTypes, relations, resolutions, sourceTypes, triggers } from "../domain/research/checkpoint.ts";
import { neutralWord, withSaid } from "../domain/research/neutral-word.ts";
import { text, texts } from "./fields.ts";
import { textOfUnknown } from "./unknown-arguments.ts";

/** The schema suggests these words to models but accepts any text, so that one wrong word does not lose the save. */
const openWord = (words: readonly string[]) => text.meta({ enum: [...words] }).optional();

/** Unknown members are kept as text too. */
const source = z.looseObject({ id: text, type: openWord(sourceTypes), take: text, relation: openWord(relations) });
const tension = z.looseObject({ between: z.array(text).length(2), nature: text, resolution: openWord(resolutions) });
const contribution = z.looseObject({ type: openWord(contributionTypes), content: text });
const action = z.looseObject({ goal: text.optional(), type: openWord(actionTypes) });

export const researchInput = z.strictObject({
  core_question: text,
  thesis: text,
  confidence: z.number().min(0).max(1),
  trigger: openWord(triggers),
  open_questions: z.array(text).optional(),
  sources: z.array(source).optional(),
  tensions: z.array(tension).optional(),
  unique_contributions: z.array(contribution).optional(),
  action: action.optional(),
  skill: text.optional(),
  workspace: text.optional(),
  continues: text.optional(),
  questions: texts,
});

/** The content to save, and a list of what had to be adjusted. */
export function toResearchContent(input: z.output<typeof researchInput>): { readonly content: Partial<ResearchContent>; readonly adjusted: readonly string[] } {
  const adjusted: string[] = [];
  const { core_question, open_questions, unique_contributions, trigger, sources, tensions, action: given, ...rest } = input;
  const content: Partial<ResearchContent> = {
    ...rest,
    coreQuestion: core_question,
    openQuestions: open_questions,
    sources: sources?.map((each, i) => toSource(each, `sources[${i}]`, adjusted)),
    tensions: tensions?.map((each, i) => toTension(each, `tensions[${i}]`, adjusted)),
    uniqueContributions: unique_contributions?.map((each, i) => toContribution(each, `unique_contributions[${i}]`, adjusted)),
    action: given && toAction(given, adjusted),
  };
  if (trigger === undefined) return { content, adjusted };
  const why = neutralWord(trigger, { allowed: triggers, neutral: "manual", what: "trigger" }, adjusted);
  const said = why.said.map((line): Contribution => ({ type: "synthesis", content: line }));
  return { content: { ...content, trigger: why.word, ...(said.length === 0 ? {} : { uniqueContributions: [...(content.uniqueContributions ?? []), ...said] }) }, adjusted };
}

function toSource({ id, type, take, relation, ...more }: z.output<typeof source>, field: string, adjusted: string[]): Source {
  const kind = neutralWord(type, { allowed: sourceTypes, neutral: "document", what: `${field}.type` }, adjusted);
  const stance = neutralWord(relation, { allowed: relations, neutral: "nuances", what: `${field}.relation` }, adjusted);
  return { id, type: kind.word, take: withSaid(take, kind.said.map(lastPart), stance.said.map(lastPart), extras(more, field, adjusted)), relation: stance.word };
}

function toTension({ between, nature, resolution = "unresolved", ...more }: z.output<typeof tension>, field: string, adjusted: string[]): Tension {
  const outcome = neutralWord(resolution, { allowed: resolutions, neutral: "unresolved", what: `${field}.resolution` }, adjusted);
  return { between: between as [string, string], nature: withSaid(nature, outcome.said.map(lastPart), extras(more, field, adjusted)), resolution: outcome.word };
}

function toContribution({ type, content, ...more }: z.output<typeof contribution>, field: string, adjusted: string[]): Contribution {
  const kind = neutralWord(type, { allowed: contributionTypes, neutral: "discovery", what: `${field}.type` }, adjusted);
  return { type: kind.word, content: withSaid(content, kind.said.map(lastPart), extras(more, field, adjusted)) };
}

/** Without a goal there is no action: some callers send `{}` for an omitted one. */
function toAction({ goal, type, ...more }: z.output<typeof action>, adjusted: string[]): ResearchContent["action"] {
  if (goal === undefined || goal.trim() === "") return undefined;
  const kind = neutralWord(type, { allowed: actionTypes, neutral: "exploration", what: "action.type" }, adjusted);
  return { goal: withSaid(goal, kind.said.map(lastPart), extras(more, "action", adjusted)), type: kind.word };
}

/** Next to the text it belongs to, the member's name without its path is enough. */
const lastPart = (said: string): string => said.replace(/^[^:]*\./, "");

function extras(more: Readonly<Record<string, unknown>>, field: string, adjusted: string[]): readonly string[] {
  return Object.entries(more).map(([name, value]) => {
    adjusted.push(`${field}.${name.slice(0, 64)}: unknown; kept as text`);
    return `${name}: ${textOfUnknown(value)}`;
  });
}
