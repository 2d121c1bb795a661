import { limits } from "../../store/limits.ts";
import type { Revision } from "../../store/store.ts";

/**
 * A row's place in its namespace's log is one number: revision (40 bits) | seq (8 bits). The row's id puts the namespace (15 bits) before it.
 * Rows of a namespace then lie in revision order in the table itself: a range of revisions is a range of ids and needs no index.
 * A place fits a JavaScript number exactly; an id does not, so ids are only made inside SQL.
 */
const seqCount = 256;
const placeBits = 48;

export const revisionMax = 2 ** 40 - 2;
export const namespaceIdMax = 2 ** 15 - 1;

if (limits.commitRowsMax > seqCount) throw new RangeError("A commit may have more rows than a log id can number.");

export const placeOf = (revision: Revision, seq = 0): number => revision * seqCount + seq;
export const revisionAt = (place: number): Revision => Math.floor(place / seqCount);
export const seqAt = (place: number): number => place % seqCount;

/** SQL for an id; the arguments are SQL expressions, never input. */
export const logId = (namespace: string, place: string): string => `((${namespace} << ${placeBits}) | ${place})`;
/** SQL for the place in an id. */
export const placeIn = (id: string): string => `(${id} & ${2 ** placeBits - 1})`;
