import type { LogRow } from "../store/store.ts";

/** Oldest first, in the order things happened: an expiry precedes the commit that noticed it, although the log may list it later. */
export const asItHappened = (a: LogRow, b: LogRow): number => a.revision - b.revision || Number(b.op === "expire") - Number(a.op === "expire") || a.seq - b.seq;
export const newestFirst = (a: LogRow, b: LogRow): number => asItHappened(b, a);
