import type { LogRow } from "../store/store.ts";

/** Oldest first, as things happened: what had expired came to its end before the commit that met it, although it may stand behind in the log. */
export const asItHappened = (a: LogRow, b: LogRow): number => a.revision - b.revision || Number(b.op === "expire") - Number(a.op === "expire") || a.seq - b.seq;
export const newestFirst = (a: LogRow, b: LogRow): number => asItHappened(b, a);
