import { HoldfastError } from "../../kernel/errors.ts";
import type { Command, DocumentedFlag } from "./command.ts";

export const proxyFlags = [
  { name: "url", takes: "URL", meaning: "The MCP server's address, instead of a command. Its token is read from HOLDFAST_TOKEN or --token-file." },
  {
    name: "name",
    takes: "NAME",
    meaning:
      "The server's name in the records. Default: from the command, folder and environment, or from the address and token. Calls recorded under another name are not found again.",
  },
  { name: "rules", takes: "FILE", meaning: "A JSON file that says which tools have an effect, and how to treat their calls; docs/proxy.md describes it." },
  { name: "effect-tool", takes: "TOOL", repeats: true, meaning: "Record calls of this tool, whatever the server says of it. Can be repeated." },
  { name: "read-only-tool", takes: "TOOL", repeats: true, meaning: "Pass calls of this tool straight through, whatever the server says of it. Can be repeated." },
  {
    name: "repeat-window",
    takes: "DURATION",
    meaning: "How long the same call counts as a repeat and is answered from the record. Default: 24h. Does not apply to calls that name a run.",
  },
  { name: "run", takes: "ID", meaning: "The run that calls are part of. Requires --run-token." },
  { name: "run-token", takes: "TOKEN", meaning: "The token of the claim on that run; a worker that was replaced cannot make calls with it." },
  { name: "step", takes: "STEP", meaning: "The step of the run that calls are part of." },
  { name: "live", takes: "DURATION", meaning: "How long after this process is lost its calls count as in flight; then their outcome is unknown. Default: 30s." },
  { name: "wait", takes: "DURATION", meaning: "How long a call waits for the answer to the same call of another client. Default: 30s." },
] as const satisfies readonly DocumentedFlag[];

/** Only the description: main runs the proxy itself, without loading the command line, so that it starts fast. */
export const proxyCommand: Command = {
  path: ["proxy"],
  summary: "Record the calls of another MCP server",
  details:
    "Serves MCP over standard input and output in front of another server. Put it in front of one that sends, pays or posts. All other messages pass through unchanged, in MCP 2026-07-28 and in earlier revisions. Calls of tools that the server does not mark as read-only are recorded before they leave, and their answers before they are passed on. The same call again is answered from the record. A call whose answer was lost is listed as unknown and is not repeated until it is resolved.\n\nTo put it in front of a server that a client already has, use `holdfast install --wrap NAME`.\n\nThe command ends when standard input ends, or with exit code 6 when the server ends first.",
  operands: "[-- <command>]",
  operandMeanings: [{ name: "command", meaning: "The command that starts the MCP server, with its arguments, after --." }],
  flags: proxyFlags,
  examples: [
    "holdfast proxy --name mail -- npx -y mail-mcp-server",
    "holdfast proxy --url https://mcp.example.com/mcp --token-file ~/.config/example/token",
    "holdfast proxy --rules ./effects.json -- ./payments-server",
  ],
  takesRest: true,
  run() {
    throw new HoldfastError("invalid_input", "proxy: must be the first word after the flags");
  },
};
