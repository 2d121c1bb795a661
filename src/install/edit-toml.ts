import type { EntryEdit, Offered } from "./edit.ts";
import { lineEndOf, lineOf, unusable } from "./edit.ts";

/** The values of our entry in TOML; other names in the table belong to the user and stay. */
export type TomlEntry = Readonly<Record<string, string | readonly string[]>>;
const transportNames = new Set(["command", "args", "url"]);
/** Clients reject it beside a command. */
const referenceName = "bearer_token_env_var";
const addressNames = new Set([referenceName, "http_headers", "env_http_headers"]);

/** One table of a TOML file. The file is parsed only as far as needed to find where statements begin and end. */
export function tomlTable(path: string, what: string, keys: readonly string[], entry: TomlEntry, offered: Offered<TomlEntry> = {}): EntryEdit {
  const linesOf = (pairs: TomlEntry): string[] => Object.entries(pairs).map(([name, value]) => `${name} = ${tomlValue(value)}`);
  const all = offered === "none" ? entry : { ...entry, ...offered };
  const goes = (name: string): boolean => addressNames.has(name) && (Object.hasOwn(entry, "command") || (offered === "none" && name === referenceName));
  const isOurs = (name: string): boolean => transportNames.has(name) || Object.hasOwn(entry, name) || goes(name);
  return {
    path,
    what,
    add(text = "") {
      const eol = lineEndOf(text);
      const table = findTable(path, text, keys);
      if (table !== undefined) {
        const ours = table.pairs.filter(({ keys: [name] }) => isOurs(name as string));
        const lines = linesOf(bringsCredential(path, text, keys, table) ? entry : all);
        const at = ours[0]?.start ?? table.header.end;
        const head = text.slice(0, at);
        // Everything around our lines stays, including comments.
        const rest = ours.length === 0 ? text.slice(at) : ours.map(({ end }, i) => text.slice(end, ours[i + 1]?.start)).join("");
        return `${head}${head.endsWith("\n") ? "" : eol}${lines.join(eol)}${eol}${rest}`;
      }
      const gap = text === "" ? "" : text.endsWith("\n") ? eol : eol + eol;
      return `${text}${gap}${[`[${keys.join(".")}]`, ...linesOf(all)].join(eol)}${eol}`;
    },
    remove(text, before) {
      let rest = text;
      for (;;) {
        const table = findTable(path, rest, keys) ?? findTable(path, rest, keys, { below: true });
        if (table === undefined) break;
        const head = rest.slice(0, table.header.start);
        const tail = rest.slice(table.end);
        rest = (tail.trim() === "" ? head.replace(/(\r?\n)\r?\n$/, "$1") : head.replace(/(\r?\n\r?\n)\r?\n$/, "$1")) + tail.replace(/^\r?\n(?=\r?\n|\[)/, "");
      }
      return rest.trim() === "" && before === undefined ? undefined : rest;
    },
    find(text) {
      const table = findTable(path, text, keys);
      if (table === undefined) return undefined;
      const members = table.pairs.map(({ keys: [name], start, end }) => [name, tomlWords(text.slice(start, end))]);
      return { value: Object.fromEntries(members) as Record<string, unknown>, start: table.header.start, end: table.end };
    },
  };
}

/** The string or list of strings in a key/value pair; null for any other value. */
function tomlWords(pair: string): string | readonly string[] | null {
  const value = pair.slice(pair.indexOf("=") + 1).trim();
  // The pattern also matches a string without its closing quote: starting a new search after each quote would take quadratic time.
  const strings = Array.from(value.replaceAll(/^[ \t]*#.*$/gm, "").matchAll(/"((?:[^"\\\n]|\\.)*)("?)|'([^'\n]*)('?)/g));
  if (strings.some(([, , basicEnd, , literalEnd]) => (basicEnd ?? literalEnd) === "")) return null;
  const words = strings.map(([, basic, , literal]) => literal ?? unescaped(basic as string));
  if (value.startsWith("[")) return words;
  return /^["'](?!["']{2})/.test(value) && words.length >= 1 ? (words[0] as string) : null;
}

/** Whether the user has configured a credential, in the table itself or in a header table below it. */
function bringsCredential(path: string, text: string, keys: readonly string[], { pairs }: Table): boolean {
  const own = pairs.filter(({ keys: [name] }) => addressNames.has(name as string));
  const below = own.length > 0 ? [] : ["http_headers", "env_http_headers"].flatMap((name) => findTable(path, text, [...keys, name])?.pairs ?? []);
  return [...own, ...below].some(({ keys: [name], start, end }) => name === referenceName || /authorization/i.test(text.slice(start, end)));
}

/** A JSON string is a TOML basic string, except for DEL. */
const tomlString = (text: string): string => JSON.stringify(text).replaceAll("\u007f", "\\u007f");
const tomlValue = (value: string | readonly string[]): string => (typeof value === "string" ? tomlString(value) : `[${value.map(tomlString).join(", ")}]`);

/** A number, a time or a boolean, as far as needed to distinguish it from words. */
const bareValue = /^(?:true|false|[+-]?(?:inf|nan|\d[\w.:+-]*(?: \d[\d:.+Z-]*)?))$/i;

interface Statement {
  readonly kind: "header" | "pair";
  readonly keys: readonly string[];
  readonly start: number;
  /** After its line break. */
  readonly end: number;
}

interface Table {
  readonly header: Statement;
  readonly pairs: readonly Statement[];
  /** After the last pair: anything that follows, including comments, belongs to the next table. */
  readonly end: number;
}

/** The table with this name or, with `below`, the first table inside it. */
function findTable(path: string, text: string, keys: readonly string[], { below = false } = {}): Table | undefined {
  const all = readStatements(path, text);
  let inside: readonly string[] = [];
  let found: Statement | undefined;
  const pairs: Statement[] = [];
  for (const statement of all) {
    if (statement.kind === "header") {
      inside = statement.keys;
      const matches = startsWith(inside, keys) && (below ? inside.length > keys.length : inside.length === keys.length);
      if (matches && found !== undefined && !below) throw unusable(`${path}:${lineOf(text, statement.start)}`, `[${keys.join(".")}] is defined twice`);
      if (matches) found ??= statement;
    } else if (found !== undefined && inside === found.keys) pairs.push(statement);
    else if (startsWith([...inside, ...statement.keys], keys) || (inside.length === 0 && statement.keys.length < keys.length && startsWith(keys, statement.keys)))
      if (!startsWith(inside, keys))
        throw unusable(
          `${path}:${lineOf(text, statement.start)}`,
          `${keys.join(".")} is written inside another value`,
          `Write it as a table, [${keys.join(".")}], or change it by hand.`,
        );
  }
  return found === undefined ? undefined : { header: found, pairs, end: (pairs.at(-1) ?? found).end };
}

const startsWith = (keys: readonly string[], start: readonly string[]): boolean => start.every((key, i) => keys[i] === key);

function readStatements(path: string, text: string): Statement[] {
  const statements: Statement[] = [];
  let tables: (readonly string[])[] = [];
  let pairs = new Set<string>();
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  const fail = (problem: string): never => {
    throw unusable(`${path}:${lineOf(text, Math.min(at, text.length))}`, `not valid TOML (${problem})`, "Correct the file, or move it away, and run the command again.");
  };
  while (at < text.length) {
    const blank = /^[ \t\r\n]*(?:#[^\n]*)?(?:\n|$)/.exec(text.slice(at));
    if (blank !== null && blank[0] !== "" && !/\S/.test(blank[0].replace(/#.*/s, ""))) {
      at += blank[0].length;
      continue;
    }
    const lineStart = text.lastIndexOf("\n", at - 1) + 1;
    at += /^[ \t]*/.exec(text.slice(at))?.[0].length ?? 0;
    const kind = text[at] === "[" ? "header" : "pair";
    const brackets = /^\[\[?/.exec(text.slice(at))?.[0] ?? "";
    at += brackets.length;
    const keys = readKeys();
    if (kind === "header") {
      if (!text.startsWith("]".repeat(brackets.length), at)) fail("a table's name is not closed");
      at += brackets.length;
      // Each item of an array of tables has its own tables below it.
      if (brackets === "[[") tables = tables.filter((table) => !startsWith(table, keys));
      else if (tables.some((table) => table.length === keys.length && startsWith(table, keys))) fail("a table is defined twice");
      else tables.push(keys);
      pairs = new Set();
    } else {
      if (text[at] !== "=") fail("a name without a value");
      at += 1;
      skipValue();
      const name = JSON.stringify(keys);
      if (pairs.has(name)) fail("a name is defined twice");
      pairs.add(name);
    }
    const rest = /^[ \t]*(?:#[^\n]*)?\r?(?:\n|$)/.exec(text.slice(at));
    if (rest === null) fail("unexpected text at the end of the line");
    at += rest?.[0].length ?? 0;
    statements.push({ kind, keys, start: lineStart, end: at });
  }
  return statements;

  function readKeys(): string[] {
    const keys: string[] = [];
    for (;;) {
      const key = /^[ \t]*(?:([A-Za-z0-9_-]+)|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')[ \t]*/.exec(text.slice(at));
      if (key === null) return fail("a name was expected");
      keys.push(key[1] ?? key[3] ?? unescaped(key[2] as string));
      at += key[0].length;
      if (text[at] !== ".") return keys;
      at += 1;
    }
  }

  /** Moves to the end of a value: a line's end or comment outside every string and bracket. */
  function skipValue(): void {
    let depth = 0;
    const from = at;
    while (at < text.length) {
      const rest = text.slice(at, at + 3);
      if (rest === '"""' || rest === "'''") skipTo(rest, true);
      else if (rest.startsWith('"') || rest.startsWith("'")) skipTo(rest.slice(0, 1), false);
      else if (/^[[{]/.test(rest)) {
        depth += 1;
        at += 1;
      } else if (/^[\]}]/.test(rest)) {
        depth -= 1;
        at += 1;
        if (depth < 0) fail("a closing bracket has no opening one");
      } else if (rest.startsWith("#") && depth > 0) at += /^[^\n]*/.exec(text.slice(at))?.[0].length ?? 0;
      else if (depth === 0 && /^[\r\n#]/.test(rest)) break;
      else at += 1;
    }
    if (depth > 0) fail("a bracket is not closed");
    const value = text.slice(from, at).trim();
    if (value === "") fail("a name without a value");
    if (/^[^"'[{]/.test(value) && !bareValue.test(value)) fail("a value that is neither a string nor a number, time, true or false");
  }

  function skipTo(quote: string, manyLines: boolean): void {
    at += quote.length;
    while (!text.startsWith(quote, at)) {
      if (at >= text.length || (!manyLines && text[at] === "\n")) fail("a string is not closed");
      at += quote.startsWith('"') && text[at] === "\\" ? 2 : 1;
    }
    at += quote.length;
    // Up to two quotes may come directly before the closing ones.
    while (manyLines && text.startsWith(quote.slice(0, 1), at)) at += 1;
  }
}

function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    return text;
  }
}
