import { errorCodes, isHoldfastError } from "../../kernel/errors.ts";
import { safeText } from "./terminal-text.ts";

/** How a command ends that failed: its exit code from the error table, and one line for standard error. */
export function describeFailure(error: unknown): { readonly exitCode: number; readonly line: string } {
  if (isHoldfastError(error))
    return { exitCode: errorCodes[error.code].exit, line: lineOf(`${error.localMessage ?? error.message}${error.hint === undefined ? "" : ` (${error.hint})`}`) };
  return { exitCode: errorCodes.internal.exit, line: lineOf(`the command failed because of a bug: ${error instanceof Error ? error.message : String(error)}`) };
}

/** Several problems become one line; what came from outside cannot steer the terminal. */
const lineOf = (text: string): string => `holdfast: ${safeText(text.replaceAll(/(?<!\s)\s*\n\s*/g, "; "))}\n`;
