import { HoldfastError } from "../../kernel/errors.ts";
import type { Command } from "./command.ts";

const events = ["session-start", "pre-compact", "post-compact", "session-end"] as const;

/** Only the description: main runs hooks itself, without loading the command line, because an agent waits for them. */
export const hookCommand: Command = {
  path: ["hook"],
  summary: "Answer a client's hook: restore the agent's context, or save the state of its work",
  details:
    "Clients run this command from their hooks. It reads the event as JSON from standard input. session-start prints a summary of the workspace's open work as additional context, or nothing if there is none. " +
    "pre-compact and session-end save facts that need no model (branch, changed files, recent commits), unless nothing has changed since the last entry. post-compact saves the client's summary of the context.\n\n" +
    "It never blocks the agent: on any failure it prints nothing and exits with 0. Only an unknown event exits with 1 and a line on standard error.",
  operands: `<${events.join("|")}>`,
  operandMeanings: [{ name: events.join("|"), meaning: "The event.", choices: [...events] }],
  flags: [],
  examples: ["holdfast hook session-start", "holdfast hook pre-compact --store sqlite:./state.db"],
  run() {
    throw new HoldfastError("invalid_input", "hook: must be the first word after the flags");
  },
};
