import { formatDuration } from "../../kernel/duration.ts";
import type { Output } from "./command.ts";

/** How to write to one output: with or without colour, and the current time. */
export interface TextStyle {
  readonly colour: boolean;
  readonly nowMs: number;
  /** The terminal's width; absent if lines may have any length. */
  readonly columns?: number;
  /** For narrow spaces: `in 45s` without the date. */
  readonly shortTimes?: boolean;
}

export const styleFor = ({ isTTY, columns }: Output, colourAllowed: boolean, nowMs: number): TextStyle => ({
  colour: isTTY === true && colourAllowed,
  nowMs,
  columns: isTTY === true ? columns : undefined,
});

/** Lines of at most this many characters, broken between words; a longer word gets its own line. Line breaks in the text stay. */
export const wrap = (text: string, width: number): string =>
  text
    .split("\n")
    .map((line) => wrapLine(line, width))
    .join("\n");

function wrapLine(text: string, width: number): string {
  // Indented text already has its own layout.
  if (text.length <= width || text.startsWith(" ")) return text;
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) as string;
    if (line !== "" && line.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}

/** Text that may contain quotes or lists: the continuation lines of a long line begin as it does. Undefined width: unchanged. */
export const wrapProse = (text: string, width: number | undefined): string =>
  width === undefined
    ? text
    : text
        .split("\n")
        .map((line) => {
          const [lead = "", mark = ""] = /^\s*(> |- |\* )?/.exec(line) ?? [];
          const indent = mark === "> " ? lead : " ".repeat(lead.length);
          return lead + wrap(line.slice(lead.length), Math.max(20, width - lead.length)).replaceAll("\n", `\n${indent}`);
        })
        .join("\n");

const paint = (code: number) => (style: TextStyle, text: string) => (style.colour ? `\u001b[${code}m${text}\u001b[0m` : text);
export const bold = paint(1);
export const dim = paint(2);
export const red = paint(31);
export const green = paint(32);
export const yellow = paint(33);

/** Stored text must not control the terminal: control and direction characters are made visible. Line breaks and tabs may stay. */
export const safeText = (text: string, { keepLines = false } = {}): string =>
  text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (character) =>
    keepLines && (character === "\n" || character === "\t") ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** `2026-11-15 09:20:01 (in 45s)`, in local time. */
export function formatTime(seconds: number, { nowMs, shortTimes = false }: TextStyle): string {
  const date = new Date(seconds * 1_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const absolute = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const awayMs = date.getTime() - nowMs;
  const relative = Math.abs(awayMs) < 1_000 ? "now" : awayMs > 0 ? `in ${formatDuration(awayMs)}` : `${formatDuration(-awayMs)} ago`;
  return shortTimes ? relative : `${absolute} (${relative})`;
}

const cellMax = 60;
/** A line of a list shows only the beginning; the record itself has the rest. */
export const shorten = (text: string, width = cellMax): string => {
  // A value may be a megabyte long; more than this many characters never fit.
  const characters = [...text.slice(0, 4 * width)];
  if (characters.join("") === text && textWidth(text) <= width) return text;
  while (textWidth(characters.join("")) >= width) characters.pop();
  return `${characters.join("")}…`;
};

/** Characters that take two columns of a terminal: Chinese, Japanese and Korean, full-width forms, emoji. */
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/gu;

/** The width in terminal columns; combining marks take none. */
export const textWidth = (text: string): number => (/^[ -~]*$/.test(text) ? text.length : [...text.replace(/\p{M}/gu, "").replace(wide, "  ")].length);
const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - textWidth(text)));

/** The width of the table below. */
export const tableWidth = (header: readonly string[], rows: readonly (readonly string[])[]): number =>
  header.reduce((sum, title, i) => sum + Math.max(textWidth(title), ...rows.map((row) => textWidth(shorten(row[i] ?? "")))), 2 * (header.length - 1));

/** Columns as wide as their widest cell; the last one is not padded. */
export function table(header: readonly string[], rows: readonly (readonly string[])[], style: TextStyle): string {
  const cells = rows.map((row) => row.map((cell) => shorten(cell)));
  const widths = header.map((title, i) => Math.max(textWidth(title), ...cells.map((row) => textWidth(row[i] ?? ""))));
  const line = (row: readonly string[]): string => row.map((cell, i) => (i === row.length - 1 ? cell : padded(cell, widths[i] as number))).join("  ");
  return [bold(style, line(header).trimEnd()), ...cells.map((row) => line(row).trimEnd())].map((text) => `${text}\n`).join("");
}

/** `name  value` lines with aligned values; further lines of a value are indented to match. */
export function alignedPairs(pairs: readonly (readonly [name: string, value: string])[], style: TextStyle): string {
  const width = Math.max(0, ...pairs.map(([name]) => name.length));
  const fitted = (value: string): string => (style.columns === undefined ? value : wrap(value, Math.max(20, style.columns - width - 2)));
  return pairs.map(([name, value]) => `${dim(style, name.padEnd(width))}  ${fitted(value).replaceAll("\n", `\n${" ".repeat(width + 2)}`)}\n`).join("");
}
