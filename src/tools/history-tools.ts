import * as z from "zod";
import type { HistoryCursor, HistoryEntry } from "../domain/history/history.ts";
import { readHistory } from "../domain/history/history.ts";
import { historyKinds } from "../domain/keyspace.ts";
import { invalidInput } from "../kernel/errors.ts";
import { badCursor, cursor, fromCursor, listOf, toCursor } from "./cursor.ts";
import { key, label, pageLimit, prefix, time, toSeconds, version } from "./fields.ts";
import { shownValue } from "./history-value.ts";
import { defineTool } from "./tool.ts";

const entries = { default: 10, max: 200 } as const;

export const historyLog = defineTool({
  name: "history_log",
  title: "Show history",
  description: `Who changed what, newest first, with old and new value (long ones cut). Narrow by key (any id), prefix, kind, writer, after_revision. n: default ${entries.default}.`,
  pointers: [{ to: ["state_get"], text: "In full: state_get with version." }],
  toolset: "history",
  effect: "read",
  input: z.strictObject({
    key: key.optional(),
    n: pageLimit(entries.max).optional(),
    prefix: prefix.optional(),
    kind: z.enum(historyKinds).optional(),
    after_revision: version.optional(),
    writer: label.optional(),
    cursor: cursor.optional(),
  }),
  output: z.strictObject({
    entries: z.array(
      z.strictObject({
        id: z.union([z.string(), z.int()]),
        revision: z.int(),
        kind: z.string(),
        op: z.string(),
        key: z.string(),
        version: z.int(),
        new_value: z.unknown(),
        previous_value: z.unknown(),
        agent_id: z.string().nullable(),
        writer: z.string(),
        written_at: time,
        cut: z.array(z.enum(["new_value", "previous_value"])).optional(),
      }),
    ),
    total: z.int(),
    cursor: z.string().nullable(),
  }),
  positional: ["key"],
  async handle(context, args) {
    if (args.key !== undefined && args.prefix !== undefined) throw invalidInput("prefix", "allowed only without key");
    const isSidecar = context.server.profile === "sidecar";
    const { n: _, cursor: given, ...filter } = args;
    const list = listOf("history", filter);
    const page = await readHistory(context, {
      name: args.key,
      prefix: args.prefix,
      // The State Sidecar keeps history for keys only.
      kind: args.kind ?? (isSidecar ? "state" : undefined),
      afterRevision: args.after_revision,
      writer: args.writer,
      limit: args.n ?? entries.default,
      before: given === undefined ? undefined : positionOf(list, given),
    });
    return {
      entries: page.entries.map((entry) => ({ ...entryAnswer(entry), id: isSidecar ? numberOf(entry) : idOf(entry) })),
      total: page.total,
      cursor: page.next === undefined ? null : toCursor(list, idOf(page.next)),
    };
  },
});

const idOf = ({ revision, seq }: HistoryCursor): string => `${revision}-${seq}`;

/** The State Sidecar's record ids are whole numbers that increase over time. */
const numberOf = ({ revision, seq }: HistoryCursor): number => revision * seqMax + seq;
const seqMax = 1_000_000;

function positionOf(list: string, text: string): HistoryCursor {
  const match = /^(\d{1,15})-(\d{1,6})$/.exec(fromCursor(list, text));
  if (match === null) throw badCursor();
  return { revision: Number(match[1]), seq: Number(match[2]) };
}

function entryAnswer(entry: HistoryEntry) {
  const [value, previous] = [shownValue(entry.value, entry.storedKey), shownValue(entry.previousValue, entry.storedKey)];
  const cut = [...(value.isCut ? ["new_value"] : []), ...(previous.isCut ? ["previous_value"] : [])];
  return {
    revision: entry.revision,
    kind: entry.kind,
    op: entry.op,
    key: entry.name,
    version: entry.version,
    new_value: value.shown,
    previous_value: previous.shown,
    agent_id: entry.agent ?? null,
    writer: entry.writer,
    written_at: toSeconds(entry.atMs),
    ...(cut.length === 0 ? {} : { cut }),
  };
}

export const historyTools = [historyLog];
