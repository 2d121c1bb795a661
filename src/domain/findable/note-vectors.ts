import type { Clock } from "../../kernel/clock.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Embedder } from "../../search/embedder.ts";
import { toShortVector } from "../../search/short-vector.ts";
import type { Meaning, VectorSearch } from "../../search/vector-search.ts";
import { VectorTable } from "../../search/vector-table.ts";
import { rangeAfter } from "../../store/ranges.ts";
import type { Entry, Revision, Store } from "../../store/store.ts";
import { knowledgeKeys, vectorKeys } from "../keyspace.ts";
import type { StoredChance } from "./stored-vectors.ts";
import { isLatin, readVectors, toStoredChance } from "./stored-vectors.ts";

/** Limits for memory: namespaces, and per namespace texts and the bytes of their vectors. 100,000 notes with questions at 384 dimensions take 77 MB. */
const held = { namespacesMax: 8, textsMax: 250_000, bytesMax: 268_435_456 } as const;
const pageEntries = 1_000;
/** How long a question waits for the vectors to load from the store. After that, it is answered by words alone. */
const loadMsMax = 1_000;

/** The vectors of a store's notes, read once and then kept current from the store's log. */
export class NoteVectors implements VectorSearch {
  readonly #embedder: Embedder;
  readonly #clock: Clock;
  /** Ordered by use, the most recently used last. */
  readonly #namespaces = new Map<string, NamespaceVectors>();

  /** `embedder` embeds questions. */
  constructor(embedder: Embedder, clock: Clock) {
    this.#embedder = embedder;
    this.#clock = clock;
  }

  async compare(store: Store, wordings: readonly string[]): Promise<Meaning | { readonly problem: string }> {
    const done = new AbortController();
    try {
      const vectors = this.of(store.namespace);
      const loaded = Promise.race([vectors.refresh(store).then(() => true), this.#clock.rest(loadMsMax, done.signal).then(() => false)]);
      const [isLoaded, answers] = await Promise.all([loaded, this.#embedder.embed(wordings, "asked", done.signal)]);
      if (!isLoaded) return { problem: "The vectors are still being read from the store." };
      const { table, chance } = vectors;
      if (table === undefined || chance === undefined) return { problem: "The notes have no vectors yet." };
      const questions = answers.flatMap((values) => toShortVector(values) ?? []);
      if (questions.length === 0 || questions.some(({ components }) => components.length !== table.dimensions))
        return { problem: "The model's vectors are not as long as those stored." };
      const { ofOne, ofSeveral } = isLatin(wordings[0] ?? "") ? chance.latin : chance.others;
      return { nearness: table.compare(questions), chance: questions.length > 1 ? ofSeveral : ofOne };
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    } finally {
      done.abort();
    }
  }

  of(namespace: string): NamespaceVectors {
    const known = this.#namespaces.get(namespace) ?? new NamespaceVectors(this.#embedder.modelId);
    this.#namespaces.delete(namespace);
    this.#namespaces.set(namespace, known);
    for (const oldest of this.#namespaces.keys()) {
      if (this.#namespaces.size <= held.namespacesMax) break;
      this.#namespaces.delete(oldest);
    }
    return known;
  }
}

export class NamespaceVectors {
  readonly #modelId: string;
  #table: VectorTable | undefined;
  #chance: StoredChance | undefined;
  /** The table contains everything up to this revision; undefined before the first read. */
  #revision: Revision | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(modelId: string) {
    this.#modelId = modelId;
  }

  get table(): VectorTable | undefined {
    return this.#table;
  }

  get chance(): StoredChance | undefined {
    return this.#chance;
  }

  /** How many notes had vectors when chance was measured. */
  get measuredNotes(): number {
    return this.#chance?.notes ?? 0;
  }

  /** Reads the changes since the last refresh. Concurrent callers share one read. */
  refresh(store: Store): Promise<void> {
    this.#refreshing ??= this.#read(store).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #read(store: Store): Promise<void> {
    if (this.#revision !== undefined) {
      try {
        return await this.#follow(store, this.#revision);
      } catch (error) {
        if (!isHoldfastError(error, "compacted")) throw error;
      }
    }
    [this.#table, this.#chance, this.#revision] = [undefined, undefined, undefined];
    // The pages are read at different revisions. Changes made meanwhile are in the log after this one.
    const { revision } = await store.position();
    for (let range = vectorKeys.all; ; ) {
      const { entries, more } = await store.read(range, { limit: pageEntries });
      for (const entry of entries) this.#take(entry);
      const last = entries.at(-1);
      if (!more || last === undefined) break;
      range = rangeAfter(range, last.key);
    }
    await this.#follow(store, revision);
  }

  async #follow(store: Store, from: Revision): Promise<void> {
    for (let after = from; ; ) {
      const { rows, through, done } = await store.log({ ranges: [vectorKeys.all], after });
      for (const row of rows) {
        if (row.op === "put") this.#take(row);
        else this.#table?.remove(noteKeyOf(row.key));
      }
      after = through;
      this.#revision = through;
      if (done) return;
    }
  }

  #take(entry: Pick<Entry, "key" | "value">): void {
    if (entry.key === vectorKeys.chance) {
      const chance = toStoredChance(entry);
      this.#chance = chance.model === this.#modelId ? chance : undefined;
      return;
    }
    const key = noteKeyOf(entry.key);
    const { model, revision, dimensions, unpacked } = readVectors(entry);
    // Vectors of another model, or of an earlier form of this one, cannot be compared.
    if (model !== this.#modelId || unpacked === undefined || dimensions !== (this.#table?.dimensions ?? dimensions)) return this.#table?.remove(key);
    this.#table ??= new VectorTable(dimensions, held.bytesMax);
    if (this.#table.size < held.textsMax) this.#table.put(key, revision, unpacked);
  }
}

/** Hits refer to the note's key, not to the key of its vectors. */
const noteKeyOf = (vectorKey: string): string => knowledgeKeys.note(vectorKeys.nameOf(vectorKey));
