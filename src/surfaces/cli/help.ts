import type { CliHost, Command, DocumentedFlag, Output } from "./command.ts";
import { wrap } from "./terminal-text.ts";

/** The sections of the command list, by first word, ordered for a newcomer who reads from the top. */
export const commandAreas: readonly { readonly title: string; readonly words: readonly string[] }[] = [
  { title: "Start", words: ["install", "uninstall", "doctor", "serve", "completion"] },
  { title: "Memory", words: ["resume", "checkpoint", "journal", "knowledge", "research", "session", "workspace"] },
  { title: "Coordination", words: ["get", "set", "ls", "rm", "watch", "state", "lease", "workflow", "effect", "effects", "history", "agentcheckpoint"] },
  { title: "Operate", words: ["health", "verify", "token", "namespace", "reset", "mcp", "connect", "proxy", "hook"] },
  { title: "Move data", words: ["import", "export", "backup", "restore", "migrate"] },
];

export const commonFlags: readonly DocumentedFlag[] = [
  { name: "json", meaning: "Print the exact structured result as JSON, for scripts." },
  { name: "help", meaning: "Show this help." },
];

/** Long lines are hard to read, so a wide terminal is not filled. */
const widthMax = 100;
export const widthOf = ({ columns = 80 }: Output): number => Math.max(40, Math.min(columns, widthMax));

export const usageOf = (command: Command): string => ["holdfast", ...command.path, command.operands].filter((part) => part !== "").join(" ");

/** Flags go before a `--`: the words after it are another command's. */
const withFlags = (usage: string): string => usage.replace(/(?= \[?-- |$)/, " [flags]");

export const flagUsage = ({ name, takes }: DocumentedFlag): string => `--${name}${takes === undefined ? "" : ` ${takes}`}`;

/** The command's own flags, and the settings that only this command uses. */
export const flagsOf = (command: Command, everywhere: readonly DocumentedFlag[]): readonly DocumentedFlag[] => [
  ...command.flags,
  ...everywhere.filter(({ of }) => of !== undefined && [of].flat().includes(command.path.join(" "))).map((flag) => ({ ...flag, hidden: false })),
];

export function commandHelp(command: Command, { stdout, flags: everywhere }: Pick<CliHost, "stdout" | "flags">): string {
  const width = widthOf(stdout);
  const flags = flagsOf(command, everywhere);
  return [
    `${wrap(command.summary, width)}\n`,
    `Usage: ${flags.length > 0 ? withFlags(usageOf(command)) : usageOf(command)}\n`,
    command.details === undefined ? "" : `${wrap(command.details, width)}\n`,
    section(
      "Arguments",
      (command.operandMeanings ?? []).map(({ name, meaning }) => [name, meaning]),
      width,
    ),
    section("Flags", flagRows(flags), width),
    command.examples.length === 0 ? "" : `Examples:\n${command.examples.map((example) => `  ${example}\n`).join("")}`,
    "Flags of every command: holdfast help flags\n",
  ]
    .filter((part) => part !== "")
    .join("\n");
}

export function groupHelp(group: string, commands: readonly Command[], width: number): string {
  return [
    `Usage: holdfast ${group} COMMAND\n`,
    section(
      "Commands",
      commands.map((command) => [command.path.join(" "), command.summary]),
      width,
    ),
    `For details: holdfast ${group} COMMAND --help\n`,
  ].join("\n");
}

/** The flags that a beginner needs; `holdfast help flags` lists all. */
const firstFlags = ["store", "namespace", "json"];

/** The text of `holdfast` at a terminal: the commands by purpose. */
export function overview({ version, flags, stdout }: Pick<CliHost, "version" | "flags" | "stdout">, commands: readonly Command[]): string {
  const width = widthOf(stdout);
  const rowOf = (word: string): readonly [string, string][] => {
    const [group, alone] = [commands.filter(({ path }) => path[0] === word && path.length > 1), commands.find(({ path }) => path.join(" ") === word)];
    return [
      ...(alone === undefined ? [] : [[usageOf(alone).slice("holdfast ".length), alone.summary] as [string, string]]),
      ...(group.length === 0 ? [] : [[`${word} COMMAND`, group.map(({ path }) => path[1]).join(", ")] as [string, string]]),
    ];
  };
  const shown = [...commonFlags, ...flags].filter(({ name }) => firstFlags.includes(name)).map((flag) => [flagUsage(flag), firstSentence(flag.meaning)] as const);
  return [
    `holdfast ${version}: durable shared state for AI agents\n`,
    `${wrap("If standard input is a pipe, as when an MCP client starts it, holdfast serves MCP. At a terminal, use these commands:", width)}\n`,
    ...commandAreas.map(({ title, words }) => section(title, words.flatMap(rowOf), width)),
    section("Flags", shown, width),
    `${wrap("For details: holdfast COMMAND --help. For the flags of every command: holdfast help flags.", width)}\n`,
  ].join("\n");
}

/** The text of `holdfast help flags`. */
export const flagsHelp = ({ flags, stdout }: Pick<CliHost, "flags" | "stdout">): string =>
  section("Flags of every command", flagRows([...commonFlags, { name: "version", meaning: "Show the version (before any command; also -v)." }, ...flags]), widthOf(stdout));

/** The overview has room for one sentence per flag. */
const firstSentence = (text: string): string => /^.*?\.(?=\s)/s.exec(text)?.[0] ?? text;

const flagRows = (flags: readonly DocumentedFlag[]): (readonly [string, string])[] => flags.filter(({ hidden }) => hidden !== true).map((flag) => [flagUsage(flag), flag.meaning]);

function section(title: string, rows: readonly (readonly [left: string, right: string])[], width: number): string {
  if (rows.length === 0) return "";
  const left = Math.min(32, Math.floor(width / 3), Math.max(...rows.map(([name]) => name.length)));
  const indent = " ".repeat(left + 4);
  const lines = rows.map(([name, meaning]) => {
    const text = wrap(meaning, width - left - 4).replaceAll("\n", `\n${indent}`);
    return name.length > left ? `  ${name}\n${indent}${text}\n` : `  ${name.padEnd(left)}  ${text}\n`;
  });
  return `${title}:\n${lines.join("")}`;
}
