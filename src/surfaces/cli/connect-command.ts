import { HoldfastError } from "../../kernel/errors.ts";
import type { Command } from "./command.ts";

/** Only described here: main runs it itself, without loading the command line, so that clients see a fast start. */
export const connectCommand: Command = {
  path: ["connect"],
  summary: "Serve MCP over standard input and output, forwarded to a running server",
  details:
    "For clients that can only start a program. All messages are forwarded, in both eras of the protocol. While the server cannot be reached, requests wait briefly and are then answered with an error. Subscriptions and sessions resume when the server is back. A call that may have arrived is sent again only if it carries a request key.\n\nThe token is read from HOLDFAST_TOKEN or --token-file, never from the URL. The command ends when standard input ends, with exit code 6 if the last requests were not answered.",
  operands: "<url>",
  operandMeanings: [{ name: "url", meaning: "The server's URL, with or without /mcp; /ns/NAME/mcp selects a namespace." }],
  flags: [],
  examples: ["holdfast connect http://127.0.0.1:8000", "holdfast connect https://holdfast.example.com/ns/builds/mcp --token-file ~/.config/holdfast/token"],
  run() {
    throw new HoldfastError("invalid_input", "connect: must be the first word after the flags");
  },
};
