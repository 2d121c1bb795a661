import * as z from "zod";
import { saveNote } from "../domain/knowledge/knowledge.ts";
import { fullName, statuses, trustLevels } from "../domain/knowledge/note.ts";
import { notesContext } from "../domain/knowledge/notes-context.ts";
import type { PossibleNote } from "../domain/knowledge/recall.ts";
import { recallNotes } from "../domain/knowledge/recall.ts";
import type { SimilarNote } from "../domain/knowledge/similar-note.ts";
import { findSimilarNote } from "../domain/knowledge/similar-note.ts";
import { mirrorNote } from "../domain/mirror/mirror.ts";
import { quotedInline } from "../domain/stored-text.ts";
import { estimateTokens } from "../kernel/tokens.ts";
import { isoTime, pageLimit, query, text, texts, warning } from "./fields.ts";
import { defineTool } from "./tool.ts";
import { except, keptIn, linesOfUnknown } from "./unknown-arguments.ts";
import { visiblePath } from "./visible-path.ts";

const items = { default: 3, max: 20 } as const;
const budget = { default: 2_000, max: 20_000 } as const;

export const saveKnowledge = defineTool({
  name: "save_knowledge",
  title: "Save a note",
  description:
    "Keep a fact as a Markdown note; the same id replaces it. keywords: other words for it. With skill, for that skill only. supersedes: a note's id, deprecated in the same step. Only active ones are recalled; quarantined never.",
  toolset: "knowledge",
  effect: "write-idempotent",
  input: z.strictObject({
    id: text,
    content: text,
    keywords: z.array(text).optional(),
    questions: texts.describe("up to 5 it answers, in an asker's words, one in English"),
    skill: text.optional(),
    source: text.optional(),
    status: z.enum(statuses).optional(),
    supersedes: text.optional(),
    trust: z.enum(trustLevels).optional(),
  }),
  output: z.strictObject({
    id: z.string(),
    scope: z.string(),
    tokens: z.int(),
    version: z.int(),
    path: z.string().nullable(),
    warning,
    hint: z.string().optional(),
  }),
  positional: ["id", "content"],
  cli: { command: ["knowledge", "save"] },
  adoptUnknown(known, { knowledge_id: id, ...unknown }, profile) {
    const named = known.id === undefined && id !== undefined ? { id } : {};
    const lines = linesOfUnknown(unknown);
    if (lines.length === 0) return { args: { ...known, ...named }, warnings: [] };
    if (typeof known.content !== "string") return undefined;
    return {
      args: { ...known, ...named, content: `${known.content}\n\n${lines.join("\n")}` },
      warnings: keptIn(profile === "sage" ? except(unknown, ["item_type", "code_links"]) : unknown, "content"),
    };
  },
  async handle(context, args) {
    const { profile } = context.server;
    // Searched before the save, so that a failed search cannot hide that the note was saved.
    const similar = profile === "sage" || !isActive(args) ? undefined : await findSimilarNote(context, args);
    const { name, version, superseded } = await saveNote(context, args);
    const mirrored = await mirrorNote(context, context.server.mirror, name);
    if (superseded !== undefined) await mirrorNote(context, context.server.mirror, superseded);
    const scope = scopeOf(args);
    const hints = [...(similar === undefined ? [] : [similarHint(similar)]), ...(profile !== "sage" && isActive(args) && !args.questions?.length ? [questionsMissing] : [])];
    return {
      id: args.id,
      scope,
      tokens: estimateTokens(args.content),
      version,
      ...mirrored,
      path: visiblePath(context.server, mirrored.path),
      ...(hints.length === 0 ? {} : { hint: hints.join(" ") }),
    };
  },
});

export const recallKnowledge = defineTool({
  name: "recall_knowledge",
  title: "Recall notes",
  description: `Notes that answer a question, global and of the skill. maybe: titles that could be meant. limit: default ${items.default}; max_tokens: default ${budget.default}.`,
  toolset: "knowledge",
  effect: "read",
  input: z.strictObject({
    query,
    also: texts.describe("2-3 other wordings: terms, synonyms, English"),
    skill: text.optional(),
    limit: pageLimit(items.max).optional(),
    max_tokens: pageLimit(budget.max).optional(),
  }),
  output: z.strictObject({
    items: z.array(
      z.strictObject({
        id: z.string(),
        scope: z.string(),
        content: z.string(),
        source: z.string().nullable(),
        tokens: z.int(),
        score: z.number(),
        why: z.array(z.string()),
        saved: isoTime,
        author: z.string(),
        trust: z.string(),
        version: z.int(),
        revision: z.int(),
      }),
    ),
    maybe: z.array(z.string()).optional(),
    total_tokens: z.int(),
    omitted: z.int().optional(),
    hint: z.string().optional(),
    formatted_context: z.string().optional(),
  }),
  positional: ["query"],
  cli: { command: ["knowledge", "recall"] },
  async handle(context, args) {
    const recall = await recallNotes(context, {
      query: args.query,
      also: args.also,
      skill: args.skill,
      limit: args.limit ?? items.default,
      maxTokens: args.max_tokens ?? budget.default,
      vectors: context.server.vectors,
    });
    const hints = [
      ...(recall.notes.length > 0 || args.also?.length || context.server.profile === "sage" ? [] : [wordingsMissing]),
      ...(recall.problem === undefined ? [] : [`Found by words alone: ${recall.problem}`]),
    ];
    return {
      items: recall.notes.map((note) => ({
        id: note.id,
        scope: scopeOf(note),
        content: note.content,
        source: note.source ?? null,
        tokens: note.tokens,
        score: Math.round(note.score * 1000) / 1000,
        why: note.why,
        saved: new Date(note.savedAtMs).toISOString(),
        author: note.writer,
        trust: note.trust,
        version: note.version,
        revision: note.revision,
      })),
      ...(recall.maybe.length === 0 ? {} : { maybe: recall.maybe.map(possibleLine) }),
      total_tokens: recall.totalTokens,
      ...(recall.omitted === 0 ? {} : { omitted: recall.omitted }),
      ...(hints.length === 0 ? {} : { hint: hints.join(" ") }),
      formatted_context: notesContext(recall),
    };
  },
  wording: { field: "formatted_context", keptIn: "sage" },
  render: ({ formatted_context: text, maybe, omitted, hint }) => [
    (text as string) || (omitted === undefined ? "No stored note clearly answers this." : "Notes answer this, but none fits max_tokens."),
    ...(omitted === undefined ? [] : [`${omitted} more did not fit max_tokens.`]),
    ...(maybe === undefined ? [] : [["Possibly related:", ...(maybe as readonly string[]).map((line) => `- ${line}`)].join("\n")]),
    ...(hint === undefined ? [] : [hint as string]),
  ],
});

const whyShown = 4;

const possibleLine = ({ id, skill, title, why }: PossibleNote): string => `${fullName(id, skill)}: ${quotedInline(title)} (${why.slice(0, whyShown).join(", ")})`;

const scopeOf = ({ skill }: { readonly skill?: string }): string => (skill === undefined ? "global" : `skill:${skill}`);

const questionsMissing = "Saved without questions: a query in other words or another language may not find it.";
const wordingsMissing = "Search again with also: technical terms, synonyms, English.";

/** Only names the other note; a recall shows its text. */
const similarHint = ({ name, differs }: SimilarNote): string =>
  `Note ${quotedInline(name, nameShown)} says nearly the same${differs ? " with other numbers or a negation: one of them may be wrong" : ""}. Keep one: supersedes replaces the other.`;

/** Long enough for a complete skill and id. */
const nameShown = 200;

const isActive = ({ status = "active" }: { readonly status?: string }): boolean => status === "active";

export const knowledgeTools = [saveKnowledge, recallKnowledge];
