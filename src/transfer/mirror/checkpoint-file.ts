import { requireFields, requireText } from "../../domain/read-fields.ts";
import type { ResearchCheckpoint } from "../../domain/research/checkpoint.ts";
import { requireResearchContent, researchLimits } from "../../domain/research/checkpoint.ts";
import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { requireLabel, requireTimeText } from "./record-fields.ts";
import { fromYaml, toYaml } from "./yaml-text.ts";

const format = "holdfast-research-checkpoint-1";

/** Maps file keys, in reading order, to the record's names. */
const names = {
  format: "format",
  id: "id",
  saved: "savedAtMs",
  author: "writer",
  agent: "agent",
  core_question: "coreQuestion",
  thesis: "thesis",
  confidence: "confidence",
  trigger: "trigger",
  skill: "skill",
  workspace: "workspace",
  continues: "continues",
  open_questions: "openQuestions",
  sources: "sources",
  tensions: "tensions",
  unique_contributions: "uniqueContributions",
  action: "action",
} as const satisfies Record<string, keyof ResearchCheckpoint | "format">;

export function checkpointToYaml(checkpoint: ResearchCheckpoint): string {
  const record: Record<string, unknown> = { ...checkpoint, format, savedAtMs: new Date(checkpoint.savedAtMs).toISOString() };
  return toYaml(Object.fromEntries(Object.entries(names).flatMap(([key, name]) => (record[name] === undefined ? [] : [[key, record[name] as Json]]))));
}

/** Reads a record written by `checkpointToYaml`, with the same checks as for a caller's input. */
export function checkpointFromYaml(text: string): ResearchCheckpoint {
  const fields = requireFields(fromYaml(text), "file", Object.keys(names));
  if (fields.format !== format) throw invalidInput("format", `must be ${format}`);
  const { id, writer, agent, savedAtMs, format: _, ...content } = Object.fromEntries(Object.entries(names).map(([key, name]) => [name, fields[key]]));
  return {
    id: requireText(id, "id", researchLimits.labelBytesMax),
    savedAtMs: requireTimeText(savedAtMs, "saved"),
    writer: requireLabel(writer, "author"),
    ...(agent === undefined ? {} : { agent: requireLabel(agent, "agent") }),
    ...requireResearchContent(content),
  };
}
