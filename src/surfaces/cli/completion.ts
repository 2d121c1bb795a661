import { invalidInput } from "../../kernel/errors.ts";
import { profiles } from "../../tools/profiles.ts";
import type { Command, DocumentedFlag } from "./command.ts";
import { exitCodes } from "./command.ts";
import { commonFlags, flagsOf } from "./help.ts";

const shells = ["bash", "zsh", "fish"] as const;

export const completionCommand: Command = {
  path: ["completion"],
  summary: "Print a completion script for bash, zsh or fish",
  operands: `<${shells.join("|")}>`,
  operandMeanings: [{ name: shells.join("|"), meaning: "The shell that will read the script.", choices: shells }],
  flags: [],
  examples: ["source <(holdfast completion bash)", "holdfast completion fish > ~/.config/fish/completions/holdfast.fish"],
  async run({ host, words }) {
    const [shell] = words;
    // Imported here because the table of commands contains this command.
    const commands = (await import("./commands.ts")).commands.map((command) => ({ ...command, flags: flagsOf(command, host.flags) }));
    const everywhere = [...commonFlags, ...host.flags]
      .filter(({ hidden }) => hidden !== true)
      // The settings do not know the list of profiles.
      .map((flag) => (flag.name === "profile" ? { ...flag, choices: profiles } : flag));
    if (shell === "fish") host.stdout.write(fishScript(commands, everywhere));
    else if (shell === "bash" || shell === "zsh") host.stdout.write(bashScript(commands, everywhere, shell));
    else throw invalidInput(`<${shells.join("|")}>`, `must be one of ${shells.join(", ")}`);
    return exitCodes.ok;
  },
};

const flagWords = (flags: readonly DocumentedFlag[]): string => flags.map(({ name }) => `--${name}`).join(" ");
const operandWords = ({ operandMeanings = [] }: Command): readonly string[] => operandMeanings.flatMap(({ choices = [] }) => choices);

/**
 * What may follow each command path: further words, flags, or the words a flag or argument accepts; after `--`, commands and files.
 * zsh reads the bash script through its own compatibility layer.
 */
function bashScript(commands: readonly Command[], everywhere: readonly DocumentedFlag[], shell: "bash" | "zsh"): string {
  const groups = new Map<string, string[]>();
  for (const { path } of commands) if (path[1] !== undefined) groups.set(path[0] as string, [...(groups.get(path[0] as string) ?? []), path[1]]);
  const wordsOf = (command: Command): string => [...operandWords(command), flagWords(command.flags)].filter((word) => word !== "").join(" ");
  const cases = [
    ...[...groups].map(([group, words]) => `    "${group}") words="${words.join(" ")}" ;;`),
    ...commands.map((command) => `    "${command.path.join(" ")}") words="${wordsOf(command)}" ;;`),
  ];
  const valueCases = [
    ...commands.flatMap(({ path, flags }) =>
      flags.flatMap(({ name, choices }) => (choices === undefined ? [] : [`    "${path.join(" ")}"*" --${name}") words="${choices.join(" ")}" ;;`])),
    ),
    ...everywhere.flatMap(({ name, choices }) => (choices === undefined ? [] : [`    *" --${name}") words="${choices.join(" ")}" ;;`])),
  ];
  return `${shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : ""}_holdfast() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ "\${COMP_WORDS[i]}" = "--" ]; then
      COMPREPLY=($(compgen -c -f -- "$current"))
      return
    fi
  done
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    case "\${COMP_WORDS[i]}" in -*) break ;; *) path="\${path:+$path }\${COMP_WORDS[i]}" ;; esac
  done
  case "$path \${COMP_WORDS[COMP_CWORD-1]}" in
${valueCases.join("\n")}
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$path" in
    "") words="${[...new Set(commands.map(({ path }) => path[0]))].join(" ")}" ;;
${cases.join("\n")}
    *) case "\${path%% *}" in
${commands
  .filter(({ path }) => path.length === 1)
  .map((command) => `      "${command.path[0]}") words="${wordsOf(command)}" ;;`)
  .join("\n")}
    esac ;;
  esac
  case "$current" in -*) words="$words ${flagWords(everywhere)}" ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _holdfast holdfast
`;
}

function fishScript(commands: readonly Command[], everywhere: readonly DocumentedFlag[]): string {
  const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const valuesOf = ({ takes, choices }: DocumentedFlag): string => (choices !== undefined ? ` -x -a ${quote(choices.join(" "))}` : takes === undefined ? "" : " -r");
  const isBehindDashes = "contains -- -- (commandline -opc)";
  const lines = [
    "complete -c holdfast -f",
    `complete -c holdfast -n ${quote(isBehindDashes)} -F`,
    ...everywhere.map((flag) => `complete -c holdfast -l ${flag.name}${valuesOf(flag)}`),
  ];
  for (const command of commands) {
    const { path, summary, flags } = command;
    const [first, second] = path as [string, string?];
    const seen = `__fish_seen_subcommand_from ${first}`;
    if (second === undefined) lines.push(`complete -c holdfast -n __fish_use_subcommand -a ${first} -d ${quote(summary)}`);
    else {
      if (!lines.includes(`complete -c holdfast -n __fish_use_subcommand -a ${first}`)) lines.push(`complete -c holdfast -n __fish_use_subcommand -a ${first}`);
      lines.push(`complete -c holdfast -n ${quote(seen)} -a ${second} -d ${quote(summary)}`);
    }
    const both = second === undefined ? seen : `${seen}; and __fish_seen_subcommand_from ${second}`;
    const operands = operandWords(command);
    if (operands.length > 0) lines.push(`complete -c holdfast -n ${quote(both)} -a ${quote(operands.join(" "))}`);
    for (const flag of flags) lines.push(`complete -c holdfast -n ${quote(both)} -l ${flag.name}${valuesOf(flag)} -d ${quote(flag.meaning)}`);
  }
  return `${lines.join("\n")}\n`;
}
