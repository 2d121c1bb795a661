import { futureRevisionError, requireKept } from "../store/engine-rules.ts";
import type { NamespaceFacts, ReadOptions, Revision } from "../store/store.ts";
import { logPositionOf } from "./log-position.ts";

/** The log position that all rows of this past revision are below. Throws if the revision is in the future or is no longer kept. */
export function pastBound(at: Revision, space: Pick<NamespaceFacts, "revision" | "compacted" | "gaps">): number {
  if (at > space.revision) throw futureRevisionError(at, space.revision);
  requireKept(at, space);
  return logPositionOf(at + 1);
}

/** The time at which expiry is judged: the time of the revision, which is that of the newest kept row up to it. */
export const judgedAtMs = ({ liveAtMs }: ReadOptions, { compactedAtMs }: Pick<NamespaceFacts, "compactedAtMs">, newestAtMs: number | undefined): number =>
  liveAtMs ?? Math.max(compactedAtMs, newestAtMs ?? 0);

/** The next step along a key's chain (see log-position.ts) towards its newest row below the bound: the longest step that does not skip that row. */
export const nextInChain = (previous: number | null, jump: number | null, bound: number): number | null => (jump !== null && jump >= bound ? jump : previous);
