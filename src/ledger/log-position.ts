import { limits } from "../store/limits.ts";
import type { Revision } from "../store/store.ts";

/** Where a log row is, as one number that JavaScript holds exactly and that sorts as the log does: revision (43 bits) | position within it (8 bits). */
export const seqCount = 256;

if (limits.commitRowsMax > seqCount) throw new RangeError("A commit may have more rows than a place can number.");

export const logPositionOf = (revision: Revision, seq = 0): number => revision * seqCount + seq;
export const revisionAt = (logPosition: number): Revision => Math.floor(logPosition / seqCount);
export const seqAt = (logPosition: number): number => logPosition % seqCount;

/**
 * Each log row points to the one before it of the same key, so the history of a key is a chain that begins at its entry (or at what is remembered of it).
 * An index by key would cost a random page in every commit; the chain costs nothing, because rows are only ever appended.
 * Every so many versions a row also points to the last such row (`jump`; the newest of them is the key's `anchor`), so that the far past of a busy key is near.
 */
export const jumpEvery = 128;
