import { HoldfastError } from "../../kernel/errors.ts";
import type { Command } from "./command.ts";

/** Only described here: main runs it itself, without loading the command line, so that clients see a fast start. */
export const connectCommand: Command = {
  path: ["connect"],
  summary: "Serve MCP over standard input and output by passing it on to a running server",
  details:
    "For clients that can only start a program. Everything is passed on, in both eras of the protocol. While the server cannot be reached, requests wait a little and are then answered with an error; " +
    "subscriptions and sessions are taken up again when it is back. A call that may have arrived is sent again only if it carries a request key. " +
    "The token is taken from HOLDFAST_TOKEN or --token-file, never from the address. Ends when standard input does, with exit code 6 where what was asked last was not answered.",
  operands: "<url>",
  operandMeanings: [{ name: "url", meaning: "The server's address, with or without /mcp; /ns/NAME/mcp names a namespace." }],
  flags: [],
  examples: ["holdfast connect http://127.0.0.1:8000", "holdfast connect https://holdfast.example.com/ns/builds/mcp --token-file ~/.config/holdfast/token"],
  run() {
    throw new HoldfastError("invalid_input", "connect: must be the first word after the flags");
  },
};
