import { invalidInput } from "../../kernel/errors.ts";
import { nearest } from "../../kernel/nearest.ts";

export interface FlagSpec {
  readonly name: string;
  /** Other spellings of the same flag. */
  readonly aliases?: readonly string[];
  /** The placeholder of the flag's value; absent for a switch, which `--no-NAME` turns off. */
  readonly takes?: string;
  readonly repeats?: boolean;
}

export type FlagValue = string | boolean | readonly string[];

export interface ParsedArgv {
  readonly flags: Readonly<Record<string, FlagValue>>;
  readonly words: readonly string[];
  /** The arguments after `--`; absent without it. */
  readonly rest?: readonly string[];
}

/**
 * `--name value`, `--name=value`, `--switch`, `--no-switch`, `-h`, and `--` to end the flags. A lone `-` and negative numbers are words.
 * `untilWord` stops before the first word and leaves the remainder in `words`: the command decides how to read it.
 */
export function parseArgv(args: readonly string[], specs: readonly FlagSpec[], { untilWord = false } = {}): ParsedArgv {
  const byName = new Map(specs.flatMap((spec) => [spec.name, ...(spec.aliases ?? [])].map((name) => [name, spec] as const)));
  const flags: Record<string, FlagValue> = {};
  const words: string[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] as string;
    if (arg === "--") return { flags, words, rest: args.slice(i + 1) };
    if (!isFlag(arg)) {
      if (untilWord) return { flags, words: args.slice(i) };
      words.push(arg);
      continue;
    }
    const { name, spec, inline, on } = lookUp(arg, byName);
    if (spec.takes === undefined) {
      if (inline !== undefined) throw invalidInput(`--${name}`, "is a switch and takes no value");
      flags[spec.name] = on;
      continue;
    }
    if (inline === undefined) i += 1;
    const value = inline ?? args[i];
    if (value === undefined) throw invalidInput(`--${name}`, `needs a value: --${name} ${spec.takes}`);
    if (spec.repeats) flags[spec.name] = [...((flags[spec.name] as readonly string[] | undefined) ?? []), value];
    else if (Object.hasOwn(flags, spec.name)) throw invalidInput(`--${name}`, "may be given once");
    else flags[spec.name] = value;
  }
  return { flags, words };
}

const shortNames: Readonly<Record<string, string>> = { "-h": "--help", "-V": "--version", "-v": "--version" };
const isFlag = (arg: string): boolean => arg.startsWith("--") || Object.hasOwn(shortNames, arg);

function lookUp(arg: string, byName: ReadonlyMap<string, FlagSpec>): { name: string; spec: FlagSpec; inline: string | undefined; on: boolean } {
  const long = shortNames[arg] ?? arg;
  const equals = long.indexOf("=");
  const name = long.slice(2, equals === -1 ? undefined : equals);
  const inline = equals === -1 ? undefined : long.slice(equals + 1);
  const spec = byName.get(name);
  if (spec !== undefined) return { name, spec, inline, on: true };
  const switchedOff = name.startsWith("no-") ? byName.get(name.slice(3)) : undefined;
  if (switchedOff !== undefined && switchedOff.takes === undefined) return { name, spec: switchedOff, inline, on: false };
  const close = nearest(name, [...byName.keys()]);
  throw invalidInput(`--${name}`, `unknown flag${close === undefined ? "" : `; did you mean --${close}?`}`);
}
