import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { SessionKeys } from "./transcript-keys.ts";

/** Describes a transcript. Only chunks below `chunks` belong to it: later ones are parts of a batch whose last commit has not happened. */
export interface TranscriptHead {
  readonly projectKey: string;
  readonly sessionId: string;
  readonly subpath?: string;
  /** Distinguishes the chunks of a transcript from those of a deleted one under the same name. */
  readonly generation: string;
  readonly chunks: number;
  readonly entries: number;
  readonly characters: number;
  /** The SDK's summaries, by language: their form differs between its packages. A summary is current if it covers all entries. */
  readonly summaries?: Readonly<Record<string, { readonly entries: number; readonly data: Record<string, unknown> }>>;
}

export function readTranscriptHead(value: Json, key: string): TranscriptHead {
  const head = value as Partial<TranscriptHead> | null;
  const isHead =
    typeof head === "object" &&
    head !== null &&
    typeof head.projectKey === "string" &&
    typeof head.sessionId === "string" &&
    (head.subpath === undefined || typeof head.subpath === "string") &&
    typeof head.generation === "string" &&
    [head.chunks, head.entries, head.characters].every((count) => Number.isSafeInteger(count));
  if (!isHead) throw new HoldfastError("store_damaged", `The state key ${JSON.stringify(key)} does not hold the head of a transcript.`, { hint: "Delete the key, or restore it." });
  return head as TranscriptHead;
}

export const newHead = ({ projectKey, sessionId }: SessionKeys, subpath: string | undefined, generation: string): TranscriptHead => ({
  projectKey,
  sessionId,
  ...(subpath === undefined ? {} : { subpath }),
  generation,
  chunks: 0,
  entries: 0,
  characters: 0,
});
