import { openEmbedChore } from "../domain/findable/embed-notes.ts";
import { NoteVectors } from "../domain/findable/note-vectors.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { Embedder } from "../search/embedder.ts";
import type { VectorSearch } from "../search/vector-search.ts";
import { isReservedNamespace, openNamespaceStore } from "../store/namespace-store.ts";
import type { Engine, Store } from "../store/store.ts";
import type { EmbeddingSettings } from "./embedding-settings.ts";
import { openEndpointEmbedder } from "./endpoint-embedder.ts";
import { guardEmbedder } from "./guarded-embedder.ts";
import { openOnnxEmbedder } from "./onnx-embedder.ts";

export interface OpenEmbeddings {
  readonly vectors: VectorSearch;
  /** Creates vectors for the notes of every namespace, until the signal aborts. Several processes may do this on one store at once. */
  maintain(engine: Engine, signal: AbortSignal): Promise<void>;
}

/** The pause between two checks for changes, and between two batches of notes without vectors, so that questions can use the model in between. */
const pace = { restMs: 1_000, batchMs: 20 } as const;

/** The part that may call a model: loaded only if a setting names one. */
export async function openEmbeddings(settings: EmbeddingSettings, { clock, log }: { readonly clock: Clock; readonly log: Log }): Promise<OpenEmbeddings> {
  const embedder: Embedder = settings.kind === "onnx" ? await openOnnxEmbedder(settings.folder) : openEndpointEmbedder(settings);
  const { asking, background } = guardEmbedder(embedder, { clock, log });
  const vectors = new NoteVectors(asking, clock);
  return {
    vectors,
    async maintain(engine, signal) {
      const chores = new Map<string, { readonly store: Store; readonly perform: ReturnType<typeof openEmbedChore> }>();
      const choreOf = (namespace: string) => {
        const known = chores.get(namespace) ?? { store: openNamespaceStore(engine, namespace, clock), perform: openEmbedChore(background, vectors, clock) };
        chores.set(namespace, known);
        return known;
      };
      const lookAfter = async (namespace: string): Promise<void> => {
        const { store, perform } = choreOf(namespace);
        while (!signal.aborted && (await perform(store, signal))) await clock.rest(pace.batchMs, signal);
      };
      // If an endpoint is down or a namespace is moving, the next round tries again.
      const fail = (error: unknown): void => log("debug", "embedding_failed", { message: error instanceof Error ? error.message : String(error) });
      while (!signal.aborted) {
        try {
          for (const namespace of await engine.namespaces()) if (!isReservedNamespace(namespace)) await lookAfter(namespace).catch(fail);
        } catch (error) {
          fail(error);
        }
        await clock.rest(pace.restMs, signal);
      }
    },
  };
}
