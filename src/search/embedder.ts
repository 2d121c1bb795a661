import { isHoldfastError } from "../kernel/errors.ts";

/** Turns texts into vectors with a model that the user runs. None is created unless a setting names it. */
export interface Embedder {
  /** Identifies the model and how texts are passed to it. Vectors of two models are never compared. */
  readonly modelId: string;
  /** Returns one vector per text, all of one length. Models may treat stored texts and questions differently. Throws if there is no answer. */
  embed(texts: readonly string[], as: "stored" | "asked", signal: AbortSignal): Promise<readonly ArrayLike<number>[]>;
}

/** Is it about the texts (too long, for example) and not about the model, which answers others? */
export const isRefusedText = (error: unknown): boolean => isHoldfastError(error, "invalid_input");
