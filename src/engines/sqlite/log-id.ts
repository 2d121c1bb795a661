/**
 * A log row's id combines its namespace (12 bits) and its position in that namespace's log (51 bits: revision and seq, see ledger/log-position.ts).
 * The table therefore stores the rows of a namespace in revision order: a range of revisions is a range of ids and needs no index.
 * A position fits a JavaScript number exactly. An id does not, so ids exist only inside SQL.
 */
const positionBits = 51;

/** The next id above marks the end of the last namespace, and must still be a positive 64-bit number. */
export const namespaceIdMax = 2 ** 12 - 2;

/** SQL for an id; the arguments are SQL expressions, never input. */
export const logId = (namespace: string, logPosition: string): string => `((${namespace} << ${positionBits}) | ${logPosition})`;
/** SQL for the position in an id. */
export const positionIn = (id: string): string => `(${id} & ${2 ** positionBits - 1})`;
/** SQL for the namespace in an id. */
export const namespaceIn = (id: string): string => `(${id} >> ${positionBits})`;
