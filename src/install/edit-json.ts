import type { ModificationOptions, ParseError } from "jsonc-parser";
import { applyEdits, createScanner, findNodeAtLocation, modify, parse, parseTree, printParseErrorCode } from "jsonc-parser";
import { canonicalJson } from "../kernel/json.ts";
import type { EntryEdit, Offered } from "./edit.ts";
import { byteOrderMark, lineEndOf, lineOf, unusable } from "./edit.ts";

type JsonRecord = Record<string, unknown>;
type JsonPath = readonly (string | number)[];

/** Members that say how a server is reached. They are removed when that changes; anything else the user added to the entry stays. */
export const transportMembers: ReadonlySet<string> = new Set(["type", "command", "cmd", "args", "url", "httpUrl", "serverUrl", "uri", "source", "transport"]);
/** Members that are meaningful only with an address. The user's values stay, except in an entry that starts a program. */
const addressMembers = new Set(["headers", "requestOptions"]);

/** The entry, merged with the members that the user added. */
export function withOwnMembers(existing: unknown, entry: Readonly<JsonRecord>, offered: Offered<Readonly<JsonRecord>> = {}): JsonRecord {
  const startsProgram = Object.hasOwn(entry, "command");
  const theirs = isRecord(existing) ? existing : {};
  const goes = (name: string): boolean => addressMembers.has(name) && (startsProgram || (offered === "none" && onlyReference.test(JSON.stringify(theirs[name]))));
  const kept = Object.entries(theirs).filter(([name]) => !transportMembers.has(name) && !Object.hasOwn(entry, name) && !goes(name));
  const own = Object.entries(entry).map(([name, value]) => [name, addressMembers.has(name) ? joined(theirs[name], value, "ours") : value]);
  return joined({ ...Object.fromEntries(own), ...Object.fromEntries(kept) }, offered === "none" ? {} : offered, "theirs") as JsonRecord;
}

/** Headers, alone or inside options, that contain only a reference to a variable. */
const onlyReference = /^(?:\{"headers":)?\{"authorization":"Bearer (?:\$?\{[^"]*\}|\$\w+)"\}+$/i;

/** Merges both deeply; `counts` decides which value wins. Names are compared like header names, ignoring case. */
function joined(theirs: unknown, ours: unknown, counts: "ours" | "theirs"): unknown {
  if (!isRecord(theirs) || !isRecord(ours)) return theirs === undefined || counts === "ours" ? ours : theirs;
  const names = Object.keys(theirs);
  const nameFor = (name: string): string => names.find((each) => each.toLowerCase() === name.toLowerCase()) ?? name;
  return { ...theirs, ...Object.fromEntries(Object.entries(ours).map(([name, value]) => [nameFor(name), joined(theirs[nameFor(name)], value, counts)])) };
}

export const isRecord = (value: unknown): value is JsonRecord => typeof value === "object" && value !== null && !Array.isArray(value);

/** One named entry in a JSON file that may contain comments. Only the entry's own text changes. */
export function jsonEntry(path: string, what: string, keys: readonly string[], entry: Readonly<JsonRecord>, offered?: Offered<Readonly<JsonRecord>>): EntryEdit {
  return {
    path,
    what,
    add(text) {
      const file = openJson(path, text);
      const existing = file.at(keys);
      const wanted = withOwnMembers(existing, entry, offered);
      if (!isRecord(existing)) return file.set(keys, wanted).text();
      // Member by member, so that the user's other members and comments stay.
      for (const name of Object.keys(existing)) if (!Object.hasOwn(wanted, name)) file.delete([...keys, name]);
      // A new member goes first: at the end it would capture the comment after its neighbour.
      for (const [name, value] of Object.entries(wanted).toReversed()) file.set([...keys, name], value, { goesFirst: true });
      return file.text();
    },
    remove(text, before) {
      const file = openJson(path, text);
      if (file.at(keys) === undefined) return text;
      file.delete(keys);
      return file.prune(keys.slice(0, -1), before).textOrNothing(before);
    },
    find(text) {
      const value = openJson(path, text).at(keys);
      // The byte order mark is not part of the JSON.
      const from = text.startsWith(byteOrderMark) ? 1 : 0;
      const root = parseTree(text.slice(from), [], { allowTrailingComma: true });
      const node = root && findNodeAtLocation(root, [...keys]);
      return isRecord(value) && node !== undefined ? { value, start: from + node.offset, end: from + node.offset + node.length } : undefined;
    },
  };
}

/** A JSON file being edited. Each step is checked against its intended effect on the data. */
export function openJson(path: string, original: string | undefined) {
  const mark = original?.startsWith(byteOrderMark) ? byteOrderMark : "";
  let text = (original ?? "").slice(mark.length);
  let data = readJson(path, text);
  const options = formatOf(text);
  // An empty file has no object to add to.
  if (text.trim() === "") text = `{}${text === "" ? options.formattingOptions?.eol : text}`;

  function change(keys: JsonPath, changed: string, expected: (data: JsonRecord) => void): void {
    const next = structuredClone(data);
    expected(next);
    // For example a duplicate name in one object: the client and this editor might each use a different one.
    if (canonicalJson(readJson(path, changed)) !== canonicalJson(next))
      throw unusable(path, `${keys[0]} cannot be changed without changing something else`, "Look for a duplicate name.");
    text = changed;
    data = next;
  }
  const insert = (keys: JsonPath, value: unknown, { isArrayInsertion = false, goesFirst = false }): string =>
    applyEdits(text, modify(text, [...keys], value, { ...options, isArrayInsertion, ...(goesFirst ? { getInsertionIndex: () => 0 } : {}) }));

  const file = {
    at: (keys: JsonPath): unknown => valueAt(data, keys),
    set(keys: JsonPath, value: unknown, options: { readonly goesFirst?: boolean } = {}) {
      requireObjects(path, data, keys);
      if (canonicalJson(file.at(keys)) !== canonicalJson(value)) change(keys, insert(keys, value, options), (next) => setAt(next, keys, value));
      return file;
    },
    /** Appends to a list, which is created if missing. */
    append(keys: JsonPath, value: unknown) {
      requireObjects(path, data, keys);
      const list = file.at(keys);
      if (list === undefined) return file.set(keys, [value]);
      if (!Array.isArray(list)) throw unusable(path, `${keys.join(".")} is not a list`);
      change(keys, insert([...keys, list.length], value, { isArrayInsertion: true }), (next) => (valueAt(next, keys) as unknown[]).push(value));
      return file;
    },
    delete(keys: JsonPath) {
      change(keys, withoutNode(text, keys), (next) => deleteAt(next, keys));
      return file;
    },
    /** Removes containers that became empty, from the inside out, unless they existed before. */
    prune(keys: JsonPath, before: string | undefined) {
      const earlier = before === undefined ? {} : readJson(path, before.replace(byteOrderMark, ""));
      for (let depth = keys.length; depth > 0; depth -= 1) {
        const inner = keys.slice(0, depth);
        const value = file.at(inner);
        const empty = Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
        if (!empty || valueAt(earlier, inner) !== undefined) break;
        file.delete(inner);
      }
      return file;
    },
    text: (): string => mark + text,
    /** Undefined if the file is empty and did not exist before. */
    textOrNothing: (before: string | undefined): string | undefined => (before === undefined && /^\s*\{\s*\}\s*$/.test(text) ? undefined : mark + text),
  };
  return file;
}

function readJson(path: string, text: string): JsonRecord {
  if (text.trim() === "") return {};
  const errors: ParseError[] = [];
  const data: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    const line = lineOf(text, first.offset);
    const column = first.offset - text.lastIndexOf("\n", first.offset - 1);
    throw unusable(`${path}:${line}:${column}`, `not valid JSON (${wordsOf(printParseErrorCode(first.error))})`, "Correct the file, or move it away, and run the command again.");
  }
  if (!isRecord(data)) throw unusable(path, "is not a JSON object");
  return data;
}

/** `PropertyNameExpected` as words. */
const wordsOf = (code: string): string => code.replaceAll(/(?<=[a-z])([A-Z])/g, " $1").toLowerCase();

function formatOf(text: string): ModificationOptions {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  return { formattingOptions: { insertSpaces: !indent.startsWith("\t"), tabSize: indent.startsWith("\t") ? 1 : indent.length, eol: lineEndOf(text) } };
}

/** The text without one member or item. Its comma and its line are removed too; the comments of its neighbours stay. */
function withoutNode(text: string, keys: JsonPath): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const value = root === undefined ? undefined : findNodeAtLocation(root, [...keys]);
  const node = value?.parent?.type === "property" ? value.parent : value;
  const siblings = node?.parent?.children ?? [];
  if (node === undefined) return text;
  const end = node.offset + node.length;
  const before = siblings[siblings.indexOf(node) - 1];
  const comma = commaAfter(text, end);
  if (comma !== undefined) return withoutSpan(text, node.offset, comma + 1);
  const rest = withoutSpan(text, node.offset, end);
  // The last one has no comma after it, so the comma before it is removed.
  const parting = before === undefined ? undefined : commaAfter(text, before.offset + before.length);
  return parting === undefined ? rest : rest.slice(0, parting) + rest.slice(parting + 1);
}

function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  return text[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : undefined;
}

/** A line that becomes empty is removed entirely. */
function withoutSpan(text: string, start: number, end: number): string {
  const head = text.slice(0, start);
  const tail = text.slice(end);
  const indent = /(?:^|\n)([ \t]*)$/.exec(head)?.[1];
  const lineRest = /^[ \t]*(?:\r?\n|$)/.exec(tail)?.[0];
  return indent !== undefined && lineRest !== undefined ? head.slice(0, head.length - indent.length) + tail.slice(lineRest.length) : head + tail;
}

function requireObjects(path: string, data: JsonRecord, keys: JsonPath): void {
  for (let depth = 1; depth < keys.length; depth += 1) {
    const value = valueAt(data, keys.slice(0, depth));
    if (value !== undefined && typeof keys[depth] === "string" && !isRecord(value)) throw unusable(path, `${keys.slice(0, depth).join(".")} is not an object`);
  }
}

const valueAt = (data: unknown, keys: JsonPath): unknown =>
  keys.reduce<unknown>((value, key) => (typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as JsonRecord)[key] : undefined), data);

function setAt(data: JsonRecord, keys: JsonPath, value: unknown): void {
  const [last] = keys.slice(-1) as [string];
  let inner: JsonRecord = data;
  for (const key of keys.slice(0, -1)) {
    inner[key] ??= {};
    inner = inner[key] as JsonRecord;
  }
  inner[last] = value;
}

function deleteAt(data: JsonRecord, keys: JsonPath): void {
  const parent = valueAt(data, keys.slice(0, -1));
  const [last] = keys.slice(-1) as [string | number];
  if (Array.isArray(parent)) parent.splice(last as number, 1);
  else delete (parent as JsonRecord)[last];
}
