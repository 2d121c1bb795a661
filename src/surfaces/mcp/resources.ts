import { limits } from "../../store/limits.ts";
import { meteredStore } from "../../store/metered-store.ts";
import { badCursor, fromCursor, toCursor } from "../../tools/cursor.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import { notesWithoutQuestions } from "../../tools/stored-records.ts";
import { guides } from "./guides.ts";
import type { TransportCall } from "./mcp-spans.ts";
import type { NamedNotes } from "./prompts.ts";
import type { StoredKind } from "./resource-kinds.ts";
import { storedKinds } from "./resource-kinds.ts";
import type { ResourceTarget } from "./resource-uris.ts";
import { targetOf, uriOf } from "./resource-uris.ts";
import type { ToolCalls } from "./tool-calls.ts";

const pageEntriesMax = 100;
/** A batch size that an agent can handle in one go. */
const notesNamedMax = 10;
const json = "application/json";
const markdown = "text/markdown";

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

/** Resources are read like tool calls and listed like tool lists: in bounded pages. */
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
    return this.#kinds.map((kind) => ({ uriTemplate: templateOf(kind), name: kind.kind, title: kind.title, description: kind.description, mimeType: json }));
  }

  /** The target of a URI, if this server offers it. */
  target(uri: string): ResourceTarget | undefined {
    const target = targetOf(uri);
    return target?.kind === "guide" || this.#kinds.some(({ kind }) => kind === target?.kind) ? target : undefined;
  }

  /** Undefined if the resource does not exist. */
  async read(uri: string, call: TransportCall = {}): Promise<{ readonly mimeType: string; readonly text: string } | undefined> {
    const target = this.target(uri);
    if (target === undefined) return undefined;
    if (target.kind === "guide") {
      const guide = guides.find(({ name }) => name === target.id);
      return guide && { mimeType: markdown, text: guide.text };
    }
    const kind = this.#kinds.find((candidate) => candidate.kind === target.kind) as StoredKind;
    const text = await kind.read({ base: this.#metered(call), calls: this.#calls }, target.id, call);
    return text === undefined ? undefined : { mimeType: json, text };
  }

  /** Guides first, then stored items by kind. Only ids are listed: stored text is shown only when a resource is read. */
  async list(cursor?: string): Promise<ResourcePage> {
    const resources: ResourceEntry[] = [];
    const [from, position] = cursor === undefined ? [undefined, ""] : sectionOf(cursor);
    if (from === undefined)
      for (const { name, title, description } of guides) resources.push({ uri: uriOf({ kind: "guide", id: name }), name, title, description, mimeType: markdown });
    for (const { kind, list } of this.#kinds.slice(from === undefined ? 0 : this.#indexOf(from))) {
      if (list === undefined) continue;
      const room = pageEntriesMax - resources.length;
      if (room <= 0) return { resources, nextCursor: toCursor("resources", `${kind} `) };
      const { ids, next } = await list(this.#base, { limit: room, after: kind === from && position !== "" ? position : undefined });
      for (const id of ids) resources.push({ uri: uriOf({ kind, id }), name: id, mimeType: json });
      if (next !== undefined) return { resources, nextCursor: toCursor("resources", `${kind} ${next}`) };
    }
    return { resources };
  }

  /** Up to a hundred ids that begin with the text, for a template's variable or, without a template, for a prompt's argument. */
  async complete(argument: string, text: string, uriTemplate?: string): Promise<{ readonly values: readonly string[]; readonly hasMore: boolean }> {
    const kind = this.#kinds.find((candidate) => candidate.argument === argument && (uriTemplate === undefined || templateOf(candidate) === uriTemplate));
    // No id begins with a text longer than any id.
    if (kind?.beginning === undefined || text.length > limits.keyBytesMax || !text.isWellFormed() || text.includes("\0")) return { values: [], hasMore: false };
    const { ids, more } = await kind.beginning(this.#base, text, pageEntriesMax);
    return { values: ids, hasMore: more };
  }

  /** The first notes without questions, for the prompt that asks the agent to add some. */
  notesWithoutQuestions(call: TransportCall = {}): Promise<NamedNotes> {
    return notesWithoutQuestions(this.#metered(call), notesNamedMax);
  }

  #metered({ gate }: TransportCall): ToolBase {
    return gate === undefined ? this.#base : { ...this.#base, store: meteredStore(this.#base.store, gate) };
  }

  #indexOf(section: string): number {
    const index = this.#kinds.findIndex(({ kind, list }) => kind === section && list !== undefined);
    if (index === -1) throw badCursor();
    return index;
  }
}

const templateOf = ({ kind, argument }: StoredKind): string => `holdfast://${kind}/{${argument}}`;

function sectionOf(cursor: string): [section: string, after: string] {
  const position = fromCursor("resources", cursor);
  const space = position.indexOf(" ");
  return [position.slice(0, space), position.slice(space + 1)];
}
