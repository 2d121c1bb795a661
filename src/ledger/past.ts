import { futureRevisionError, requireKept } from "../store/engine-rules.ts";
import type { NamespaceFacts, ReadOptions, Revision } from "../store/store.ts";
import { logPositionOf } from "./log-position.ts";

/** Rows of the past that is requested are before this place. Throws where it has not happened yet, or is not kept. */
export function pastBound(at: Revision, space: Pick<NamespaceFacts, "revision" | "compacted" | "gaps">): number {
  if (at > space.revision) throw futureRevisionError(at, space.revision);
  requireKept(at, space);
  return logPositionOf(at + 1);
}

/** By which time expiry is judged: that of the revision, which is the time of the newest row up to it that is kept. */
export const judgedAtMs = ({ liveAtMs }: ReadOptions, { compactedAtMs }: Pick<NamespaceFacts, "compactedAtMs">, newestAtMs: number | undefined): number =>
  liveAtMs ?? Math.max(compactedAtMs, newestAtMs ?? 0);

/** Along the chain of a key (see place.ts) towards the newest row below the bound: the longest way that does not lead past it. */
export const nextInChain = (previous: number | null, jump: number | null, bound: number): number | null => (jump !== null && jump >= bound ? jump : previous);
