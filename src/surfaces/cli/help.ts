import type { CliHost, Command, DocumentedFlag } from "./command.ts";

export const commonFlags: readonly DocumentedFlag[] = [
  { name: "json", meaning: "Print the exact structured result as JSON, for scripts." },
  { name: "help", meaning: "Show this help." },
];

export const usageOf = (command: Command): string => ["holdfast", ...command.path, command.operands].filter((part) => part !== "").join(" ");

export const flagUsage = ({ name, takes }: DocumentedFlag): string => `--${name}${takes === undefined ? "" : ` ${takes}`}`;

export function commandHelp(command: Command, host: Pick<CliHost, "flags">): string {
  return [
    `${command.summary}\n`,
    `Usage: ${usageOf(command)}${command.flags.length > 0 ? " [flags]" : ""}\n`,
    command.details === undefined ? "" : `${wrap(command.details)}\n`,
    section(
      "Arguments",
      (command.operandMeanings ?? []).map(({ name, meaning }) => [name, meaning]),
    ),
    section(
      "Flags",
      command.flags.map((flag) => [flagUsage(flag), flag.meaning]),
    ),
    section(
      "Flags of every command",
      [...commonFlags, ...host.flags].map((flag) => [flagUsage(flag), flag.meaning]),
    ),
    command.examples.length === 0 ? "" : `Examples:\n${command.examples.map((example) => `  ${example}\n`).join("")}`,
  ]
    .filter((part) => part !== "")
    .join("\n");
}

export function groupHelp(group: string, commands: readonly Command[]): string {
  return [
    `Usage: holdfast ${group} COMMAND\n`,
    section(
      "Commands",
      commands.map((command) => [command.path.join(" "), command.summary]),
    ),
    `holdfast ${group} COMMAND --help says more.\n`,
  ].join("\n");
}

/** What `holdfast` shows on a terminal: the few things a newcomer wants, and where the rest is. */
export function overview(version: string, commands: readonly Command[]): string {
  const groups = [...new Set(commands.filter((command) => command.path.length > 1).map((command) => command.path[0] as string))];
  const ofGroup = (group: string): string =>
    commands
      .filter((command) => command.path.length > 1 && command.path[0] === group)
      .map((command) => command.path[1])
      .join(", ");
  return [
    `holdfast ${version}: durable shared state for AI agents\n`,
    "Started by an MCP client with a pipe on standard input, it serves MCP. On a terminal:\n",
    section(
      "Commands",
      commands.filter((command) => command.path.length === 1).map((command) => [usageOf(command).slice("holdfast ".length), command.summary]),
    ),
    section(
      "Groups",
      groups.map((group) => [group, ofGroup(group)]),
    ),
    "holdfast COMMAND --help says more; holdfast doctor checks this machine.\n",
  ].join("\n");
}

function section(title: string, rows: readonly (readonly [left: string, right: string])[]): string {
  if (rows.length === 0) return "";
  const width = Math.min(32, Math.max(...rows.map(([left]) => left.length)));
  const lines = rows.map(([left, right]) => {
    const indent = " ".repeat(width + 4);
    const text = wrap(right, 78 - width).replaceAll("\n", `\n${indent}`);
    return left.length > width ? `  ${left}\n${indent}${text}\n` : `  ${left.padEnd(width)}  ${text}\n`;
  });
  return `${title}:\n${lines.join("")}`;
}

function wrap(text: string, width = 80): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) as string;
    if (line !== "" && line.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}
