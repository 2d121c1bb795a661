import { errorCodes, HoldfastError, isHoldfastError } from "../../kernel/errors.ts";
import { nearest } from "../../kernel/nearest.ts";
import { parseArgv } from "./argv.ts";
import type { CliHost, Command } from "./command.ts";
import { errorJson, exitCodes } from "./command.ts";
import { commands } from "./commands.ts";
import { commandHelp, commonFlags, flagsHelp, groupHelp, overview, widthOf } from "./help.ts";

/** Runs one command line and returns its exit code. Failures are thrown as HoldfastError, or printed as JSON with `--json`. */
export async function runCli(args: readonly string[], host: CliHost): Promise<number> {
  const everywhere = [...commonFlags, ...host.flags];
  const head = parseArgv(args, everywhere, { untilWord: true });
  const asksHelp = head.words[0] === "help";
  const words = asksHelp ? head.words.slice(1) : head.words;
  const [first, second] = words;
  if (first === undefined) return print(host, overview(host, commands));
  if (asksHelp && first === "flags" && second === undefined) return print(host, flagsHelp(host));
  if (first === "version" && second === undefined) return print(host, `${host.version}\n`);
  const command = findCommand(first, second);
  if (command === undefined) return showGroup(first, second, host);
  if (asksHelp || head.flags.help === true) return print(host, commandHelp(command, host));
  const operands = words.slice(wordsTaken(command, first));
  const wantsJson = head.flags.json === true || beforeDashes(operands).includes("--json");
  try {
    const tail = parseArgv(operands, [...everywhere, ...command.flags]);
    if (tail.flags.help === true) return print(host, commandHelp(command, host));
    const { words: given, rest = [] } = tail;
    const flags = { ...head.flags, ...tail.flags };
    return await command.run({ host, flags, json: wantsJson, ...(command.takesRest === true ? { words: given, rest } : { words: [...given, ...rest] }) });
  } catch (error) {
    if (!wantsJson || !isHoldfastError(error)) throw error;
    host.stdout.write(errorJson(error));
    return errorCodes[error.code].exit;
  }
}

/** `lease acquire`, `get`; a tool's own name (`lease_acquire`) works too. The catalog's commands come last, so an alias finds the full command. */
function findCommand(first: string, second: string | undefined): Command | undefined {
  const byPath = (path: string): Command | undefined => commands.find((command) => command.path.join(" ") === path);
  return (second === undefined ? undefined : byPath(`${first} ${second}`)) ?? byPath(first) ?? commands.findLast((command) => command.alias === first);
}

const wordsTaken = (command: Command, first: string): number => (first === command.alias ? 1 : command.path.length);

const beforeDashes = (args: readonly string[]): readonly string[] => (args.includes("--") ? args.slice(0, args.indexOf("--")) : args);

function showGroup(first: string, second: string | undefined, host: CliHost): number {
  const group = commands.filter((command) => command.path.length > 1 && command.path[0] === first);
  if (group.length === 0) throw unknownCommand(first, [...new Set(commands.map((command) => command.path[0] as string))], "holdfast --help");
  if (second !== undefined && !second.startsWith("-"))
    throw unknownCommand(
      `${first} ${second}`,
      group.map((command) => command.path.join(" ")),
      `holdfast ${first} --help`,
    );
  host.stdout.write(groupHelp(first, group, widthOf(host.stdout)));
  return second === "--help" || second === "-h" ? exitCodes.ok : errorCodes.invalid_input.exit;
}

function unknownCommand(word: string, candidates: readonly string[], help: string): HoldfastError {
  const close = nearest(word, candidates);
  return new HoldfastError("invalid_input", `unknown command ${JSON.stringify(word)}${close === undefined ? "" : `; did you mean holdfast ${close}?`}`, {
    hint: `${help} lists the commands.`,
  });
}

function print(host: CliHost, text: string): number {
  host.stdout.write(text);
  return exitCodes.ok;
}
