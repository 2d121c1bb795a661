import { invalidInput } from "../../kernel/errors.ts";
import type { Command } from "./command.ts";
import { exitCodes } from "./command.ts";
import { commonFlags } from "./help.ts";

const shells = ["bash", "zsh", "fish"] as const;

export const completionCommand: Command = {
  path: ["completion"],
  summary: "Print a completion script for bash, zsh or fish",
  operands: `<${shells.join("|")}>`,
  operandMeanings: [{ name: shells.join("|"), meaning: "The shell that will read the script." }],
  flags: [],
  examples: ["source <(holdfast completion bash)", "holdfast completion fish > ~/.config/fish/completions/holdfast.fish"],
  async run({ host, words }) {
    const [shell] = words;
    // Loaded here, because the table of commands holds this command too.
    const { commands } = await import("./commands.ts");
    const everywhere = [...commonFlags, ...host.flags].map((flag) => `--${flag.name}`);
    if (shell === "fish") host.stdout.write(fishScript(commands, everywhere));
    else if (shell === "bash" || shell === "zsh") host.stdout.write(bashScript(commands, everywhere, shell));
    else throw invalidInput(`<${shells.join("|")}>`, `must be one of ${shells.join(", ")}`);
    return exitCodes.ok;
  },
};

/** What may follow each command path: further words, or flags. zsh reads the bash script through its own compatibility layer. */
function bashScript(commands: readonly Command[], everywhere: readonly string[], shell: "bash" | "zsh"): string {
  const groups = new Map<string, string[]>();
  for (const { path } of commands) if (path[1] !== undefined) groups.set(path[0] as string, [...(groups.get(path[0] as string) ?? []), path[1]]);
  const cases = [
    ...[...groups].map(([group, words]) => `    "${group}") words="${words.join(" ")}" ;;`),
    ...commands.map(({ path, flags }) => `    "${path.join(" ")}") words="${flags.map((flag) => `--${flag.name}`).join(" ")}" ;;`),
  ];
  return `${shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : ""}_holdfast() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" words="" i
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    case "\${COMP_WORDS[i]}" in -*) break ;; *) path="\${path:+$path }\${COMP_WORDS[i]}" ;; esac
  done
  case "$path" in
    "") words="${[...new Set(commands.map(({ path }) => path[0]))].join(" ")}" ;;
${cases.join("\n")}
    *) case "\${path%% *}" in
${commands
  .filter(({ path }) => path.length === 1)
  .map(({ path, flags }) => `      "${path[0]}") words="${flags.map((flag) => `--${flag.name}`).join(" ")}" ;;`)
  .join("\n")}
    esac ;;
  esac
  case "$current" in -*) words="$words ${everywhere.join(" ")}" ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _holdfast holdfast
`;
}

function fishScript(commands: readonly Command[], everywhere: readonly string[]): string {
  const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = ["complete -c holdfast -f", ...everywhere.map((flag) => `complete -c holdfast -l ${flag.slice(2)}`)];
  for (const { path, summary, flags } of commands) {
    const [first, second] = path as [string, string?];
    const seen = `__fish_seen_subcommand_from ${first}`;
    if (second === undefined) lines.push(`complete -c holdfast -n __fish_use_subcommand -a ${first} -d ${quote(summary)}`);
    else {
      if (!lines.includes(`complete -c holdfast -n __fish_use_subcommand -a ${first}`)) lines.push(`complete -c holdfast -n __fish_use_subcommand -a ${first}`);
      lines.push(`complete -c holdfast -n ${quote(seen)} -a ${second} -d ${quote(summary)}`);
    }
    const both = second === undefined ? seen : `${seen}; and __fish_seen_subcommand_from ${second}`;
    for (const flag of flags) lines.push(`complete -c holdfast -n ${quote(both)} -l ${flag.name} -d ${quote(flag.meaning)}`);
  }
  return `${lines.join("\n")}\n`;
}
