import { HoldfastError } from "../../kernel/errors.ts";
import type { Command } from "./command.ts";

/** Only described here: main runs hooks itself, without loading the command line, because an agent waits for them. */
export const hookCommand: Command = {
  path: ["hook"],
  summary: "Answer an agent's hook: give it back its context, or save where the work stands",
  details:
    "What a client's hook runs; it reads the event as JSON on standard input. session-start prints a resume pack for the workspace as additional context, or nothing when there is nothing to tell. " +
    "pre-compact saves a checkpoint from what can be known without a model: branch, changed files, open runs, recent commits. " +
    "It never blocks: on any failure it prints nothing and exits with 0. Only an event that it does not know ends with 1 and a line on standard error.",
  operands: "<session-start|pre-compact>",
  operandMeanings: [{ name: "session-start|pre-compact", meaning: "The event.", choices: ["session-start", "pre-compact"] }],
  flags: [],
  examples: ["holdfast hook session-start", "holdfast hook pre-compact --store sqlite:./state.db"],
  run() {
    throw new HoldfastError("invalid_input", "hook: must be the first word after the flags");
  },
};
