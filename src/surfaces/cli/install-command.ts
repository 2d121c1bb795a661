import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { quotedName } from "../../kernel/nearest.ts";
import type { ClientPlan, CliHost, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import type { TextStyle } from "./terminal-text.ts";
import { bold, green, red, safeText, styleFor } from "./terminal-text.ts";

/** Repeated here so that the code for clients' files is loaded only when one is changed. */
const clients = [
  "claude-code",
  "claude-desktop",
  "cursor",
  "vscode",
  "windsurf",
  "codex",
  "gemini",
  "opencode",
  "continue",
  "zed",
  "cline",
  "hermes",
  "copilot",
  "qwen",
  "amp",
  "crush",
  "goose",
  "kiro",
] as const;
const clientNames = clients.join(", ");
const clientOperand = { name: "client", meaning: `One of ${clientNames}.`, choices: clients } as const;
const changeFlags = [
  { name: "scope", takes: "user|project", choices: ["user", "project"], meaning: "The user's own files, or those of the project in the current folder. Default: user." },
  { name: "dry-run", meaning: "Show what would change, and change nothing." },
  { name: "yes", meaning: "Skip the confirmation. Required when standard input is not a terminal." },
] as const;

export const installCommand: Command = {
  path: ["install"],
  summary: "Set up the server in an MCP client, with skills, hooks or instructions if it supports them",
  details:
    "Shows the changes and asks for confirmation; --dry-run also shows new files in full. Everything else in an existing file is kept, including comments, and a copy of the file is kept beside it. A file that cannot be parsed is left unchanged, and the error names the line. Flags such as --store, --namespace and --profile are written into the client's file, so that it starts the server with them. Running the command again changes only what is different.",
  operands: "<client>",
  operandMeanings: [clientOperand],
  flags: [
    ...changeFlags,
    { name: "print", meaning: "Print the configuration and instructions to enter by hand, for any other client. Changes nothing; takes no client." },
    { name: "http", takes: "URL", meaning: "Connect the client to a running server at this address instead of starting one." },
    {
      name: "token-env",
      takes: "NAME",
      meaning:
        "With --http: the environment variable that holds the token. The client's file refers to it; the token itself is never written. Default: HOLDFAST_TOKEN for an address other than this machine's. Pass `none` if the client signs in by itself.",
    },
    { name: "server-only", meaning: "Leave out skills, hooks and instructions." },
    {
      name: "wrap",
      takes: "SERVER",
      meaning:
        "Put `holdfast proxy` in front of another MCP server, which the client already has under this name. Installs nothing else. Without a client, changes every client that has such a server.",
    },
  ],
  examples: [
    "holdfast install claude-code",
    "holdfast install cursor --scope project --profile coding",
    "holdfast install codex --dry-run",
    "holdfast install --print",
    "holdfast install vscode --http http://127.0.0.1:8000/mcp",
    "holdfast install codex --http https://holdfast.example.com/mcp --token-env TEAM_TOKEN",
    "holdfast install claude-desktop --http https://holdfast.example.com/mcp --token-file ~/.config/holdfast/token",
    "holdfast install --wrap mail claude-code",
  ],
  run: (invocation) => changeClient("install", invocation),
};

export const uninstallCommand: Command = {
  path: ["uninstall"],
  summary: "Remove Holdfast from an MCP client",
  details:
    "Removes the server, skills, hooks and instructions, the files and folders that install created, and the copies it kept. A file that has not been edited since gets its earlier content back byte for byte; in an edited file only Holdfast's part is removed. Stored data is kept.",
  operands: "<client>",
  operandMeanings: [clientOperand],
  flags: [
    ...changeFlags,
    {
      name: "wrap",
      takes: "SERVER",
      meaning:
        "Remove `holdfast proxy` from in front of this server and restore the server's entry. Removes nothing else. Without a client, changes every client that has such a server.",
    },
  ],
  examples: ["holdfast uninstall claude-code", "holdfast uninstall cursor --scope project --yes", "holdfast uninstall --wrap mail"],
  run: (invocation) => changeClient("uninstall", invocation),
};

async function changeClient(action: "install" | "uninstall", { host, flags, words, json }: Invocation): Promise<number> {
  const [client, ...others] = words;
  if (others.length > 0) throw invalidInput("<client>", "must be one client");
  const scope = (flags.scope as string | undefined) ?? "user";
  if (typeof flags.wrap === "string") {
    const other = (["print", "http", "token-env", "server-only"] as const).find((name) => flags[name] !== undefined);
    if (other !== undefined) throw invalidInput("--wrap", `cannot be combined with --${other}`);
    return changeFiles(action, await host.planClientWrap(flags, { action, server: flags.wrap, client, scope }), client ?? null, { host, flags, json });
  }
  if (flags.print === true) {
    if (client !== undefined) throw invalidInput("--print", `is for clients that install does not support; leave out ${quotedName(client)}`);
    return printServer({ host, flags, json });
  }
  if (client === undefined) throw invalidInput("<client>", `must be one of ${clientNames}; use install --print for any other`);
  const plan = await host.planClientChange(flags, {
    action,
    client,
    scope,
    http: flags.http as string | undefined,
    tokenEnv: flags["token-env"] as string | undefined,
    serverOnly: flags["server-only"] === true,
  });
  return changeFiles(action, plan, client, { host, flags, json });
}

async function changeFiles(
  action: "install" | "uninstall",
  plan: ClientPlan,
  client: string | null,
  { host, flags, json }: Pick<Invocation, "host" | "flags" | "json">,
): Promise<number> {
  const { changes } = plan;
  const dryRun = flags["dry-run"] === true;
  if (!json) host.stdout.write(renderPlan(plan, action, dryRun, styleFor(host.stdout, plan.colourAllowed, 0)));
  const applies = !dryRun && changes.length > 0 && (await confirmed(host, flags.yes === true, json));
  const { backups } = applies ? await plan.apply() : { backups: [] };
  if (json) host.stdout.write(`${JSON.stringify({ client, scope: plan.scope, applied: applies, changes, backups, notes: plan.notes })}\n`);
  else if (applies) host.stdout.write(["Done.\n", ...backups.map((path) => `Original kept as: ${safeText(path)}\n`), ...plan.notes.map((note) => `${note}\n`)].join(""));
  else if (changes.length > 0) host.stdout.write(dryRun ? "Nothing was changed: this was a dry run.\n" : "Nothing was changed.\n");
  return applies || dryRun || changes.length === 0 ? exitCodes.ok : exitCodes.negative;
}

async function confirmed(host: CliHost, yes: boolean, json: boolean): Promise<boolean> {
  if (yes) return true;
  if (!host.stdinIsTerminal || json)
    throw new HoldfastError("invalid_input", "--yes: is required when stdin is not a terminal or with --json; nothing was changed", { details: { field: "--yes" } });
  host.stdout.write("Change these files? [y/N] ");
  for await (const chunk of host.stdin()) return /^\s*y(es)?\s*$/i.test(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"));
  return false;
}

async function printServer({ host, flags, json }: Pick<Invocation, "host" | "flags" | "json">): Promise<number> {
  const { config, instructions, notes } = await host.printServer(flags, { http: flags.http as string | undefined, tokenEnv: flags["token-env"] as string | undefined });
  if (json) host.stdout.write(`${JSON.stringify({ config, instructions: instructions ?? null, notes })}\n`);
  else {
    const parts = [JSON.stringify(config, null, 2), ...(instructions === undefined ? [] : [instructions.trimEnd()])];
    host.stdout.write(`${parts.join("\n\n")}\n`);
    const told = [
      "The JSON goes into the client's list of MCP servers, which may have another name there.",
      "The text goes where the client reads instructions, such as AGENTS.md.",
      ...notes,
    ];
    for (const note of told) host.stderr.write(`holdfast: ${safeText(note)}\n`);
  }
  return exitCodes.ok;
}

/** A new file is shown by its length only: the full text of several skills would hide the changes to existing files. */
function renderPlan({ client, scope, changes }: ClientPlan, action: string, dryRun: boolean, style: TextStyle): string {
  if (changes.length === 0) return action === "install" ? `${client} (${scope}): everything is already set up.\n` : `${client} (${scope}): Holdfast is not installed there.\n`;
  const verbs = { create: "new file", change: "change", delete: "remove" } as const;
  const parts = changes.map(({ path, what, action: verb, diff }) => {
    const title = bold(style, `${verbs[verb]} ${safeText(path)}`);
    if (verb === "create" && !dryRun) return `${title} (${what}, ${diff.split("\n").filter((line) => line.startsWith("+")).length} lines)\n`;
    return `${title} (${what})\n${paintDiff(safeText(diff, { keepLines: true }), style)}\n`;
  });
  return `${parts.join("\n")}\n`;
}

const paintDiff = (diff: string, style: TextStyle): string =>
  diff
    .split("\n")
    .map((line) => (line.startsWith("+") ? green(style, line) : line.startsWith("-") ? red(style, line) : line))
    .join("\n");
