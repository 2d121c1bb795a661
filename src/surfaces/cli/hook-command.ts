import { HoldfastError } from "../../kernel/errors.ts";
import type { Command } from "./command.ts";

const events = ["session-start", "pre-compact", "post-compact", "session-end"] as const;

/** Only described here: main runs hooks itself, without loading the command line, because an agent waits for them. */
export const hookCommand: Command = {
  path: ["hook"],
  summary: "Answer an agent's hook: give it back its context, or save where the work stands",
  details:
    "What a client's hook runs; it reads the event as JSON on standard input. session-start prints a resume pack for the workspace as additional context, or nothing when there is nothing to tell. " +
    "pre-compact and session-end save what can be known without a model (branch, changed files, recent commits), unless nothing changed since the last entry. post-compact saves the client's summary of the context. " +
    "It never blocks: on any failure it prints nothing and exits with 0. Only an event that it does not know ends with 1 and a line on standard error.",
  operands: `<${events.join("|")}>`,
  operandMeanings: [{ name: events.join("|"), meaning: "The event.", choices: [...events] }],
  flags: [],
  examples: ["holdfast hook session-start", "holdfast hook pre-compact --store sqlite:./state.db"],
  run() {
    throw new HoldfastError("invalid_input", "hook: must be the first word after the flags");
  },
};
