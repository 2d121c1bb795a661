import { HoldfastError } from "../../kernel/errors.ts";
import type { Command } from "./command.ts";

/** Only the description: main serves MCP itself, without loading the command line, so that it starts fast. */
export const mcpCommand: Command = {
  path: ["mcp"],
  summary: "Serve MCP over standard input and output",
  details: "MCP clients start this command. Without a command, holdfast does the same if standard input is a pipe.",
  operands: "",
  flags: [],
  examples: ["holdfast mcp --profile coding --store sqlite:./state.db"],
  run() {
    throw new HoldfastError("invalid_input", "mcp: must be the first word after the flags");
  },
};
