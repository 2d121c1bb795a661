import type { Store } from "../store/store.ts";
import type { Nearness } from "./vector-table.ts";

/** What a search by meaning adds to one by words. */
export interface Meaning {
  readonly nearness: Nearness;
  /** How near chance gets in this store: 19 of 20 unrelated questions are no nearer to any text. */
  readonly chance: number;
}

export interface VectorSearch {
  /**
   * How near the stored texts are to a question in several wordings. Never throws and never takes long: if there is no answer, `problem` is a sentence that explains
   * why.
   */
  compare(store: Store, wordings: readonly string[]): Promise<Meaning | { readonly problem: string }>;
}
