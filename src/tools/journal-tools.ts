import * as z from "zod";
import { listEntries, positionOf, relatedToHits, requireEntry, searchEntries } from "../domain/journal/find-entries.ts";
import { readHighlights, saveEntry } from "../domain/journal/journal.ts";
import type { JournalEntry } from "../domain/journal/journal-entry.ts";
import { readLatest } from "../domain/journal/latest-entry.ts";
import { localDay } from "../domain/journal/local-time.ts";
import { structuredContext, structuredFields } from "../domain/journal/structured-context.ts";
import { parseTimeRange } from "../domain/journal/time-range.ts";
import { timeOfQuestion } from "../domain/journal/time-words.ts";
import { readOpenWork } from "../domain/resume/open-work.ts";
import type { Workspace } from "../domain/workspace/workspace.ts";
import { locateWorkspace } from "../domain/workspace/workspace.ts";
import { invalidInput } from "../kernel/errors.ts";
import { fingerprint } from "../kernel/json.ts";
import { readTogether } from "../store/read-together.ts";
import { fitting } from "./answer-size.ts";
import { cursor, fromCursor, toCursor } from "./cursor.ts";
import { label, texts as optionalTexts, pageLimit, warning } from "./fields.ts";
import { entryAnswer } from "./journal-answer.ts";
import type { JournalStyle } from "./journal-text.ts";
import { finished, restoredText, savedText, searchResultText, timelineText } from "./journal-text.ts";
import type { JournalFormat, ToolContext } from "./tool.ts";
import { defineTool, journalFormats } from "./tool.ts";
import { except, keptIn, linesOfUnknown } from "./unknown-arguments.ts";

const limit = { search: 10, related: 4, timeline: 50, max: 100 } as const;
const fullEntries = 10;
const daysMax = 3_650;
const dayMs = 86_400_000;

const actions = ["save", "restore", "search", "timeline"] as const;
const jsonObject = z.custom<Record<string, unknown>>((value) => typeof value === "object" && value !== null).meta({ type: "object" });
const texts = z.array(z.string());

/** A folder or a name; the domain resolves it. */
export const workspace = z
  .string()
  .refine((text) => text.trim() !== "" && text.length <= 4_096 && text.isWellFormed() && !text.includes("\0"), "must be a folder or a name, 1 to 4096 characters without NUL");

const input = z.strictObject({
  action: z.enum(actions).optional(),
  description: z.string().optional(),
  highlights: texts.optional(),
  activeFiles: texts.optional(),
  gitBranch: z.string().optional(),
  workContext: z.string().optional().describe("what a successor needs to know"),
  sessionId: z.string().optional().describe("groups highlights; default: yours"),
  agent_id: label.optional(),
  global: z.boolean().optional(),
  tags: texts.optional(),
  ttl_days: z
    .number()
    .refine((days) => days > 0 && days <= daysMax, `must be above 0 and at most ${daysMax}`)
    .optional()
    .describe("then deleted"),
  checkpointId: z.string().optional(),
  depth: z.enum(["minimal", "highlights", "full"]).optional().describe("full: the last 10 entries"),
  mode: z.enum(["latest", "specific", "search"]).optional(),
  questions: optionalTexts,
  query: z.string().optional(),
  also: optionalTexts,
  since: z.string().optional().describe("from when, as range"),
  limit: pageLimit(limit.max).optional(),
  range: z.string().optional(),
  format: z.enum(["compact", "detailed"]).optional(),
  cursor: cursor.optional(),
  workspace: workspace.optional(),
  outputFormat: z.enum(journalFormats).optional(),
});
type Arguments = z.output<typeof input>;

/** The result of an action; the envelope around it is the same for all. */
interface Outcome {
  readonly text: string;
  readonly data: Record<string, unknown>;
  readonly revision: number;
  /** The workspace in which the action took effect, if it is not the caller's current one. */
  readonly workspace?: Workspace;
}
type Action = (context: ToolContext, args: Arguments, workspace: Workspace, style: JournalStyle) => Promise<Outcome>;

export const checkpoint = defineTool({
  name: "checkpoint",
  title: "Work journal",
  description: `Work journal, per repository. description: save what you did (questions: that it answers); query: search (also: other wordings; limit: default ${limit.search}); range (7d, today, 2026-01-31): timeline; nothing: restore the last entry, highlights and open work. workspace: folder or name, else detected. global: for every workspace.`,
  toolset: "journal",
  effect: "write",
  input,
  output: z.strictObject({ success: z.boolean(), operation: z.enum(actions), formattedOutput: z.string().optional(), data: jsonObject, warning, meta: jsonObject }),
  positional: ["description"],
  adoptUnknown(known, unknown, profile) {
    // Only a save can keep additional text.
    if (typeof known.description !== "string" || known.action === "search" || known.action === "restore" || known.action === "timeline") return undefined;
    const isGoldfish = profile === "goldfish";
    const strange = isGoldfish ? except(unknown, structuredFields) : unknown;
    const context = [known.workContext, ...(isGoldfish ? structuredContext(unknown) : []), ...linesOfUnknown(strange)].filter((line) => typeof line === "string" && line !== "");
    return { args: { ...known, ...(context.length === 0 ? {} : { workContext: context.join("\n") }) }, warnings: keptIn(strange, "workContext") };
  },
  onlyReads: (args) => ((args as Arguments).action ?? actionOf(args)) !== "save",
  // The presence of these arguments selects the action: save, search or restore.
  keepsEmpty: ["description", "query"],
  async handle(context, given) {
    const isGoldfish = context.server.profile === "goldfish";
    const args = isGoldfish && given.workspace?.trim() === "current" ? { ...given, workspace: undefined } : given;
    const operation = args.action ?? actionOf(args);
    if (isGoldfish && operation === "save" && args.workspace?.trim() === "all")
      throw invalidInput("workspace", 'must be a folder or a name, or absent for the current one (got "all")');
    const outputFormat = args.outputFormat ?? context.server.journalFormat ?? (isGoldfish ? "plain" : "text");
    const [here, { nowMs }] = await Promise.all([locateWorkspace(context.store, context.server.surroundings, args.workspace?.trim()), context.store.position()]);
    const style = { emoji: outputFormat === "emoji", ascii: isGoldfish && outputFormat !== "emoji", echoes: isGoldfish, nowMs };
    const { text, data, revision, workspace = here } = await perform[operation](context, args, here, style);
    const unused = unusedArguments(operation, args);
    return {
      success: true,
      operation,
      formattedOutput: finished(style, text),
      data,
      ...(unused.length === 0 ? {} : { warning: `${operation} does not use ${unused.join(", ")}` }),
      meta: { outputFormat, revision, workspace: { id: workspace.id, name: workspace.name, ...(workspace.hint === undefined ? {} : { hint: workspace.hint }) } },
    };
  },
  wording: { field: "formattedOutput", keptIn: "goldfish" },
  render(answer) {
    const { outputFormat } = answer.meta as { outputFormat: JournalFormat };
    const text = answer.formattedOutput as string;
    if (outputFormat === "json") return [JSON.stringify(answer)];
    return outputFormat === "dual" ? [text, JSON.stringify(answer)] : [text];
  },
});

/** The default action, chosen by the argument that only this action takes. */
function actionOf({ description, query, range }: Arguments): (typeof actions)[number] {
  if (description !== undefined) return "save";
  if (query !== undefined) return "search";
  return range === undefined ? "restore" : "timeline";
}

/** The arguments each action uses. The caller is warned about the others, which it might believe had an effect. */
const looksAt: Record<(typeof actions)[number], readonly (keyof Arguments)[]> = {
  save: ["description", "highlights", "activeFiles", "gitBranch", "workContext", "sessionId", "agent_id", "global", "tags", "ttl_days", "questions"],
  restore: ["checkpointId"],
  search: ["query", "also", "since", "range", "limit"],
  timeline: ["since", "range", "limit", "cursor"],
};
/** Arguments that apply to every action, or that callers fill with defaults without meaning anything by them. */
const neverTold: readonly (keyof Arguments)[] = ["action", "agent_id", "workspace", "outputFormat", "depth", "mode", "format"];

function unusedArguments(operation: (typeof actions)[number], args: Arguments): readonly string[] {
  const used = [...neverTold, ...looksAt[operation], ...(operation === "restore" && args.mode === "search" ? ["query", "also", "since", "range"] : [])];
  const says = (value: unknown): boolean => value !== undefined && value !== false && value !== "" && !(Array.isArray(value) && value.length === 0);
  return Object.entries(args).flatMap(([name, value]) => (says(value) && !used.includes(name) ? [name] : []));
}

/** The default session id. Without a connection, everything that one writer saves for a workspace on one day (UTC) belongs to one session. */
export const sessionOf = ({ connection, writer }: ToolContext, { id }: Workspace, nowMs: number): string =>
  connection ?? `session-${fingerprint([writer, id, new Date(nowMs).toISOString().slice(0, 10)]).slice(0, 12)}`;

const save: Action = async (context, args, workspace, style) => {
  if (args.description === undefined) throw invalidInput("description", 'required for action "save"; must be a string');
  const ttlMs = args.ttl_days === undefined ? context.server.journalTtlMs : Math.ceil(args.ttl_days * dayMs);
  const entry = {
    description: args.description,
    highlights: args.highlights ?? [],
    activeFiles: args.activeFiles ?? [],
    tags: args.tags ?? [],
    gitBranch: args.gitBranch,
    workContext: args.workContext,
    questions: args.questions,
    sessionId: args.sessionId ?? sessionOf(context, workspace, style.nowMs),
    global: args.global ?? false,
  };
  const saved = await saveEntry(context, { ...entry, workspace, ttlMs });
  // The answer to a repeated request describes the workspace of the first save, even if the caller has since moved to another one.
  const home = saved.workspace.id === workspace.id ? workspace : { ...saved.workspace, formerIds: [] };
  return {
    workspace: home,
    text: savedText(style, home, entry, saved),
    data: {
      checkpointId: saved.id,
      sessionId: saved.sessionId,
      workspace: home.name,
      gitBranch: saved.gitBranch ?? null,
      gitCommit: saved.gitCommit ?? null,
      highlights: entry.highlights.length,
      activeFiles: entry.activeFiles.length,
      sessionHighlights: saved.sessionHighlights,
      droppedHighlights: saved.droppedHighlights,
      global: entry.global,
      expiresAt: saved.expiresAtMs === undefined ? null : new Date(saved.expiresAtMs).toISOString(),
    },
    revision: saved.revision,
  };
};

/** Models read these answers: entries, and the highlights of a long session, carry so much text together. The text names every entry with its id. */
const entriesTextMax = 65_536;
const highlightsTextMax = 16_384;

/** Reads everything as of one revision, so that highlights and open work match the entry. */
const restore: Action = (context, args, workspace, style) => readTogether(context.store, (store) => restoreFrom({ ...context, store }, args, workspace, style));

const restoreFrom: Action = async (context, args, workspace, style) => {
  const depth = args.depth ?? "highlights";
  const { mode, entries, news, revision } = await entriesToRestore(context, args, workspace, depth === "full" ? fullEntries : 1);
  const [entry] = entries;
  const { highlights, dropped } = entry === undefined || depth !== "highlights" ? { highlights: [], dropped: 0 } : await readHighlights(context, entry, workspace);
  const open = await readOpenWork(context, { workspace });
  // The newest are the most useful; they keep their order.
  const newest = fitting(highlights.toReversed(), (each) => each, highlightsTextMax).toReversed();
  const checkpoints = fitting(entries.map(entryAnswer), (each) => each, entriesTextMax);
  const globalSince = fitting(news.map(entryAnswer), (each) => each, entriesTextMax);
  return {
    text: restoredText(style, { workspace, entry, highlights, dropped, news, earlier: depth === "full" ? entries : [], open }),
    data: {
      checkpointsLoaded: checkpoints.length,
      ...omission(entries.length - checkpoints.length + news.length - globalSince.length),
      depth,
      mode,
      workspace: workspace.name,
      checkpoints,
      highlights: newest,
      ...(newest.length === highlights.length ? {} : { highlightsOmitted: highlights.length - newest.length }),
      droppedHighlights: dropped,
      globalSince,
      open: {
        runs: open.runs.map(({ runId, name, lastStep, holder, expiresAtMs }) => ({
          run_id: runId,
          name,
          last_step: lastStep,
          agent_id: holder,
          claim_expires_at: (expiresAtMs as number) / 1000,
        })),
        leases: open.leases.map(({ resource, holder, expiresAtMs }) => ({ resource_id: resource, holder, expires_at: expiresAtMs / 1000 })),
      },
    },
    revision,
  };
};

interface ToRestore {
  readonly mode: string;
  /** The restored entry comes first. */
  readonly entries: readonly JournalEntry[];
  /** Entries that others have saved for every workspace since. */
  readonly news: readonly JournalEntry[];
  readonly revision: number;
}

/** An id takes precedence over `mode`, because some callers fill in the default mode. */
async function entriesToRestore(context: ToolContext, args: Arguments, workspace: Workspace, count: number): Promise<ToRestore> {
  const mode = args.checkpointId !== undefined ? "specific" : (args.mode ?? "latest");
  if (mode === "specific") {
    if (args.checkpointId === undefined) throw invalidInput("checkpointId", 'required for mode "specific"; must be an id or a part of one');
    // An id needs no workspace, but a workspace given explicitly still filters.
    const first = await requireEntry(context, args.checkpointId, args.workspace === undefined ? undefined : workspace);
    return { mode, entries: [first], news: [], revision: first.revision };
  }
  if (mode === "search") {
    if (args.query === undefined) throw invalidInput("query", 'required for mode "search"; must be a string');
    const { hits, revision } = await searchEntries(context, { workspace, query: args.query, also: args.also, limit: count, ...spanOf(args, context) });
    return { mode, entries: hits.map(({ entry }) => entry), news: [], revision };
  }
  const { entry, news, revision } = await readLatest(context, workspace);
  if (entry === undefined || count === 1) return { mode, entries: entry === undefined ? [] : [entry], news, revision };
  const others = (await listEntries(context, { workspace, limit: count })).entries.filter(({ id }) => id !== entry.id);
  return { mode, entries: [entry, ...others].slice(0, count), news: [], revision };
}

interface Span {
  readonly fromMs: number;
  readonly untilMs?: number;
  /** The range as the caller wrote it. */
  readonly text: string;
}

/** `since` sets the start, and `range` may also set the end. Given together, both apply. */
function spanOf({ since, range }: Arguments, { clock }: ToolContext): Span | undefined {
  const nowMs = clock.nowMs();
  const begun = since === undefined ? undefined : parseTimeRange("since", since, nowMs);
  const ranged = range === undefined ? undefined : parseTimeRange("range", range, nowMs);
  if (begun === undefined && ranged === undefined) return undefined;
  return { fromMs: Math.max(begun?.fromMs ?? 0, ranged?.fromMs ?? 0), untilMs: ranged?.untilMs, text: range ?? (since as string) };
}

const search: Action = async (context, args, workspace, style) => {
  if (args.query === undefined) throw invalidInput("query", 'required for action "search"; must be a string');
  // "What did I do last week" contains no search terms, only a time range.
  const timed = args.since === undefined && args.range === undefined ? timeOfQuestion(args.query, context.clock.nowMs()) : undefined;
  if (timed !== undefined && timed.rest === undefined) return listSpan(context, args, workspace, style, { ...timed.range, text: timed.words });
  const span = timed?.range ?? spanOf(args, context);
  const { hits, revision } = await searchEntries(context, { workspace, query: timed?.rest ?? args.query, also: args.also, limit: args.limit ?? limit.search, ...span });
  // Goldfish has no related entries, and a caller that asks for a period wants only that period.
  const related = context.server.profile === "goldfish" || span !== undefined ? [] : await relatedToHits(context, hits, workspace, limit.related);
  const answers = hits.map(({ entry, score, why }) => ({ ...entryAnswer(entry), score: Math.round(score * 1000) / 1000, why: [...why] }));
  const checkpoints = fitting(answers, (each) => each, entriesTextMax);
  return {
    text: searchResultText(style, workspace, args.query, hits, related),
    data: {
      query: args.query,
      found: hits.length,
      ...omission(hits.length - checkpoints.length),
      workspace: workspace.name,
      checkpoints,
      ...(related.length === 0 ? {} : { related: related.map(({ entry, why }) => ({ checkpointId: entry.id, why })) }),
    },
    revision,
  };
};

const timeline: Action = async (context, args, workspace, style) => listSpan(context, args, workspace, style, spanOf(args, context) ?? (spanOf({ range: "7d" }, context) as Span));

async function listSpan(context: ToolContext, args: Arguments, workspace: Workspace, style: JournalStyle, { fromMs, untilMs, text: range }: Span): Promise<Outcome> {
  const page = await listEntries(context, {
    workspace,
    fromMs,
    untilMs,
    limit: args.limit ?? limit.timeline,
    before: args.cursor === undefined ? undefined : fromCursor("timeline", args.cursor),
  });
  const format = args.format ?? "compact";
  const answers = page.entries.map((entry) => {
    const { checkpointId, timestamp, description, ...rest } = entryAnswer(entry);
    return { day: localDay(entry.createdAtMs), checkpointId, timestamp, description, ...(format === "detailed" ? rest : {}) };
  });
  const checkpoints = fitting(answers, (each) => each, entriesTextMax);
  // The next page starts after the last entry that was returned, not the last one that was read.
  const entries = page.entries.slice(0, checkpoints.length);
  const next = entries.length < page.entries.length ? positionOf(entries.at(-1) as JournalEntry) : page.next;
  return {
    text: timelineText(style, { workspace, range, entries, detailed: format === "detailed", more: next !== undefined }),
    data: {
      range,
      format,
      workspace: workspace.name,
      from: new Date(fromMs).toISOString(),
      checkpoints,
      cursor: next === undefined ? null : toCursor("timeline", next),
    },
    revision: page.revision,
  };
}

/** The number of entries that were found but did not fit into the response. */
const omission = (count: number): { readonly omitted?: number } => (count === 0 ? {} : { omitted: count });

const perform: Record<(typeof actions)[number], Action> = { save, restore, search, timeline };

export const journalTools = [checkpoint];
