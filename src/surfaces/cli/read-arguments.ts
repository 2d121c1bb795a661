import { readFile, stat } from "node:fs/promises";
import { durationForms, parseDurationMs } from "../../kernel/duration.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { mustBeOneOf, quotedName } from "../../kernel/nearest.ts";
import type { FlagValue } from "./argv.ts";
import type { CliHost } from "./command.ts";
import type { Parameter } from "./parameters.ts";

/** More than any commit may carry: reading more would only fill the memory. */
const inputBytesMax = 8 * 1024 * 1024;

/** `asText`: values are stored as text, never parsed as JSON. */
export interface ArgumentOptions {
  readonly asText: boolean;
}

/** Converts the text or texts of one parameter into what the tool's schema expects. */
export async function readArgument(parameter: Parameter, given: FlagValue, host: Pick<CliHost, "stdin">, options: ArgumentOptions): Promise<unknown> {
  const { kind } = parameter;
  if (kind === "switch") return given === true;
  if (kind === "map") return readMap(parameter, asTexts(given));
  if (kind === "texts") return asTexts(given);
  if (kind === "leases") return readLeases(parameter, asTexts(given));
  const text = given as string;
  switch (kind) {
    case "text":
      if (parameter.choices !== undefined && !parameter.choices.includes(text)) throw invalidInput(nameOf(parameter), mustBeOneOf(text, parameter.choices));
      return text;
    case "integer":
      return readNumber(parameter, text, /^-?\d+$/, "must be a whole number");
    case "number":
      return readNumber(parameter, text, /^-?(\d+(\.\d+)?|\.\d+)$/, "must be a number");
    case "duration":
      return readSeconds(parameter, text);
    case "lease":
      return readLease(parameter, text);
    case "json":
      return parseJson(parameter, await readSource(parameter, text, host));
    case "value": {
      const content = await readSource(parameter, text, host);
      return options.asText ? content : jsonOrText(content);
    }
  }
}

const nameOf = ({ flag, property, isPositional }: Parameter): string => (isPositional === true ? `<${property}>` : `--${flag}`);

/** A positional argument of a repeatable parameter arrives as one text. */
const asTexts = (given: FlagValue): readonly string[] => (typeof given === "string" ? [given] : (given as readonly string[]));

function readNumber(parameter: Parameter, text: string, form: RegExp, allowed: string): number {
  if (!form.test(text)) throw invalidInput(nameOf(parameter), `${allowed} (got ${quotedName(text)})`);
  return Number(text);
}

function readSeconds(parameter: Parameter, text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined) throw invalidInput(nameOf(parameter), `must be ${durationForms} (got ${quotedName(text)})`);
  return ms / 1_000;
}

/** `a=b` texts, or one JSON object. */
function readMap(parameter: Parameter, texts: readonly string[]): Record<string, string> {
  const entries = texts.flatMap((text): [string, string][] => {
    if (text.startsWith("{")) return Object.entries(parseJson(parameter, text) as Record<string, string>);
    const equals = text.indexOf("=");
    if (equals < 1) throw invalidInput(nameOf(parameter), `must be NAME=VALUE (got ${quotedName(text)})`);
    return [[text.slice(0, equals), text.slice(equals + 1)]];
  });
  return Object.fromEntries(entries);
}

/** `deploy:17`, or a JSON object; the token is the part after the last colon. */
function readLease(parameter: Parameter, text: string): unknown {
  if (text.startsWith("{")) return parseJson(parameter, text);
  const { resource, token } = parseLease(nameOf(parameter), text);
  return { resource_id: resource, token };
}

export function parseLease(field: string, text: string): { readonly resource: string; readonly token: number } {
  const colon = text.lastIndexOf(":");
  const token = text.slice(colon + 1);
  if (colon < 1 || !/^\d+$/.test(token)) throw invalidInput(field, `must be NAME:TOKEN, for example deploy:17 (got ${quotedName(text)})`);
  return { resource: text.slice(0, colon), token: Number(token) };
}

const readLeases = (parameter: Parameter, texts: readonly string[]): unknown =>
  texts.length === 1 && texts[0]?.startsWith("[") ? parseJson(parameter, texts[0]) : texts.map((text) => readLease(parameter, text));

function parseJson(parameter: Parameter, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HoldfastError("invalid_input", `${nameOf(parameter)}: must be JSON (got ${quotedName(text)})`, { cause, details: { field: parameter.property } });
  }
}

/** `holdfast set port 8080` stores a number, `holdfast set name web` a string. */
function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `@FILE` and `-` (standard input) provide values that are too long or too secret for a command line. */
async function readSource(parameter: Parameter, text: string, host: Pick<CliHost, "stdin">): Promise<string> {
  if (text === "-") return withoutLastBreak(await readStream(parameter, host.stdin()));
  if (!text.startsWith("@")) return text;
  const path = text.slice(1);
  const content = await readSmallFile(parameter, path);
  return withoutLastBreak(content);
}

async function readSmallFile(parameter: Parameter, path: string): Promise<string> {
  try {
    if ((await stat(path)).size > inputBytesMax) throw tooLarge(parameter);
    return decode(parameter, await readFile(path));
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw new HoldfastError("invalid_input", `${nameOf(parameter)}: the file ${JSON.stringify(path)} cannot be read`, {
      cause,
      hint: `To store text that begins with @, write it as JSON: '"@…"'.`,
      details: { field: parameter.property },
    });
  }
}

async function readStream(parameter: Parameter, stream: ReturnType<CliHost["stdin"]>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const buffer = typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk);
    bytes += buffer.length;
    if (bytes > inputBytesMax) throw tooLarge(parameter);
    chunks.push(buffer);
  }
  return decode(parameter, Buffer.concat(chunks));
}

function decode(parameter: Parameter, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalidInput(nameOf(parameter), "must be UTF-8 text; encode binary content first, for example as base64");
  }
}

/** Editors and `echo` end a file with a line break that is not meant as content. */
const withoutLastBreak = (text: string): string => text.replace(/\r?\n$/, "");

const tooLarge = (parameter: Parameter): HoldfastError => new HoldfastError("limit_exceeded", `${nameOf(parameter)}: more than ${inputBytesMax} bytes were given`);
