import { HoldfastError, isHoldfastError } from "../kernel/errors.ts";

/** The failure of a later commit in work that takes several. The commit's own message, "nothing was changed", is true only for that commit. */
export function partlyDone(error: unknown, done: string, hint: string): unknown {
  // A conflict that outlasts every retry gets a message that says how far the work got.
  if (!isHoldfastError(error) || error.code === "conflict") return error;
  return new HoldfastError("outcome_unknown", `${done}; then the store failed (${error.code}).`, { hint, cause: error });
}
