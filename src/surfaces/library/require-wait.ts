import { invalidInput } from "../../kernel/errors.ts";

/** The longest delay of a Node.js timer; a longer one would fire at once. */
const waitMsMax = 2_147_483_647;

export function requireWait(ms: unknown, field: string): number {
  if (typeof ms !== "number" || !(ms >= 0 && ms <= waitMsMax)) throw invalidInput(field, `must be a number of milliseconds from 0 to ${waitMsMax}`);
  return ms;
}

export function requireVersionAbove(version: unknown): number {
  if (typeof version !== "number" || !Number.isSafeInteger(version) || version < 0) throw invalidInput("versionAbove", "must be a whole number from 0");
  return version;
}
