/**
 * One line of JSON per event, on standard error only, because standard output carries the protocol. Whatever the facts contain,
 * an event is a single line of limited length that is safe to show on a terminal, and logging never throws.
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

/** Holds events back until it is known whether they should be read: `release` writes them, and later events are written at once. */
export function heldLog(log: Log): { readonly log: Log; release(): void } {
  const held: Parameters<Log>[] = [];
  let isHeld = true;
  return {
    log: (...told) => void (isHeld ? held.push(told) : log(...told)),
    release() {
      isHeld = false;
      for (const told of held.splice(0)) log(...told);
    },
  };
}

let listening = false;

/** If standard error is closed, the write error must not become an uncaught exception. */
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
    // Repeated last, so that no fact can overwrite the head.
    text = JSON.stringify({ ...head, ...(bounded(facts, 0) as object), ...head });
    if (text.length > lineMax) text = JSON.stringify({ ...head, cut: `${text.slice(0, lineMax)}…` });
  } catch (error) {
    text = JSON.stringify({ ...head, problem: `the facts could not be serialized: ${String(error).slice(0, 200)}` });
  }
  return `${text.replace(unseen, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}

/**
 * Characters that JSON leaves unescaped but a terminal or a line reader would interpret: control
 * characters, Unicode line breaks, and marks that change the direction of text.
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
