import { HoldfastError, isHoldfastError } from "../kernel/errors.ts";

/** The failure of a later commit of work that takes several: its own words, "nothing was changed", hold for that commit alone. */
export function partlyDone(error: unknown, done: string, hint: string): unknown {
  // A conflict that outlasted every retry is reported in words that say how far the work got.
  if (!isHoldfastError(error) || error.code === "conflict") return error;
  return new HoldfastError("outcome_unknown", `${done}; then the store failed (${error.code}).`, { hint, cause: error });
}
