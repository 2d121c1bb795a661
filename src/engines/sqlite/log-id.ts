import { limits } from "../../store/limits.ts";

/**
 * A log row's id carries its place: namespace (20 bits) | revision (35) | seq (8). Rows of a namespace then lie in revision order
 * in the table itself, a range of revisions is a range of ids, and no second index is written on every commit.
 * Such an id exceeds what a JavaScript number holds exactly, so it is only ever made and taken apart inside SQL.
 */
const seqBits = 8;
const revisionBits = 35;

export const revisionMax = 2 ** revisionBits - 2;
export const namespaceIdMax = 2 ** 20 - 1;

if (limits.commitRowsMax > 2 ** seqBits) throw new RangeError("A commit may have more rows than a log id can number.");

/** SQL for an id; the arguments are SQL expressions, never input. */
export const logId = (namespace: string, revision: string, seq = "0"): string => `((${namespace} << ${revisionBits + seqBits}) | (${revision} << ${seqBits}) | ${seq})`;
export const revisionOf = (id: string): string => `((${id} >> ${seqBits}) & ${2 ** revisionBits - 1})`;
export const seqOf = (id: string): string => `(${id} & ${2 ** seqBits - 1})`;
