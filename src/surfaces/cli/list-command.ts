import { invalidInput } from "../../kernel/errors.ts";
import { mustBeOneOf, quotedName } from "../../kernel/nearest.ts";
import type { CliRuntime, Command, DocumentedFlag, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { renderResult } from "./render-result.ts";
import { renderList } from "./result-lists.ts";
import { styleFor } from "./terminal-text.ts";
import { longFlag } from "./tool-command.ts";

const pageSizes = { default: 50, max: 100 } as const;

const pageFlags: readonly DocumentedFlag[] = [
  { name: "limit", takes: "N", meaning: `How many to list at most, from 1 to ${pageSizes.max}. Default: ${pageSizes.default}.` },
  { name: "cursor", takes: "CURSOR", meaning: "Continue after the previous page, which ends with its cursor." },
];

interface ListRequest {
  readonly limit: number;
  readonly cursor?: string;
  /** The given filters. */
  readonly filter: Readonly<Record<string, string>>;
}

interface ListDefinition extends Pick<Command, "summary" | "details" | "operandMeanings"> {
  readonly path: readonly [string, string];
  /** The operand and the flags that filter the list. */
  readonly operand?: string;
  readonly filters?: readonly DocumentedFlag[];
  readonly examples: readonly string[];
  /** The result as `--json` prints it: the list under the field of its shape, and `cursor`. */
  read(runtime: CliRuntime, request: ListRequest): Promise<Readonly<Record<string, unknown>>>;
}

/** A command that lists the results of a domain function: as a table, with `--long` or with `--json`, one page at a time. */
export const listCommand = ({ operand, filters = [], read, ...rest }: ListDefinition): Command => ({
  ...rest,
  operands: operand === undefined ? "" : `[${operand}]`,
  flags: [...filters, ...pageFlags, longFlag],
  async run(invocation) {
    const { host, flags, json } = invocation;
    const request = requestOf(invocation, operand, filters, rest.path);
    await using runtime = await host.open(flags, { onlyLooks: true });
    const result = await read(runtime, request);
    const style = styleFor(host.stdout, runtime.config.colourAllowed, runtime.base.clock.nowMs());
    if (json) host.stdout.write(`${JSON.stringify(result)}\n`);
    else host.stdout.write((flags.long === true ? undefined : renderList(rest.path.join(" "), result, request.filter, style)) ?? renderResult(result, style, { long: true }));
    return exitCodes.ok;
  },
});

function requestOf({ flags, words }: Invocation, operand: string | undefined, filters: readonly DocumentedFlag[], path: readonly string[]): ListRequest {
  const [word, ...others] = words;
  if (word !== undefined && (operand === undefined || others.length > 0))
    throw invalidInput(path.join(" "), operand === undefined ? "takes no argument" : `takes one argument at most, [${operand}]`);
  const named = filters.flatMap(({ name, choices }) => {
    const value = flags[name];
    if (typeof value !== "string") return [];
    if (choices !== undefined && !choices.includes(value)) throw invalidInput(`--${name}`, mustBeOneOf(value, choices));
    return [[name, value] as const];
  });
  return {
    limit: limitOf(flags.limit),
    ...(typeof flags.cursor === "string" ? { cursor: flags.cursor } : {}),
    filter: Object.fromEntries([...(operand === undefined || word === undefined ? [] : [[operand, word] as const]), ...named]),
  };
}

function limitOf(given: unknown): number {
  if (given === undefined) return pageSizes.default;
  const limit = /^\d{1,9}$/.test(String(given)) ? Number(given) : 0;
  if (limit < 1 || limit > pageSizes.max) throw invalidInput("--limit", `must be a whole number from 1 to ${pageSizes.max} (got ${quotedName(String(given))})`);
  return limit;
}
