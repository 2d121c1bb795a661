import { invalidInput } from "../../kernel/errors.ts";
import { checkpoint } from "../../tools/journal-tools.ts";
import type { Command } from "./command.ts";
import { toolCommand } from "./tool-command.ts";

const journal = toolCommand(checkpoint);
const flagsOfTimeline: readonly string[] = ["format", "limit", "cursor", "workspace", "output-format"];

export const journalTodayCommand: Command = {
  path: ["journal", "today"],
  summary: "Show the journal entries of today, newest first",
  details: "Today is the local day. For other days: holdfast checkpoint --range yesterday, 7d or a date.",
  operands: "",
  flags: journal.flags.filter(({ name }) => flagsOfTimeline.includes(name)),
  examples: ["holdfast journal today", "holdfast journal today --format detailed"],
  async run(invocation) {
    if (invocation.words.length > 0) throw invalidInput("journal today", "takes no argument");
    return journal.run({ ...invocation, flags: { ...invocation.flags, action: "timeline", range: "today" } });
  },
};
