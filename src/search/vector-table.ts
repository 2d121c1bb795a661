import { openScan, strideStep } from "./scan-kernel.ts";
import type { ShortVector } from "./short-vector.ts";

/** How near each text of a table is to a question. */
export interface Nearness {
  /** The cosine between wording and text, averaged over the wordings, and the revision of the text; undefined for a text that is not in the table. */
  of(key: string): { readonly cosine: number; readonly revision: number } | undefined;
  /** Nearest first. */
  nearest(limit: number, accepts?: (key: string) => boolean): readonly { readonly key: string; readonly cosine: number }[];
}

interface TableText {
  readonly key: string;
  readonly revision: number;
  readonly slots: readonly number[];
}

const pageBytes = 65_536;
const firstSlots = 256;
const nobody = -1;
/** Beside its components, a vector has an owner, a scale and a product. */
const bytesPerSlot = 2 * Int32Array.BYTES_PER_ELEMENT + Float64Array.BYTES_PER_ELEMENT;

/** Vectors of texts, all compared with each question: exact, and fast enough that no index is needed. A text may have several vectors; the nearest counts. */
export class VectorTable {
  readonly dimensions: number;
  readonly #stride: number;
  readonly #memory: ReturnType<typeof openScan>["memory"];
  readonly #scan: ReturnType<typeof openScan>["scan"];
  readonly #idOf = new Map<string, number>();
  readonly #texts: (TableText | undefined)[] = [];
  readonly #freeIds: number[] = [];
  readonly #freeSlots: number[] = [];
  /** By slot: the id of the text, and the vector's scale. */
  #owners = new Int32Array(0);
  #scales = new Float64Array(0);
  #slots = 0;
  readonly #slotsMax: number;

  /** `bytesMax`: for vectors; what is kept per text besides, its key among it, is not counted. */
  constructor(dimensions: number, bytesMax = Number.POSITIVE_INFINITY) {
    this.dimensions = dimensions;
    ({ memory: this.#memory, scan: this.#scan } = openScan());
    this.#stride = Math.ceil(dimensions / strideStep) * strideStep;
    this.#slotsMax = Math.max(0, Math.floor(bytesMax / (this.#stride + bytesPerSlot)) - 1);
  }

  /** The number of texts. */
  get size(): number {
    return this.#idOf.size;
  }

  /** False if there is no room for all its vectors: the text is then not in the table. */
  put(key: string, revision: number, vectors: readonly ShortVector[]): boolean {
    this.remove(key);
    if (vectors.length > this.#slotsMax - this.#slots + this.#freeSlots.length) return false;
    const id = this.#freeIds.pop() ?? this.#texts.length;
    const slots = vectors.map(({ components, scale }) => {
      const slot = this.#takeSlot();
      new Int8Array(this.#memory.buffer, this.#addressOf(slot), this.dimensions).set(components);
      this.#owners[slot] = id;
      this.#scales[slot] = scale;
      return slot;
    });
    this.#texts[id] = { key, revision, slots };
    this.#idOf.set(key, id);
    return true;
  }

  remove(key: string): void {
    const id = this.#idOf.get(key);
    if (id === undefined) return;
    for (const slot of this.#texts[id]?.slots ?? []) {
      this.#owners[slot] = nobody;
      this.#freeSlots.push(slot);
    }
    this.#texts[id] = undefined;
    this.#freeIds.push(id);
    this.#idOf.delete(key);
  }

  /** `wordings`: vectors of one question, each with this table's dimensions. */
  compare(wordings: readonly ShortVector[]): Nearness {
    const sums = new Float64Array(this.#texts.length);
    for (const wording of wordings) {
      const nearest = this.#cosines(wording);
      for (let id = 0; id < sums.length; id += 1) sums[id] = (sums[id] as number) + (nearest[id] as number) / wordings.length;
    }
    return {
      of: (key) => {
        const id = this.#idOf.get(key);
        const text = id === undefined ? undefined : this.#texts[id];
        return text === undefined ? undefined : { cosine: sums[id as number] as number, revision: text.revision };
      },
      nearest: (limit, accepts = () => true) => {
        const best: { key: string; cosine: number }[] = [];
        for (let id = 0; id < sums.length; id += 1) {
          const cosine = sums[id] as number;
          const text = this.#texts[id];
          if (text === undefined || (best.length === limit && cosine <= (best[limit - 1]?.cosine ?? 0)) || !accepts(text.key)) continue;
          const at = best.findIndex((each) => each.cosine < cosine);
          best.splice(at === -1 ? best.length : at, 0, { key: text.key, cosine });
          if (best.length > limit) best.pop();
        }
        return best;
      },
    };
  }

  /** For each text id, the cosine of the text's nearest vector. */
  #cosines({ components, scale }: ShortVector): Float64Array {
    const question = new Int8Array(this.#memory.buffer, 0, this.#stride);
    question.fill(0);
    question.set(components);
    const out = this.#addressOf(this.#owners.length);
    this.#scan(0, this.#addressOf(0), this.#stride, this.#slots, out);
    const nearest = new Float64Array(this.#texts.length).fill(-1);
    keepNearest(new Int32Array(this.#memory.buffer, out, this.#slots), this.#owners, this.#scales, scale, nearest);
    return nearest;
  }

  /** The question is first in memory, the products are last. */
  #addressOf(slot: number): number {
    return (slot + 1) * this.#stride;
  }

  #takeSlot(): number {
    const free = this.#freeSlots.pop();
    if (free !== undefined) return free;
    if (this.#slots === this.#owners.length) this.#grow(Math.min(this.#slotsMax, Math.max(firstSlots, this.#slots * 2)));
    this.#slots += 1;
    return this.#slots - 1;
  }

  #grow(capacity: number): void {
    const owners = new Int32Array(capacity).fill(nobody);
    owners.set(this.#owners);
    const scales = new Float64Array(capacity);
    scales.set(this.#scales);
    [this.#owners, this.#scales] = [owners, scales];
    const bytes = this.#addressOf(capacity) + capacity * Int32Array.BYTES_PER_ELEMENT;
    this.#memory.grow(Math.max(0, Math.ceil(bytes / pageBytes) - this.#memory.buffer.byteLength / pageBytes));
  }
}

/** Outside the class and with plain arrays, because it runs once for each vector of the store. */
function keepNearest(products: Int32Array, owners: Int32Array, scales: Float64Array, scale: number, nearest: Float64Array): void {
  for (let slot = 0; slot < products.length; slot += 1) {
    const owner = owners[slot] as number;
    const cosine = (products[slot] as number) * (scales[slot] as number) * scale;
    if (owner !== nobody && cosine > (nearest[owner] as number)) nearest[owner] = cosine;
  }
}
