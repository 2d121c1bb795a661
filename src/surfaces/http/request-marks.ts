import type { IncomingHttpHeaders } from "node:http";
import { nextOrdinal, randomHex } from "../../kernel/ids.ts";

/** Tells processes apart that log to one place. */
const prefix = randomHex(8);

/** What tells one request from all others in the log: the name that a proxy before us gave it, if it is a plain one, else our own. */
export function requestIdOf({ "x-request-id": given }: IncomingHttpHeaders): string {
  return typeof given === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : `${prefix}-${nextOrdinal()}`;
}

/** The trace that the caller says it is part of. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === "string" ? /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/.exec(traceparent)?.[1] : undefined;
}
