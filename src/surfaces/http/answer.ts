import type { ServerResponse } from "node:http";
import { errorCodes, isHoldfastError } from "../../kernel/errors.ts";
import { Refusal } from "./refusal.ts";

/** On every response: no type sniffing, no framing, no embedding by other sites, no referrer to other sites. */
export const safetyHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
} as const;

export type Headers = Readonly<Record<string, string>>;

export function send(response: ServerResponse, status: number, text: string | Buffer, headers: Headers): void {
  const body = typeof text === "string" ? Buffer.from(text) : text;
  response.writeHead(status, { ...safetyHeaders, "cache-control": "no-store", "content-length": String(body.length), ...headers });
  response.end(body);
}

export const sendJson = (response: ServerResponse, status: number, value: unknown, headers: Headers = {}): void =>
  send(response, status, JSON.stringify(value), { "content-type": "application/json", ...headers });

export const sendFailure = (response: ServerResponse, failure: Failure, protocol: boolean): void =>
  send(response, failure.status, failureBody(failure, protocol), { "content-type": "application/json", ...failure.headers });

/** The part of a failure that callers may see: messages written for them, and no internal details. */
export interface Failure {
  readonly status: number;
  readonly headers: Headers;
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string; readonly details?: Readonly<Record<string, unknown>> };
}

export function failureOf(error: unknown): Failure {
  if (!isHoldfastError(error)) return { status: 500, headers: {}, error: { code: "internal", message: "Internal error in Holdfast; the server's log has the details." } };
  const { code, message, hint, details } = error;
  const shown = { code, message, ...(hint === undefined ? {} : { hint }), ...(details === undefined ? {} : { details }) };
  if (error instanceof Refusal) return { status: error.status, headers: error.headers, error: shown };
  const { http, retry } = errorCodes[code];
  return { status: http, headers: retry === "backoff" && http >= 500 ? { "retry-after": "1" } : {}, error: shown };
}

/** `protocol`: an MCP client gets a JSON-RPC error, without the request's id because its body was not read. */
export function failureBody({ error }: Failure, protocol: boolean): Buffer {
  const { message, ...data } = error;
  return Buffer.from(JSON.stringify(protocol ? { jsonrpc: "2.0", id: null, error: { code: -32_000, message, data } } : { error }));
}
