import { limits } from "../store/limits.ts";
import type { Revision } from "../store/store.ts";

/** The position of a log row as one number: revision (43 bits) | index within the revision (8 bits). JavaScript represents it exactly, and it sorts in log order. */
export const seqCount = 256;

if (limits.commitRowsMax > seqCount) throw new RangeError("A commit may have more rows than a place can number.");

export const logPositionOf = (revision: Revision, seq = 0): number => revision * seqCount + seq;
export const revisionAt = (logPosition: number): Revision => Math.floor(logPosition / seqCount);
export const seqAt = (logPosition: number): number => logPosition % seqCount;

/**
 * Each log row points to the previous row of the same key. The history of a key is therefore a chain that starts at its entry, or at its tombstone.
 * An index by key would cost a random page in every commit; the chain costs nothing, because rows are only ever appended.
 * Every `jumpEvery` versions, a row also points to the previous such row (`jump`; the newest of them is the key's `anchor`). This keeps the distant past of a busy key close.
 */
export const jumpEvery = 128;
