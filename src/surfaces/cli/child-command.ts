import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { durationForms, parseDurationMs } from "../../kernel/duration.ts";
import { invalidInput } from "../../kernel/errors.ts";
import { quotedName } from "../../kernel/nearest.ts";

/** Shared by the commands that run another command: its exit status, and passing signals to it. */

/** The exit codes that shells use, which scripts recognize. */
const notStarted = { notFound: 127, other: 126 } as const;

/** How a command ended: with an exit code, by a signal, or because it could not be started. */
export interface ChildEnd {
  /** The command's exit code, 128 plus the signal's number, or 126 or 127 if the command could not be started. */
  readonly exitCode: number;
  readonly signal?: NodeJS.Signals;
  /** Why the command could not be started. */
  readonly problem?: string;
}

/** Resolves on `event`: `exit` when the process has ended, `close` when all of its output has been read too. */
export function endOfChild(child: ChildProcess, event: "exit" | "close"): Promise<ChildEnd> {
  return new Promise((resolve) => {
    child.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(
        code === "ENOENT"
          ? { exitCode: notStarted.notFound, problem: "was not found" }
          : { exitCode: notStarted.other, problem: `cannot be started (${code ?? "unknown reason"})` },
      ),
    );
    child.once(event, (code: number | null, signal: NodeJS.Signals | null) =>
      resolve(signal === null ? { exitCode: code ?? 0 } : { exitCode: 128 + (constants.signals[signal] ?? 0), signal }),
    );
  });
}

/** Returns false if no process is left to receive the signal. Signal 0 only checks this. */
export function signalProcess(child: ChildProcess, signal: NodeJS.Signals | 0, group: boolean): boolean {
  if (child.pid === undefined || (!group && child.exitCode !== null)) return false;
  try {
    return process.kill(group ? -child.pid : child.pid, signal);
  } catch {
    return false;
  }
}

export function readMs(name: string, given: unknown, fallbackMs: number): number {
  if (given === undefined) return fallbackMs;
  const ms = parseDurationMs(String(given));
  if (ms === undefined) throw invalidInput(`--${name}`, `must be ${durationForms} (got ${quotedName(String(given))})`);
  return ms;
}
