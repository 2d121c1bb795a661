import * as z from "zod";
import { mirrorCheckpoint } from "../domain/mirror/mirror.ts";
import type { ResearchCheckpoint } from "../domain/research/checkpoint.ts";
import { requireCheckpoint, saveCheckpoint } from "../domain/research/checkpoints.ts";
import { listCheckpoints } from "../domain/research/list-checkpoints.ts";
import { researchContext } from "../domain/research/research-context.ts";
import { badCursor, cursor, fromCursor, listOf, toCursor } from "./cursor.ts";
import { isoTime, pageLimit, query, text, texts, warning } from "./fields.ts";
import { researchInput, toResearchContent } from "./research-input.ts";
import { defineTool } from "./tool.ts";
import { except, keptIn, linesOfUnknown } from "./unknown-arguments.ts";
import { visiblePath } from "./visible-path.ts";

const warningsMax = 10;
const page = { default: 10, max: 100 } as const;

export const saveCheckpointTool = defineTool({
  name: "save_checkpoint",
  title: "Save a research checkpoint",
  description:
    "Save where a line of research stands. questions: that it answers; trigger: default synthesis; continues: an earlier id. duplicate_of: an equal one (nothing is saved) or a near one.",
  pointers: [{ to: ["save_knowledge"], text: "Single facts: save_knowledge." }],
  toolset: "research",
  effect: "write-idempotent",
  input: researchInput,
  output: z.strictObject({ checkpoint_id: z.string(), path: z.string().nullable(), duplicate_of: z.string().optional(), warning }),
  positional: ["thesis"],
  cli: { command: ["research", "save"] },
  adoptUnknown(known, { action_goal: goal, action_type: type, ...others }, profile) {
    // Makes Sage search for code by itself. Holdfast has no such search.
    const unknown = profile === "sage" ? except(others, ["auto_code_context"]) : others;
    // Sage passes these as separate arguments.
    const action = known.action === undefined && (typeof goal === "string" || typeof type === "string") ? { action: { goal, type } } : {};
    const contributions = linesOfUnknown(unknown).map((content) => ({ type: "synthesis", content }));
    if (contributions.length === 0) return { args: { ...known, ...action }, warnings: [] };
    const given = known.unique_contributions ?? [];
    if (!Array.isArray(given)) return undefined;
    return {
      args: { ...known, ...action, unique_contributions: [...given, ...contributions] },
      warnings: keptIn(profile === "sage" ? except(unknown, ["key_evidence", "reasoning_trace", "template"]) : unknown, "unique_contributions"),
    };
  },
  async handle(context, args) {
    const { content, adjusted } = toResearchContent(args);
    const { checkpointId, duplicateOf } = await saveCheckpoint(context, content);
    const mirrored = await mirrorCheckpoint(context, context.server.mirror, checkpointId);
    const warnings = [...("warning" in mirrored ? [mirrored.warning] : []), ...adjusted.slice(0, warningsMax)];
    return {
      checkpoint_id: checkpointId,
      ...mirrored,
      path: visiblePath(context.server, mirrored.path),
      ...(duplicateOf === undefined ? {} : { duplicate_of: duplicateOf }),
      ...(warnings.length === 0 ? {} : { warning: warnings.join("\n") }),
    };
  },
});

export const listCheckpointsTool = defineTool({
  name: "list_checkpoints",
  title: "List research checkpoints",
  description: `Research checkpoints, newest first, or best match first with query (also: other wordings). limit: default ${page.default}.`,
  pointers: [
    { to: ["load_checkpoint"], text: "The whole: load_checkpoint." },
    { to: ["checkpoint"], text: "The work journal: checkpoint." },
  ],
  toolset: "research",
  effect: "read",
  input: z.strictObject({
    limit: pageLimit(page.max).optional(),
    skill: text.optional(),
    query: query.optional(),
    also: texts,
    workspace: text.optional(),
    cursor: cursor.optional(),
  }),
  output: z.strictObject({
    checkpoints: z.array(
      z.strictObject({
        id: z.string(),
        thesis: z.string(),
        confidence: z.number(),
        trigger: z.string(),
        saved: isoTime,
        skill: z.string().nullable(),
        workspace: z.string().nullable(),
      }),
    ),
    cursor: z.string().nullable(),
  }),
  positional: ["query"],
  cli: { command: ["research", "list"] },
  async handle(context, { limit, cursor: given, ...filter }) {
    // A position is meaningful only in the list it came from.
    const list = listOf("checkpoints", filter);
    const after = given === undefined ? undefined : fromCursor(list, given);
    if (after !== undefined && !(filter.query === undefined ? /^\d{16}-\d{16}\/./u : /^\d{1,6}$/).test(after)) throw badCursor();
    const { checkpoints, next } = await listCheckpoints(context, { ...filter, limit: limit ?? page.default, after });
    return {
      checkpoints: checkpoints.map(({ savedAtMs, skill = null, workspace = null, ...summary }) => ({ ...summary, saved: new Date(savedAtMs).toISOString(), skill, workspace })),
      cursor: next === undefined ? null : toCursor(list, next),
    };
  },
});

export const loadCheckpointTool = defineTool({
  name: "load_checkpoint",
  title: "Load a research checkpoint",
  description: "Read a research checkpoint by its id or a unique part.",
  toolset: "research",
  effect: "read",
  input: z.strictObject({ checkpoint_id: text }),
  output: z.strictObject({
    checkpoint: z.custom<Record<string, unknown>>((value) => typeof value === "object").meta({ type: "object" }),
    formatted_context: z.string().optional(),
  }),
  positional: ["checkpoint_id"],
  cli: { command: ["research", "load"] },
  async handle(context, { checkpoint_id }) {
    const checkpoint = await requireCheckpoint(context, checkpoint_id);
    return { checkpoint: checkpointAnswer(checkpoint), formatted_context: researchContext(checkpoint) };
  },
  wording: { field: "formatted_context", keptIn: "sage" },
  render: (answer) => [answer.formatted_context as string],
});

export const checkpointAnswer = (checkpoint: ResearchCheckpoint) => ({
  id: checkpoint.id,
  saved: new Date(checkpoint.savedAtMs).toISOString(),
  author: checkpoint.writer,
  agent_id: checkpoint.agent ?? null,
  core_question: checkpoint.coreQuestion,
  thesis: checkpoint.thesis,
  confidence: checkpoint.confidence,
  trigger: checkpoint.trigger,
  open_questions: checkpoint.openQuestions,
  sources: checkpoint.sources,
  tensions: checkpoint.tensions,
  unique_contributions: checkpoint.uniqueContributions,
  action: checkpoint.action ?? null,
  skill: checkpoint.skill ?? null,
  workspace: checkpoint.workspace ?? null,
  continues: checkpoint.continues ?? null,
});

export const researchTools = [saveCheckpointTool, listCheckpointsTool, loadCheckpointTool];
