import { sessionKeys, stateKeys, workflowKeys } from "../../domain/keyspace.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { prefixRange, rangeAfter, rangeBefore } from "../../store/ranges.ts";
import type { Range } from "../../store/store.ts";
import { badCursor, fromCursor, toCursor } from "../../tools/cursor.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import { guides } from "./guides.ts";
import type { ResourceKind, ResourceTarget } from "./resource-uris.ts";
import { targetOf, uriOf } from "./resource-uris.ts";
import type { ToolCalls } from "./tool-calls.ts";

const pageEntriesMax = 100;
const json = "application/json";
const markdown = "text/markdown";

/** A kind of resource is offered when the tool that reads it is: a resource is that tool's answer under a URI. */
interface StoredKind {
  readonly kind: Exclude<ResourceKind, "guide">;
  readonly tool: string;
  readonly argument: string;
  readonly title: string;
  readonly description: string;
  /** Ids that begin with a prefix, in key order. */
  readonly ids: (prefix: string) => Range;
  readonly idOf: (key: string) => string;
}

const storedKinds: readonly StoredKind[] = [
  {
    kind: "state",
    tool: "state_get",
    argument: "key",
    title: "A state key",
    description: "Value, version, time and writer of one key. Encode the key as a URI component.",
    ids: stateKeys.prefix,
    idOf: stateKeys.nameOf,
  },
  {
    kind: "workflow",
    tool: "workflow_resume",
    argument: "run_id",
    title: "A workflow run",
    description: "Status, claim and step outputs of one run.",
    ids: (prefix) => prefixRange(workflowKeys.run(prefix)),
    idOf: workflowKeys.idOf,
  },
  {
    kind: "session",
    tool: "session_restore",
    argument: "session_id",
    title: "A saved session",
    description: "The context saved under one session id.",
    ids: (prefix) => prefixRange(sessionKeys.key(prefix)),
    idOf: sessionKeys.idOf,
  },
];

interface ResourceEntry {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType: string;
}

interface ResourcePage {
  readonly resources: ResourceEntry[];
  readonly nextCursor?: string;
}

/** Resources are read like tools are called and listed like tools list: in bounded pages. */
export class Resources {
  readonly #base: ToolBase;
  readonly #calls: ToolCalls;
  readonly #kinds: readonly StoredKind[];

  constructor(base: ToolBase, calls: ToolCalls) {
    this.#base = base;
    this.#calls = calls;
    this.#kinds = storedKinds.filter(({ tool }) => calls.has(tool));
  }

  get templates() {
    return this.#kinds.map(({ kind, argument, title, description }) => ({ uriTemplate: `holdfast://${kind}/{${argument}}`, name: kind, title, description, mimeType: json }));
  }

  /** What a URI names, if it names something this server offers. */
  target(uri: string): ResourceTarget | undefined {
    const target = targetOf(uri);
    return target?.kind === "guide" || this.#kinds.some(({ kind }) => kind === target?.kind) ? target : undefined;
  }

  /** Undefined when there is no such resource. */
  async read(uri: string, signal?: AbortSignal): Promise<{ readonly mimeType: string; readonly text: string } | undefined> {
    const target = this.target(uri);
    if (target === undefined) return undefined;
    if (target.kind === "guide") {
      const guide = guides.find(({ name }) => name === target.id);
      return guide && { mimeType: markdown, text: guide.text };
    }
    const { tool, argument } = this.#kinds.find(({ kind }) => kind === target.kind) as StoredKind;
    const { structured, json: text, isError } = await this.#calls.call(tool, { [argument]: target.id }, undefined, { signal });
    if (!isError) return structured.found === false ? undefined : { mimeType: json, text };
    const { code, message } = structured.error as { code: ConstructorParameters<typeof HoldfastError>[0]; message: string };
    // An id that cannot exist does not exist.
    if (code === "not_found" || code === "invalid_input" || code === "limit_exceeded") return undefined;
    throw new HoldfastError(code, message);
  }

  /** Guides first, then state keys in order, then runs, newest first. Sessions are private to who knows their id and are not listed. */
  async list(cursor?: string): Promise<ResourcePage> {
    const resources: ResourceEntry[] = [];
    let [section, after] = cursor === undefined ? ["guides", ""] : sectionOf(cursor);
    if (section === "guides") {
      for (const { name, title, description } of guides) resources.push({ uri: uriOf({ kind: "guide", id: name }), name, title, description, mimeType: markdown });
      section = "state";
    }
    if (section === "state") {
      const more = this.#offers("state") && (await this.#addPage(resources, "state", after === "" ? stateKeys.all : rangeAfter(stateKeys.all, stateKeys.key(after)), false));
      if (more) return { resources, nextCursor: toCursor("resources", `state ${stateKeys.nameOf(more)}`) };
      if (resources.length >= pageEntriesMax) return { resources, nextCursor: toCursor("resources", "workflow ") };
      after = "";
    }
    const { range } = workflowKeys.listed;
    const more = this.#offers("workflow") && (await this.#addPage(resources, "workflow", after === "" ? range : rangeBefore(range, after), true));
    return more ? { resources, nextCursor: toCursor("resources", `workflow ${more}`) } : { resources };
  }

  /** Up to a hundred ids that begin with the text, for the variable of a template or the argument of a prompt. */
  async complete(argument: string, text: string): Promise<{ readonly values: string[]; readonly hasMore: boolean }> {
    const kind = this.#kinds.find((candidate) => candidate.argument === argument);
    if (kind === undefined || !text.isWellFormed()) return { values: [], hasMore: false };
    const { entries, more } = await this.#base.store.read(kind.ids(text), { limit: pageEntriesMax, values: false });
    return { values: entries.map(({ key }) => kind.idOf(key)), hasMore: more };
  }

  #offers(wanted: ResourceKind): boolean {
    return this.#kinds.some(({ kind }) => kind === wanted);
  }

  /** Fills the page up; the key to go on after when something is left. */
  async #addPage(resources: ResourceEntry[], kind: "state" | "workflow", range: Range, reverse: boolean): Promise<string | undefined> {
    const { entries, more } = await this.#base.store.read(range, { limit: pageEntriesMax - resources.length, values: false, reverse });
    for (const { key } of entries) {
      const id = kind === "state" ? stateKeys.nameOf(key) : workflowKeys.idOf(key);
      resources.push({ uri: uriOf({ kind, id }), name: id, mimeType: json });
    }
    return more ? entries.at(-1)?.key : undefined;
  }
}

function sectionOf(cursor: string): [section: string, after: string] {
  const position = fromCursor("resources", cursor);
  const space = position.indexOf(" ");
  const section = position.slice(0, space);
  if (section !== "state" && section !== "workflow") throw badCursor();
  return [section, position.slice(space + 1)];
}
