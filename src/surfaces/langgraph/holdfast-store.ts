import type { GetOperation, Item, ListNamespacesOperation, Operation, OperationResults, PutOperation, SearchItem, SearchOperation } from "@langchain/langgraph-checkpoint";
import { BaseStore } from "@langchain/langgraph-checkpoint";
import type { StateEntry } from "../../domain/state/state-entry.ts";
import { anyObject, arrayOf, number, object, optional, storedAs, string, toStored } from "../../domain/stored-record.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Json, JsonObject } from "../../kernel/json.ts";
import type { Holdfast } from "../library/holdfast.ts";
import { commitGroups } from "./commit-groups.ts";
import { inParallel } from "./in-parallel.ts";
import { itemFilter } from "./item-filter.ts";
import { literalPrefix, requireLabels, selectNamespaces } from "./item-namespaces.ts";
import type { PackedValue } from "./packed-value.ts";
import { inlineBytesMax, packedForm } from "./packed-value.ts";
import type { ThreadWrite } from "./thread-claims.ts";
import { itemKeys } from "./thread-keys.ts";

export interface HoldfastStoreOptions {
  /** Items expire this long after they were last put; never by default. */
  readonly ttlMs?: number;
  /** The name of this worker in history. */
  readonly agent?: string;
}

/** An item under its key. A long value is a blob of its JSON text. */
interface ItemRecord {
  readonly namespace: readonly string[];
  readonly key: string;
  /** Absent on the first version, which was created when it was last updated. */
  readonly createdAtMs?: number;
  readonly value?: JsonObject;
  readonly blob?: PackedValue;
}

const toItemRecord = storedAs(
  object<ItemRecord>({ namespace: arrayOf(string), key: string, createdAtMs: optional(number), value: optional(anyObject), blob: optional(packedForm) }),
);

const pageMax = 200;
/** Items that one search or listing reads: they have no index but the namespace. */
const scanMax = 100_000;
const putAttemptsMax = 16;

/**
 * LangGraph's long-term memory on a Holdfast store. Up to 100 puts and deletes of one batch take effect together, after its reads. There is no search by meaning:
 * `query` is ignored, as LangGraph's own store ignores it without an index.
 */
export class HoldfastStore extends BaseStore {
  readonly #holdfast: Holdfast;
  readonly #ttlMs: number | undefined;
  readonly #agent: string;

  constructor(holdfast: Holdfast, { ttlMs, agent = "langgraph" }: HoldfastStoreOptions = {}) {
    super();
    this.#holdfast = holdfast;
    this.#ttlMs = ttlMs;
    this.#agent = agent;
  }

  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results = await inParallel(operations, async (operation) => {
      if ("value" in operation) return undefined;
      if ("namespacePrefix" in operation) return this.#search(operation);
      return "key" in operation ? this.#get(operation) : this.#namespaces(operation);
    });
    const puts = operations.filter((operation): operation is PutOperation => "value" in operation);
    if (puts.length > 0) await this.#write(puts);
    return results as OperationResults<Op>;
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    const entry = await this.#holdfast.state.get(itemKeys.item(requireLabels(namespace), key));
    return entry === undefined ? null : this.#toItem(entry);
  }

  async #search({ namespacePrefix, filter, limit = 10, offset = 0 }: SearchOperation): Promise<SearchItem[]> {
    const fits = itemFilter(filter);
    const found: Item[] = [];
    if (limit <= 0) return found;
    let toSkip = offset;
    for await (const entry of this.#entries(namespacePrefix, true)) {
      const item = await this.#toItem(entry);
      if (!fits(item.value)) continue;
      toSkip -= 1;
      if (toSkip < 0) found.push(item);
      if (found.length === limit) break;
    }
    return found;
  }

  async #namespaces(operation: ListNamespacesOperation): Promise<string[][]> {
    const all: (readonly string[])[] = [];
    let last: string | undefined;
    for await (const { key } of this.#entries(literalPrefix(operation.matchConditions), false)) {
      const folder = key.slice(0, key.lastIndexOf("/"));
      // Items of one namespace are next to each other.
      if (folder === last) continue;
      last = folder;
      all.push(await this.#namespaceOf(key));
    }
    return selectNamespaces(all, operation);
  }

  /** From the key, except where a long label stands there as a digest. */
  async #namespaceOf(key: string): Promise<readonly string[]> {
    const named = itemKeys.namespaceOf(key);
    if (named !== undefined) return named;
    const entry = await this.#holdfast.state.get(key);
    return entry === undefined ? [] : toItemRecord(entry).namespace;
  }

  async *#entries(namespacePrefix: readonly string[], values: boolean): AsyncGenerator<StateEntry> {
    const prefix = itemKeys.under(namespacePrefix);
    let after: string | undefined;
    let scanned = 0;
    for (;;) {
      const { entries, more } = await this.#holdfast.state.list({ prefix, limit: pageMax, after, values });
      yield* entries;
      after = entries.at(-1)?.key;
      if (!more || after === undefined) return;
      scanned += entries.length;
      if (scanned >= scanMax)
        throw new HoldfastError("limit_exceeded", `namespacePrefix: more than ${scanMax} items are below ${JSON.stringify(namespacePrefix)}`, {
          hint: "Search in a longer namespace prefix.",
          details: { field: "namespacePrefix" },
        });
    }
  }

  async #toItem(entry: StateEntry): Promise<Item> {
    const { namespace, key, createdAtMs = entry.updatedAtMs, value, blob } = toItemRecord(entry);
    return { namespace: [...namespace], key, value: value ?? (await this.#readBlob(blob)), createdAt: new Date(createdAtMs), updatedAt: new Date(entry.updatedAtMs) };
  }

  async #readBlob(packed: PackedValue | undefined): Promise<JsonObject> {
    if (packed === undefined || !("blob" in packed)) return {};
    return JSON.parse(new TextDecoder().decode(await this.#holdfast.blobs.get(packed.blob))) as JsonObject;
  }

  /** Of several puts to one item, the last counts. An item that another program changes meanwhile is read again, because the time it was created is kept. */
  async #write(puts: readonly PutOperation[]): Promise<void> {
    const last = new Map(puts.map((put) => [itemKeys.item(requireLabels(put.namespace), put.key), put]));
    const prepared = await inParallel([...last], async ([key, put]) => ({ key, record: put.value === null ? undefined : await this.#toRecord(put) }));
    const sizes = prepared.map(
      ({ key, record }): ThreadWrite => (record === undefined ? { op: "delete", key } : { op: "set", key, value: toStored(record), blobs: blobNames(record) }),
    );
    for (const group of commitGroups(sizes)) await this.#commit(group);
  }

  async #commit(writes: readonly ThreadWrite[]): Promise<void> {
    for (let attempt = 1; attempt <= putAttemptsMax; attempt += 1) {
      const before = new Map(await inParallel(writes, async ({ key }) => [key, await this.#holdfast.state.get(key)] as const));
      const result = await this.#holdfast.state.commit(
        {
          writes: writes.map(({ once: _, ...write }) =>
            write.op === "delete" ? write : { ...write, ttlMs: this.#ttlMs, value: withCreation(write.value, before.get(write.key)) },
          ),
          expected: writes.filter(({ op }) => op === "set").map(({ key }) => ({ key, version: before.get(key)?.version ?? 0 })),
        },
        { agent: this.#agent },
      );
      if (result.ok) return;
    }
    throw new HoldfastError("conflict", `Other writers changed the same items ${putAttemptsMax} times; nothing was written.`, { hint: "Try again." });
  }

  async #toRecord({ namespace, key, value }: PutOperation): Promise<ItemRecord> {
    // As JSON has it: without undefined members, and with dates as text.
    const text = JSON.stringify(value);
    const bytes = new TextEncoder().encode(text);
    if (bytes.byteLength <= inlineBytesMax) return { namespace, key, value: JSON.parse(text) as JsonObject };
    const { hash } = await this.#holdfast.blobs.put(bytes);
    return { namespace, key, blob: { type: "json", blob: hash, bytes: bytes.byteLength } };
  }
}

const blobNames = ({ blob }: ItemRecord): readonly string[] => (blob !== undefined && "blob" in blob ? [blob.blob] : []);

function withCreation(value: Json, before: StateEntry | undefined): Json {
  if (before === undefined) return value;
  return { ...(value as JsonObject), createdAtMs: toItemRecord(before).createdAtMs ?? before.updatedAtMs };
}
