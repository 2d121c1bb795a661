import type { TextStyle } from "./terminal-text.ts";
import { alignedPairs, bold, formatTime, safeText, table } from "./terminal-text.ts";

type Structured = Readonly<Record<string, unknown>>;

/** Any tool's result for a person: lines of names and values, then its lists as tables. `--json` gives the exact thing. */
export function renderResult(result: Structured, style: TextStyle): string {
  const pairs: [string, string][] = [];
  const lists: [string, readonly unknown[]][] = [];
  for (const [name, value] of Object.entries(result)) {
    // An absent fact is not worth a line, except where "none" is the answer.
    if (value === undefined || (value === null && name !== "value" && name !== "expires_at")) continue;
    // A plain list of names beside the full entries says nothing new.
    if (name === "keys" && Array.isArray(result.entries)) continue;
    if (Array.isArray(value)) lists.push([name, value]);
    else pairs.push([name, renderValue(name, value, style)]);
  }
  const blocks = lists.map(([name, items]) => (lists.length + pairs.length > 1 ? `${bold(style, safeText(name))}\n` : "") + renderList(items, style));
  if (pairs.length > 0) blocks.push(alignedPairs(pairs, style));
  return blocks.join("\n");
}

function renderList(items: readonly unknown[], style: TextStyle): string {
  if (items.length === 0) return "none\n";
  if (!items.every(isRecord)) return items.map((item) => `${renderCell("", item, style)}\n`).join("");
  const columns = [...new Set(items.flatMap((item) => Object.keys(item)))].filter((column) => items.some((item) => item[column] !== undefined && item[column] !== null));
  return table(
    columns.map((column) => safeText(column)),
    items.map((item) => columns.map((column) => renderCell(column, item[column], style))),
    style,
  );
}

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
  if (name === "expires_at" && value === null) return "never";
  if (typeof value === "string") return safeText(value, { keepLines: true });
  if (!isRecord(value)) return renderCell(name, value, style);
  const short = JSON.stringify(value);
  return safeText(short.length <= 80 ? short : JSON.stringify(value, null, 2), { keepLines: true });
}

/** The bare value, as `holdfast get` prints it: a string as it is, anything else as JSON. On a terminal nothing in it may steer the terminal. */
export function renderBareValue(value: unknown, onTerminal: boolean): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return `${onTerminal ? safeText(text, { keepLines: true }) : text}\n`;
}

const isRecord = (value: unknown): value is Structured => value !== null && typeof value === "object" && !Array.isArray(value);
const isTime = (name: string, value: unknown): value is number => typeof value === "number" && name.endsWith("_at");

const answerKeys = ["ok", "found", "acquired", "released", "renewed", "claimed", "deleted"] as const;
const refusedStatuses: readonly unknown[] = ["conflict", "not_found", "error"];

/** An expected outcome that is a "no": not found, held, conflict, nothing to claim. Scripts see it in the exit code. */
export const isNegative = (result: Structured): boolean =>
  answerKeys.some((key) => result[key] === false) || (result.run_id === undefined && refusedStatuses.includes(result.status));
