import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { indexText } from "../../src/search/index-text.ts";
import type { Abilities } from "../../src/search/tokenizer.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import type { Put, Store } from "../../src/store/store.ts";
import type { Note } from "./labelled-set.ts";

const area = "notes";
const namespace = "bench";
const commitsPerBatch = 500;

export interface NoteStore extends AsyncDisposable {
  readonly store: Store;
  readonly areas: readonly string[];
  save(note: Note): Promise<void>;
  fill(notes: Iterable<Note>): Promise<void>;
}

/** Notes in a separate store file, each saved by one commit, as the tools do. */
export async function openNoteStore(path: string, abilities?: Abilities): Promise<NoteStore> {
  const engine = await openEngine(`sqlite:${path}`);
  const store = openNamespaceStore(engine, namespace, systemClock);
  const put = ({ id, text }: Note): Put => ({ op: "put", key: `note/${id}`, value: text, index: indexText(area, [{ text, weight: 1 }], abilities) });
  return {
    store,
    areas: [area],
    async save(note) {
      await store.commit({ writes: [put(note)], writer: "bench" });
    },
    async fill(notes) {
      let batch: Note[] = [];
      const flush = async (): Promise<void> => {
        await engine.commit(
          namespace,
          batch.map((note) => prepareCommit({ writes: [put(note)], writer: "bench" })),
        );
        batch = [];
      };
      for (const note of notes) if (batch.push(note) === commitsPerBatch) await flush();
      if (batch.length > 0) await flush();
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}
