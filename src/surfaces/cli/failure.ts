import { errorCodes, isHoldfastError } from "../../kernel/errors.ts";
import { safeText } from "./terminal-text.ts";

/** How a failed command ends: its exit code from the error table, and one line for standard error. */
export function describeFailure(error: unknown): { readonly exitCode: number; readonly line: string } {
  if (isHoldfastError(error))
    return { exitCode: errorCodes[error.code].exit, line: lineOf(`${error.localMessage ?? error.message}${error.hint === undefined ? "" : ` (${error.hint})`}`) };
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (code === "EMFILE" || code === "ENFILE")
    return {
      exitCode: errorCodes.unavailable.exit,
      line: lineOf(`the system allows no more open files (${code}); nothing was changed (Raise the limit, for example with ulimit -n 1024.)`),
    };
  return { exitCode: errorCodes.internal.exit, line: lineOf(`the command failed because of a bug: ${error instanceof Error ? error.message : String(error)}`) };
}

/** Joins several problems into one line. Text from outside cannot control the terminal. */
const lineOf = (text: string): string => `holdfast: ${safeText(text.replaceAll(/(?<!\s)\s*\n\s*/g, "; "))}\n`;
