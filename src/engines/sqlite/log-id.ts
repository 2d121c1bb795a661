/**
 * A log row's id is its namespace (12 bits) and its place in that namespace's log (51 bits: revision and seq, see ledger/log-position.ts).
 * Rows of a namespace then lie in revision order in the table itself: a range of revisions is a range of ids and needs no index.
 * A place fits a JavaScript number exactly; an id does not, so ids are only made inside SQL.
 */
const positionBits = 51;

/** The one above it marks where the last namespace ends, and must still be a positive number of 64 bits. */
export const namespaceIdMax = 2 ** 12 - 2;

/** SQL for an id; the arguments are SQL expressions, never input. */
export const logId = (namespace: string, logPosition: string): string => `((${namespace} << ${positionBits}) | ${logPosition})`;
/** SQL for the place in an id. */
export const positionIn = (id: string): string => `(${id} & ${2 ** positionBits - 1})`;
/** SQL for the namespace in an id. */
export const namespaceIn = (id: string): string => `(${id} >> ${positionBits})`;
