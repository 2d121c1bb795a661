import type { IncomingHttpHeaders } from "node:http";
import { nextOrdinal, randomHex } from "../../kernel/ids.ts";

/** Distinguishes processes that log to the same place. */
const prefix = randomHex(8);

/** The request's id in the log: the id from a proxy in front if it is plain, otherwise our own. */
export function requestIdOf({ "x-request-id": given }: IncomingHttpHeaders): string {
  return typeof given === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : `${prefix}-${nextOrdinal()}`;
}

/** The trace that the caller claims to be part of. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === "string" ? /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/.exec(traceparent)?.[1] : undefined;
}
