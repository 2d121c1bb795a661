import type { TextStyle } from "./terminal-text.ts";
import { alignedPairs, bold, formatTime, safeText, shorten, table, tableWidth } from "./terminal-text.ts";

type Structured = Readonly<Record<string, unknown>>;

/** Renders any tool's result for a person: lines of names and values, then its lists as tables. `--json` prints the exact result. */
export function renderResult(result: Structured, style: TextStyle, { long = false } = {}): string {
  // Content is wrapped to the width that is left beside the names.
  const names = Object.keys(result).filter((name) => !Array.isArray(result[name]));
  const inner = { ...style, columns: style.columns === undefined ? undefined : style.columns - Math.max(0, ...names.map((name) => name.length)) - 2 };
  const pairs: [string, string][] = [];
  const lists: [string, readonly unknown[]][] = [];
  for (const [name, value] of Object.entries(result)) {
    // An absent fact is not worth a line, except where "none" is the answer.
    if (value === undefined || (value === null && name !== "value" && name !== "expires_at")) continue;
    // The list of names repeats what the full entries show.
    if (name === "keys" && Array.isArray(result.entries)) continue;
    if (Array.isArray(value)) lists.push([name, value]);
    // In a refusal, null means that there is no expiry to show; in a result it means never.
    else if (name === "expires_at" && value === null) pairs.push([label(name), isNegative(result) ? "-" : "never"]);
    else pairs.push([label(name), renderValue(name, value, inner)]);
  }
  const blocks = lists.map(([name, items]) => (lists.length + pairs.length > 1 ? `${bold(style, label(name))}\n` : "") + renderList(items, style, long));
  if (pairs.length > 0) blocks.push(alignedPairs(pairs, style));
  return blocks.join("\n");
}

/** A table if it fits the terminal; otherwise with short times and without empty columns; otherwise one block for each record. */
function renderList(items: readonly unknown[], style: TextStyle, long: boolean): string {
  if (items.length === 0) return "none\n";
  if (!items.every(isRecord)) return items.map((item) => `${renderCell("", item, style)}\n`).join("");
  const { columns: room = Number.POSITIVE_INFINITY } = long ? { columns: 0 } : style;
  const full = layOut(items, style, (value) => value !== undefined && value !== null);
  if (tableWidth(full.header, full.rows) <= room) return table(full.header, full.rows, style);
  const tight = layOut(items, { ...style, shortTimes: true }, saysSomething);
  if (tableWidth(tight.header, tight.rows) <= room) return table(tight.header, tight.rows, style);
  return items
    .map((item) =>
      alignedPairs(
        Object.entries(item)
          .filter(([, value]) => saysSomething(value))
          .map(([name, value]) => [label(name), long ? renderCell(name, value, style) : shorten(renderCell(name, value, style))]),
        style,
      ),
    )
    .join("\n");
}

/** The columns in which at least one record has a value. */
function layOut(items: readonly Structured[], style: TextStyle, shows: (value: unknown) => boolean) {
  const columns = [...new Set(items.flatMap((item) => Object.keys(item)))].filter((column) => items.some((item) => shows(item[column])));
  return {
    header: columns.map(label),
    rows: items.map((item) => columns.map((column) => renderCell(column, item[column], style))),
  };
}

const saysSomething = (value: unknown): boolean => value !== undefined && value !== null && value !== "" && !(typeof value === "object" && Object.keys(value).length === 0);

/** One line. */
function renderCell(name: string, value: unknown, style: TextStyle): string {
  if (value === null || value === undefined) return "-";
  if (isTime(name, value)) return formatTime(value, style);
  if (typeof value === "string") return safeText(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return safeText(JSON.stringify(value));
}

/** May take several lines. */
function renderValue(name: string, value: unknown, style: TextStyle): string {
  if (typeof value === "string") return safeText(value, { keepLines: true });
  if (!isRecord(value)) return renderCell(name, value, style);
  if (ownRecords.includes(name)) return renderRecord(value, style);
  const short = JSON.stringify(value);
  return safeText(short.length <= 80 ? short : JSON.stringify(value, null, 2), { keepLines: true });
}

/** Records that Holdfast creates are shown like the rest of a result. Users' data may have any names in it and stays JSON. */
const ownRecords: readonly string[] = ["current", "engine", "meta", "workspace"];

function renderRecord(record: Structured, style: TextStyle): string {
  const pairs = Object.entries(record)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]): [string, string] => [
      label(name),
      Array.isArray(value) ? value.map((item) => renderCell("", item, style)).join("\n") || "none" : renderValue(name, value, style),
    ]);
  return alignedPairs(pairs, style).trimEnd();
}

/** The bare value, as `holdfast get` prints it: a string as it is, anything else as JSON. On a terminal, it cannot control the terminal. */
export function renderBareValue(value: unknown, onTerminal: boolean): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return `${onTerminal ? safeText(text, { keepLines: true }) : text}\n`;
}

/** `expires_at` is a name for programs. */
const label = (name: string): string => safeText(name).replaceAll("_", " ");

const isRecord = (value: unknown): value is Structured => value !== null && typeof value === "object" && !Array.isArray(value);
const isTime = (name: string, value: unknown): value is number => typeof value === "number" && name.endsWith("_at");

const answerKeys = ["ok", "found", "acquired", "released", "renewed", "claimed", "deleted"] as const;
const refusedStatuses: readonly unknown[] = ["conflict", "not_found", "error"];

/** An expected outcome that is a "no": not found, held, conflict, nothing to claim. Scripts see it in the exit code. */
export const isNegative = (result: Structured): boolean =>
  answerKeys.some((key) => result[key] === false) || (result.run_id === undefined && refusedStatuses.includes(result.status));
