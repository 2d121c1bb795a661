/**
 * One line of JSON per event, on standard error only: standard output belongs to the protocol. Whatever the facts hold, an event is one line, of bounded length,
 * that shows on a terminal as what it is; and writing it never fails whoever tells it.
 */
export type LogLevel = "debug" | "info" | "warn" | "error";
export type Log = (level: LogLevel, event: string, facts?: Readonly<Record<string, unknown>>) => void;

const severity: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

const textMax = 4_000;
const membersMax = 50;
const depthMax = 4;
const lineMax = 32_000;

export const openLog =
  (threshold: LogLevel, write: (line: string) => void = writeToStderr): Log =>
  (level, event, facts) => {
    if (severity[level] < severity[threshold]) return;
    write(lineOf({ time: new Date().toISOString(), level, event }, facts));
  };

export const silentLog: Log = () => {};

let listening = false;

/** A reader that went away must not become an event of its own, which nobody could be told either. */
function writeToStderr(line: string): void {
  if (!listening) {
    listening = true;
    process.stderr.on("error", () => {});
  }
  process.stderr.write(line);
}

function lineOf(head: Readonly<Record<"time" | "level" | "event", string>>, facts: Readonly<Record<string, unknown>> = {}): string {
  let text: string;
  try {
    // No fact takes the place of the head.
    text = JSON.stringify({ ...head, ...(bounded(facts, 0) as object), ...head });
    if (text.length > lineMax) text = JSON.stringify({ ...head, cut: `${text.slice(0, lineMax)}…` });
  } catch (error) {
    text = JSON.stringify({ ...head, problem: `the facts could not be written: ${String(error).slice(0, 200)}` });
  }
  return `${text.replace(unseen, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}

/**
 * What JSON leaves as it is, and what a terminal or a reader of lines would act upon: control characters, the line breaks of Unicode, and those that turn the direction
 * of text around.
 */
const unseen = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function bounded(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.length > textMax ? `${value.slice(0, textMax)}… (${value.length} characters)` : value;
  if (typeof value === "bigint") return String(value);
  if (value === null || typeof value !== "object") return value;
  if (value instanceof Error) return bounded(value.stack ?? value.message, depth);
  if (depth >= depthMax) return Array.isArray(value) ? `[${value.length}]` : "{…}";
  if (Array.isArray(value)) return value.slice(0, membersMax).map((item) => bounded(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, membersMax)
      .map(([name, member]) => [name.length > textMax ? name.slice(0, textMax) : name, bounded(member, depth + 1)]),
  );
}
