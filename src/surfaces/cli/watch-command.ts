import type { WatchInput } from "../../domain/state/watch-state.ts";
import { watchState } from "../../domain/state/watch-state.ts";
import { invalidInput } from "../../kernel/errors.ts";
import type { Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { dim, formatTime, safeText, shorten, styleFor, textWidth } from "./terminal-text.ts";

export const watchCommand: Command = {
  path: ["watch"],
  summary: "Print every change of a key, or of all keys with a prefix, as it happens",
  details:
    "Prints one line per change, in order; no change is skipped or repeated. Each line shows its revision. To continue an earlier watch, pass the last revision you saw with --after. Expired entries are reported within about a second, because watch also maintains the store as a server does; with --read-only, a running server must do that.\n\nEnds after --count changes, or with Ctrl-C (exit code 130).",
  operands: "<key|prefix*>",
  operandMeanings: [{ name: "key|prefix*", meaning: "A key, or a prefix followed by *. Write \\* for a key that ends in *." }],
  flags: [
    { name: "after", takes: "REVISION", meaning: "Start after this revision instead of now." },
    { name: "count", takes: "N", meaning: "Stop after this many changes." },
  ],
  examples: ["holdfast watch build/status", "holdfast watch 'build/*' --json --after 120"],
  run: runWatch,
};

async function runWatch({ host, flags, words, json }: Invocation): Promise<number> {
  const [pattern] = words;
  if (pattern === undefined || words.length > 1)
    throw invalidInput("<key|prefix*>", "pass exactly one key, or a prefix followed by * (in quotes, so that the shell does not expand it)");
  if (pattern === "") throw invalidInput("<key|prefix*>", "must not be empty; '*' watches every key");
  const after = readCount("after", flags.after, 0);
  const count = readCount("count", flags.count, 1) ?? Number.POSITIVE_INFINITY;
  await using runtime = await host.open(flags, { stays: true, onlyLooks: true });
  const stop = new AbortController();
  const stopListening = host.onSignal(() => stop.abort());
  const style = styleFor(host.stdout, runtime.config.colourAllowed, 0);
  let seen = 0;
  if (host.stderr.isTTY) {
    const { revision } = await runtime.base.store.position();
    host.stderr.write(`watching ${safeText(pattern)} from revision ${after ?? revision} on; press Ctrl-C to stop\n`);
  }
  try {
    for await (const change of watchState(runtime.base, { ...targetOf(pattern), after }, stop.signal)) {
      const { changedAtMs, changedBy, expiresAtMs, ...rest } = change;
      if (json)
        host.stdout.write(
          `${JSON.stringify({ ...rest, changed_at: changedAtMs / 1_000, changed_by: changedBy, expires_at: expiresAtMs === undefined ? null : expiresAtMs / 1_000 })}\n`,
        );
      else {
        const when = formatTime(changedAtMs / 1_000, { ...style, nowMs: changedAtMs }).slice(0, 19);
        const [start, middle, end] = [`${change.revision}  ${when}`, `  ${change.op} ${safeText(change.key)} v${change.version}`, `by ${safeText(changedBy)}`];
        const value = change.op === "set" ? ` ${fitting(safeText(JSON.stringify(change.value)), `${start}${middle}   ${end}`, style.columns)}` : "";
        host.stdout.write(`${dim(style, start)}${middle}${value}  ${dim(style, end)}\n`);
      }
      seen += 1;
      if (seen >= count) return exitCodes.ok;
    }
  } finally {
    stopListening();
  }
  return exitCodes.interrupted;
}

const valueColumnsMin = 20;

/** On a terminal a change is one shortened line; on a pipe and with --json it is printed in full. */
const fitting = (value: string, beside: string, columns: number | undefined): string =>
  columns === undefined ? value : shorten(value, Math.max(valueColumnsMin, columns - textWidth(beside)));

/** `build/*` is a prefix, `build/\*` the key that ends with a star. */
function targetOf(pattern: string): WatchInput {
  if (pattern.endsWith("\\*")) return { key: `${pattern.slice(0, -2)}*` };
  return pattern.endsWith("*") ? { prefix: pattern.slice(0, -1) } : { key: pattern };
}

function readCount(name: string, given: unknown, min: number): number | undefined {
  if (given === undefined) return undefined;
  const value = /^\d+$/.test(String(given)) ? Number(given) : Number.NaN;
  if (!Number.isSafeInteger(value) || value < min) throw invalidInput(`--${name}`, `must be a whole number from ${min}`);
  return value;
}
