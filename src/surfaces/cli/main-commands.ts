import { HoldfastError } from "../../kernel/errors.ts";
import type { Command } from "./command.ts";

/** Only descriptions: main runs these commands itself, without loading the command line, so that they start fast. */
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

export const connectCommand: Command = {
  path: ["connect"],
  summary: "Forward MCP over stdio to a running server",
  details:
    "Serves MCP over standard input and output for clients that can only start a program. All messages are forwarded, in MCP 2026-07-28 and in earlier revisions. While the server cannot be reached, requests wait briefly and are then answered with an error. Subscriptions and sessions resume when the server is back. A call that may have arrived is sent again only if it carries a request key.\n\nThe token is read from HOLDFAST_TOKEN or --token-file, never from the URL. The command ends when standard input ends, with exit code 6 if the last requests were not answered.",
  operands: "<url>",
  operandMeanings: [{ name: "url", meaning: "The server's URL, with or without /mcp; /ns/NAME/mcp selects a namespace." }],
  flags: [],
  examples: ["holdfast connect http://127.0.0.1:8000", "holdfast connect https://holdfast.example.com/ns/builds/mcp --token-file ~/.config/holdfast/token"],
  run() {
    throw new HoldfastError("invalid_input", "connect: must be the first word after the flags");
  },
};
