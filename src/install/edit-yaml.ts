import type { Document, Node, Pair, YAMLMap, YAMLSeq } from "yaml";
import { isMap, isScalar, isSeq, parseDocument, stringify } from "yaml";
import { canonicalJson } from "../kernel/json.ts";
import type { EntryEdit, Offered } from "./edit.ts";
import { lineEndOf, unusable } from "./edit.ts";
import { isRecord, withOwnMembers } from "./edit-json.ts";

type Entry = Readonly<Record<string, unknown>>;

/** How a YAML file lists servers: by name in a map, or in a list of items that contain their name. */
export interface YamlLocation {
  readonly key: string;
  readonly name: string;
  readonly holds: "map" | "list";
  /** What else a new file needs. */
  readonly preamble?: Entry;
}

/** One entry of a YAML file. Text is spliced in, so that comments, quotes and line breaks elsewhere stay as they are. The result is parsed again before it is used. */
export function yamlEntry(path: string, what: string, location: YamlLocation, entry: Entry, offered?: Offered<Entry>): EntryEdit {
  return {
    path,
    what,
    add(text) {
      if (text === undefined || text.trim() === "")
        return stringify({ ...location.preamble, [location.key]: collectionOf(location, withOwnMembers(undefined, entry, offered)) }, format);
      const document = readYaml(path, text);
      const existing = findEntry(path, document, location);
      const wanted = withOwnMembers(existing, entry, offered);
      if (existing !== undefined && canonicalJson(existing) === canonicalJson(wanted)) return text;
      const changed = existing === undefined ? undefined : changeInPlace(path, text, document, location, { existing: existing as Entry, wanted });
      if (changed !== undefined) return changed;
      const data = plain(document);
      const expected = { ...data, [location.key]: withEntry(data[location.key], location, wanted) };
      const bare = existing === undefined ? text : removeFrom(path, text, location, true);
      const spliced = spliceIn(bare, readYaml(path, bare), location, wanted);
      if (spliced !== undefined && holds(path, spliced, expected)) return spliced;
      document.set(location.key, document.createNode(expected[location.key]));
      return written(path, document, expected);
    },
    remove(text, before) {
      if (findEntry(path, readYaml(path, text), location) === undefined) return text;
      const stood = before !== undefined && plain(readYaml(path, before))[location.key] !== undefined;
      const rest = removeFrom(path, text, location, stood);
      const left = plain(readYaml(path, rest));
      return before === undefined && canonicalJson(left) === canonicalJson(location.preamble ?? {}) && !rest.includes("#") ? undefined : rest;
    },
    find(text) {
      const document = readYaml(path, text);
      const value = findEntry(path, document, location);
      const own = ownItem(pairOf(document.contents, location.key)?.value, location);
      return own === undefined || !isRecord(value) ? undefined : { value, ...linesOf(text, own) };
    },
  };
}

const format = { lineWidth: 0 } as const;

function readYaml(path: string, text: string): Document.Parsed {
  const document = parseDocument(text, { prettyErrors: false });
  const [problem] = document.errors;
  if (problem !== undefined) {
    const line = text.slice(0, problem.pos[0]).split("\n").length;
    throw unusable(`${path}:${line}`, `not valid YAML (${problem.code.toLowerCase().replaceAll("_", " ")})`, "Correct the file, or move it away, and run the command again.");
  }
  if (document.contents !== null && !isMap(document.contents)) throw unusable(path, "is not a YAML mapping");
  return document;
}

const plain = (document: Document.Parsed): Record<string, unknown> => (document.toJS() as Record<string, unknown> | null) ?? {};

function findEntry(path: string, document: Document.Parsed, { key, name, holds: kind }: YamlLocation): unknown {
  const collection = plain(document)[key];
  if (collection === undefined || collection === null) return undefined;
  if (kind === "list" ? !Array.isArray(collection) : typeof collection !== "object" || Array.isArray(collection)) throw unusable(path, `${key} is not a ${kind}`);
  return kind === "list" ? (collection as Entry[]).find((item) => item?.name === name) : (collection as Entry)[name];
}

const collectionOf = (location: YamlLocation, entry: Entry): unknown => (location.holds === "list" ? [{ name: location.name, ...entry }] : { [location.name]: entry });

function withEntry(collection: unknown, { holds: kind, name }: YamlLocation, entry: Entry): unknown {
  if (kind === "map") return { ...(collection as Entry | null), [name]: entry };
  const others = ((collection as Entry[] | null) ?? []).filter((item) => item?.name !== name);
  return [...others, { name, ...entry }];
}

const pairOf = (map: unknown, key: string): Pair<Node, Node> | undefined =>
  isMap(map) ? ((map as YAMLMap<Node, Node>).items.find((pair) => isScalar(pair.key) && pair.key.value === key) as Pair<Node, Node> | undefined) : undefined;

const startOf = (node: Node): number => node.range?.[0] ?? 0;

/** Edits an existing entry member by member, so that the user's other members and comments are kept; undefined if it is not in block style. */
function changeInPlace(
  path: string,
  text: string,
  document: Document.Parsed,
  location: YamlLocation,
  { existing, wanted }: { readonly existing: Entry; readonly wanted: Entry },
): string | undefined {
  const eol = lineEndOf(text);
  const own = ownItem(pairOf(document.contents, location.key)?.value, location);
  const map = own !== undefined && "key" in own ? own.value : own;
  if (!isMap(map) || map.flow === true) return undefined;
  let changed = text.endsWith("\n") ? text : text + eol;
  const pairs = (map as YAMLMap<Node, Node>).items;
  const indent = " ".repeat(startOf((pairs.at(-1) as Pair<Node, Node>).key) - (text.lastIndexOf("\n", startOf((pairs.at(-1) as Pair<Node, Node>).key) - 1) + 1));
  const lines = (name: string): string => indented(stringify({ [name]: wanted[name] }, format), indent, eol);
  // From last to first, so that the offsets of the others stay valid.
  const added = Object.keys(wanted).filter((name) => !Object.hasOwn(existing, name));
  const end = endOfContent(changed, map.range?.[1] ?? 0);
  changed = changed.slice(0, end) + added.map(lines).join("") + changed.slice(end);
  for (const pair of pairs.toReversed()) {
    const name = String((pair.key as { value?: unknown }).value);
    if (name === "name" && location.holds === "list") continue;
    const goes = !Object.hasOwn(wanted, name);
    if (!goes && canonicalJson(existing[name]) === canonicalJson(wanted[name])) continue;
    const start = changed.lastIndexOf("\n", startOf(pair.key) - 1) + 1;
    changed = changed.slice(0, start) + (goes ? "" : lines(name)) + changed.slice(endOfContent(changed, pair.value?.range?.[1] ?? pair.key.range?.[1] ?? 0));
  }
  const data = plain(document);
  const members = location.holds === "list" ? { name: location.name, ...wanted } : wanted;
  const collection =
    location.holds === "list"
      ? (data[location.key] as Entry[]).map((item) => (item?.name === location.name ? members : item))
      : { ...(data[location.key] as Entry), [location.name]: members };
  return holds(path, changed, { ...data, [location.key]: collection }) ? changed : undefined;
}

const indented = (text: string, indent: string, eol: string): string =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => indent + line + eol)
    .join("");

/** Adds the entry at the end of the collection, indented like its first item; undefined if it is not in block style. */
function spliceIn(text: string, document: Document.Parsed, location: YamlLocation, entry: Entry): string | undefined {
  const eol = lineEndOf(text);
  const pair = pairOf(document.contents, location.key);
  const lines = (value: unknown, indent: string): string => indented(stringify(value, format), indent, eol);
  const withBreak = text.endsWith("\n") ? text : text + eol;
  if (pair === undefined) return withBreak + lines({ [location.key]: collectionOf(location, entry) }, "");
  const collection = pair.value as YAMLMap<Node, Node> | YAMLSeq<Node> | null;
  if (!(isMap(collection) || isSeq(collection)) || collection.flow === true || collection.items.length === 0) return undefined;
  const [first] = collection.items;
  const firstStart = isMap(collection) ? startOf((first as Pair<Node, Node>).key) : text.lastIndexOf("-", startOf(first as Node));
  const lineStart = text.lastIndexOf("\n", firstStart - 1) + 1;
  const indent = text.slice(lineStart, firstStart);
  if (!/^ *$/.test(indent)) return undefined;
  const end = endOfContent(withBreak, collection.range?.[1] ?? 0);
  return withBreak.slice(0, end) + lines(collectionOf(location, entry), indent) + withBreak.slice(end);
}

/** The start of the line after the last line of the collection's content. */
function endOfContent(text: string, end: number): number {
  const content = text.slice(0, end).trimEnd().length;
  const next = text.indexOf("\n", content);
  return next === -1 ? text.length : next + 1;
}

/** The text without our entry. The collection is removed too if it becomes empty, unless it should stay. */
function removeFrom(path: string, text: string, location: YamlLocation, keepEmpty: boolean): string {
  const document = readYaml(path, text);
  const data = plain(document);
  const collection = data[location.key];
  const left = location.holds === "list" ? (collection as Entry[]).filter((item) => item?.name !== location.name) : omit(collection as Entry, location.name);
  const isEmpty = (Array.isArray(left) ? left : Object.keys(left)).length === 0;
  const expected = isEmpty && !keepEmpty ? omit(data, location.key) : { ...data, [location.key]: left };
  const pair = pairOf(document.contents, location.key);
  const target = isEmpty && !keepEmpty ? pair : ownItem(pair?.value, location);
  const spliced = target === undefined || (isEmpty && keepEmpty) ? undefined : spliceOut(text, target);
  if (spliced !== undefined && holds(path, spliced, expected)) return spliced;
  if (isEmpty && !keepEmpty) document.delete(location.key);
  else document.set(location.key, document.createNode(left));
  return written(path, document, expected);
}

function ownItem(collection: unknown, { name }: YamlLocation): Pair<Node, Node> | Node | undefined {
  if (isSeq(collection)) return (collection as YAMLSeq<Node>).items.find((item) => isMap(item) && (item as YAMLMap).get("name") === name);
  return pairOf(collection, name);
}

function spliceOut(text: string, target: Pair<Node, Node> | Node): string {
  const { start, end } = linesOf(text, target);
  return text.slice(0, start) + text.slice(end);
}

/** The range of all lines that contain part of the node. */
function linesOf(text: string, target: Pair<Node, Node> | Node): { readonly start: number; readonly end: number } {
  const isPair = "key" in target && "value" in target;
  const first = startOf(isPair ? target.key : (target as Node));
  const last = (isPair ? target.value : (target as Node))?.range?.[1] ?? first;
  return { start: text.lastIndexOf("\n", first - 1) + 1, end: endOfContent(text, last) };
}

const omit = (record: Entry, name: string): Entry => Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));

function holds(path: string, text: string, expected: unknown): boolean {
  try {
    return canonicalJson(plain(readYaml(path, text))) === canonicalJson(expected);
  } catch {
    return false;
  }
}

function written(path: string, document: Document.Parsed, expected: unknown): string {
  const text = document.toString(format);
  if (!holds(path, text, expected)) throw unusable(path, "cannot be changed without changing something else", "Change it by hand.");
  return text === "{}\n" ? "" : text;
}
