import * as z from "zod";
import type { HistoryCursor, HistoryEntry } from "../domain/history/history.ts";
import { readHistory } from "../domain/history/history.ts";
import { historyKinds } from "../domain/keyspace.ts";
import { invalidInput } from "../kernel/errors.ts";
import { badCursor, cursor, fromCursor, listOf, toCursor } from "./cursor.ts";
import { key, label, pageLimit, prefix, time, toSeconds, version } from "./fields.ts";
import { defineTool } from "./tool.ts";

const entries = { default: 10, max: 200 } as const;

export const historyLog = defineTool({
  name: "history_log",
  title: "Show history",
  description: `Who changed what, newest first: one record per mutation, with old and new value. Narrow by key (state key, resource, any id), prefix, kind, writer or after_revision. n: default ${entries.default}; cursor for older ones; total stops at 1,000. A key's old value alone: state_get with version.`,
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
        id: z.string(),
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
      }),
    ),
    total: z.int(),
    cursor: z.string().nullable(),
  }),
  positional: ["key"],
  async handle(context, args) {
    if (args.key !== undefined && args.prefix !== undefined) throw invalidInput("prefix", "allowed only without key");
    const { n: _, cursor: given, ...filter } = args;
    const list = listOf("history", filter);
    const page = await readHistory(context, {
      name: args.key,
      prefix: args.prefix,
      kind: args.kind,
      afterRevision: args.after_revision,
      writer: args.writer,
      limit: args.n ?? entries.default,
      before: given === undefined ? undefined : positionOf(list, given),
    });
    return { entries: page.entries.map(entryAnswer), total: page.total, cursor: page.next === undefined ? null : toCursor(list, idOf(page.next)) };
  },
});

const idOf = ({ revision, seq }: HistoryCursor): string => `${revision}-${seq}`;

function positionOf(list: string, text: string): HistoryCursor {
  const match = /^(\d{1,15})-(\d{1,6})$/.exec(fromCursor(list, text));
  if (match === null) throw badCursor();
  return { revision: Number(match[1]), seq: Number(match[2]) };
}

const entryAnswer = (entry: HistoryEntry) => ({
  id: idOf(entry),
  revision: entry.revision,
  kind: entry.kind,
  op: entry.op,
  key: entry.name,
  version: entry.version,
  new_value: entry.value,
  previous_value: entry.previousValue,
  agent_id: entry.agent ?? null,
  writer: entry.writer,
  written_at: toSeconds(entry.atMs),
});

export const historyTools = [historyLog];
