import type { ErrorCode } from "../../kernel/errors.ts";
import { errorCodes, HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { quotedName } from "../../kernel/nearest.ts";
import { answerTexts } from "../../tools/answer-texts.ts";
import { runTool } from "../../tools/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";
import { hintInCliWords, inCliWords } from "./cli-vocabulary.ts";
import type { CliHost, CliRuntime, Command, Invocation } from "./command.ts";
import { errorJson, exitCodes } from "./command.ts";
import { commandPath } from "./command-path.ts";
import type { Parameter } from "./parameters.ts";
import { parametersOf, toFlag } from "./parameters.ts";
import { readArgument } from "./read-arguments.ts";
import { isNegative, renderBareValue, renderResult } from "./render-result.ts";
import { listsAsTable, renderList } from "./result-lists.ts";
import { resultSentence } from "./result-sentences.ts";
import type { TextStyle } from "./terminal-text.ts";
import { safeText, styleFor, wrapProse } from "./terminal-text.ts";
import { toolExamples } from "./tool-examples.ts";
import { requireToolHelp } from "./tool-help.ts";

/** Defaults so that a person at a prompt need not decide. */
const commandDefaults: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  lease_acquire: { ttl_seconds: 60 },
  lease_renew: { ttl_seconds: 60 },
  // Lists entries with versions and times.
  state_list: { values: false },
};

const requestKeyFlag = {
  name: "request-key",
  takes: "KEY",
  meaning: "Makes a retry safe: a repeated command with the same key and arguments prints the first answer and has no second effect.",
} as const;
export const longFlag = { name: "long", meaning: "Show every field, one record after another, instead of a table." } as const;
const stringFlag = { name: "string", meaning: "Store the value as text even if it is valid JSON." } as const;

export interface ToolCommandOptions {
  /** A path other than the tool's own. */
  readonly path?: readonly string[];
  /** Print only the value. */
  readonly bare?: boolean;
}

/** A tool as a command: `lease_acquire` is `holdfast lease acquire <resource_id> [--ttl DURATION]`. */
export function toolCommand(tool: Tool, { path = commandPath(tool), bare = false }: ToolCommandOptions = {}): Command {
  const parameters = parametersOf(tool).map((parameter) => ({ ...parameter, isPositional: tool.positional.includes(parameter.property) }));
  const positional = tool.positional.flatMap((property) => parameters.filter((parameter) => parameter.property === property));
  const named = parameters.filter((parameter) => !positional.includes(parameter));
  const defaults = commandDefaults[tool.name] ?? {};
  const isRequired = (parameter: Parameter): boolean => parameter.required && !Object.hasOwn(defaults, parameter.property);
  const requiredFlags = named.filter(isRequired).map((parameter) => `--${parameter.flag} ${toFlag(parameter).takes}`);
  return {
    path,
    alias: tool.name,
    ...requireToolHelp(tool),
    operands: positional
      .map((parameter) => (isRequired(parameter) ? `<${parameter.property}>` : `[${parameter.property}]`))
      .concat(requiredFlags)
      .join(" "),
    operandMeanings: positional.map(({ property, meaning, choices }) => ({ name: property, meaning, choices })),
    flags: [
      ...named.map((parameter) => withDefault(toFlag(parameter), defaults[parameter.property])),
      ...(parameters.some(({ kind }) => kind === "value") ? [stringFlag] : []),
      ...(tool.effect === "read" ? [] : [requestKeyFlag]),
      ...(listsAsTable(tool.name) ? [longFlag] : []),
    ],
    examples: (toolExamples[tool.name] ?? []).map((example) => `holdfast ${path.join(" ")}${example === "" ? "" : ` ${example}`}`),
    run: (invocation) => runToolCommand(tool, invocation, { positional, named, defaults, isRequired, bare, path }),
  };
}

function withDefault(flag: ReturnType<typeof toFlag>, value: unknown): ReturnType<typeof toFlag> {
  return typeof value !== "number" ? flag : { ...flag, meaning: `${flag.meaning} Default: ${value}s.` };
}

interface Shape {
  readonly positional: readonly Parameter[];
  readonly named: readonly Parameter[];
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly isRequired: (parameter: Parameter) => boolean;
  readonly bare: boolean;
  readonly path: readonly string[];
}

async function runToolCommand(tool: Tool, invocation: Invocation, shape: Shape): Promise<number> {
  const { host, flags, json } = invocation;
  const args = await collectArguments(invocation, shape);
  const onlyLooks = tool.effect === "read" || tool.onlyReads?.(args) === true;
  await using runtime = await host.open(flags, { onlyLooks });
  if (runtime.config.readOnly && !onlyLooks) throw new HoldfastError("read_only", `${shape.path.join(" ")} changes the store, and this command was started read-only.`);
  const acting = agentArguments(tool, runtime, host.defaultAgent);
  Object.assign(args, acting);
  const outcome = await runTool(tool, args, { ...runtime.base, connection: host.terminalSession() }, { requestKey: flags["request-key"] as string | undefined }, runtime.log);
  const who = Object.values(acting)[0];
  if (!outcome.ok) {
    const { code, details } = outcome.error;
    const hint = hintInCliWords(tool, outcome.error.hint, shape.path);
    const told = { code, message: inCliWords(tool, outcome.error.message), hint: ownershipCodes.includes(code) ? [hint, whoYouAre(who)].join(" ").trim() : hint, details };
    if (!json) throw new HoldfastError(code, told.message, told);
    host.stdout.write(errorJson(told));
    return errorCodes[code].exit;
  }
  const result = outcome.structured;
  if (json) host.stdout.write(`${JSON.stringify(result)}\n`);
  else if (shape.bare && result.found === true) host.stdout.write(renderBareValue(result.value, host.stdout.isTTY === true));
  else if (tool.name === "state_get" && result.found === false) host.stderr.write(`holdfast: ${safeText(JSON.stringify(result.key))} is not set\n`);
  else printResult(tool, { result, given: args, long: flags.long === true, host, style: styleFor(host.stdout, runtime.config.colourAllowed, runtime.base.clock.nowMs()) });
  if (!json && ownershipTools.includes(tool.name) && isNegative(result)) host.stderr.write(`holdfast: ${safeText(whoYouAre(who))}\n`);
  if (typeof result.status === "string" && result.status.startsWith("error: ")) return errorCodes.unavailable.exit;
  return isNegative(result) ? exitCodes.negative : exitCodes.ok;
}

interface Printing {
  readonly result: Readonly<Record<string, unknown>>;
  /** The arguments from the command line. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly long: boolean;
  readonly host: CliHost;
  readonly style: TextStyle;
}

/** For people. Results go to standard output, refusals to standard error. */
function printResult(tool: Tool, { result, given, long, host, style }: Printing): void {
  const asText = (text: string): string => `${wrapProse(safeText(text, { keepLines: true }).replace(/\n$/, ""), style.columns)}\n`;
  const texts = answerTexts(tool, result);
  if (texts !== undefined) return void host.stdout.write(texts.map(asText).join(""));
  // Written to be read as it is; the rest of the result repeats it in parts.
  if (typeof result.formatted_context === "string") return void host.stdout.write(asText(result.formatted_context || "No stored note answers this."));
  const sentence = resultSentence(tool.name, result, style);
  if (sentence?.isRefusal === true) return void host.stderr.write(`holdfast: ${sentence.text}\n`);
  if (sentence !== undefined) return void host.stdout.write(`${wrapProse(sentence.text, style.columns)}\n`);
  host.stdout.write((long ? undefined : renderList(tool.name, result, given, style)) ?? renderResult(result, style, { long }));
}

/** If a command is refused because another agent is the holder, the error names the current agent, which is rarely typed at a prompt. */
const ownershipCodes: readonly ErrorCode[] = ["claim_held", "claim_lost"];
const ownershipTools: readonly string[] = ["lease_renew", "lease_release"];
const whoYouAre = (agent: string | undefined): string => (agent === undefined ? "" : `You are ${agent}; pass --agent or --token to act as another holder.`);

async function collectArguments({ host, flags, words }: Invocation, { positional, named, defaults, isRequired, path }: Shape): Promise<Record<string, unknown>> {
  const args: Record<string, unknown> = { ...defaults };
  const options = { asText: flags.string === true };
  if (words.length > positional.length) {
    const takes = positional.length === 0 ? "takes no argument" : `takes ${positional.map(({ property }) => `<${property}>`).join(" ")}`;
    throw invalidInput(path.join(" "), `${takes}; unexpected ${quotedName(words[positional.length] as string)}. Quote an argument that contains spaces`);
  }
  for (const [i, parameter] of positional.entries()) {
    const word = words[i];
    if (word !== undefined) args[parameter.property] = await readArgument(parameter, word, host, options);
    else if (isRequired(parameter)) throw invalidInput(`<${parameter.property}>`, `is missing; see holdfast ${path.join(" ")} --help`);
  }
  for (const parameter of named) {
    const given = flags[parameter.flag];
    if (given !== undefined) args[parameter.property] = await readArgument(parameter, given, host, options);
    else if (isRequired(parameter)) throw invalidInput(`--${parameter.flag}`, `is missing; see holdfast ${path.join(" ")} --help`);
  }
  return args;
}

/** Leases and claims need a holder. For other tools the agent is a label that is set only if given. */
function agentArguments(tool: Tool, { config }: CliRuntime, defaultAgent: () => string): Record<string, string> {
  const property = ["holder_id", "agent_id"].find((name) => Object.hasOwn(tool.input.shape, name));
  if (property === undefined) return {};
  const agent = config.agent ?? (["lease", "workflow"].includes(tool.toolset) ? defaultAgent() : undefined);
  return agent === undefined ? {} : { [property]: agent };
}
