import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestId } from "../json-rpc.ts";
import { errorLine } from "../json-rpc.ts";

/** For failures of the HTTP exchange itself, for which the protocol defines no code. */
export const httpFailure = -32_000;

const jsonType = "application/json";
const eventsType = "text/event-stream";
/** Responses are for this caller at this moment, so they are not cached; nor is their type guessed. */
const always = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;
const eventHeaders = { "content-type": eventsType, "cache-control": "no-store, no-transform", "x-content-type-options": "nosniff", "x-accel-buffering": "no" } as const;

/** The response formats a client accepts. JSON is used if it accepts both. */
export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

const anything: Accepted = { json: true, events: true };

export function acceptedBy({ headers: { accept } }: IncomingMessage): Accepted {
  if (accept === undefined || accept === "*/*" || accept === "application/json, text/event-stream") return anything;
  const types = accept.toLowerCase();
  const everyType = types.includes("*/*");
  return { json: everyType || types.includes(jsonType) || types.includes("application/*"), events: everyType || types.includes(eventsType) || types.includes("text/*") };
}

/** `application/json`, with any parameters. A type that mentions it only in a parameter does not count. */
export function isJson({ headers }: IncomingMessage): boolean {
  const type = headers["content-type"];
  return type === jsonType || type?.split(";", 1)[0]?.trim().toLowerCase() === jsonType;
}

/** One message as a server-sent event. JSON contains no line breaks. */
export const eventOf = (line: string, id?: number): string => `event: message\n${id === undefined ? "" : `id: ${id}\n`}data: ${line}\n\n`;

export function sendRpcJson(response: ServerResponse, status: number, text: string, headers?: Readonly<Record<string, string>>): void {
  // Writing to a closed connection would be reported as an error of the process.
  if (response.destroyed) return;
  const bytes = Buffer.byteLength(text);
  response.writeHead(status, { "content-type": jsonType, "content-length": bytes, ...always, ...headers });
  // As many bytes as characters means ASCII, which needs no encoding.
  response.end(text, bytes === text.length ? "latin1" : "utf8");
}

/** Sends the response to a request in a format the client accepts. */
export function sendAnswer(response: ServerResponse, accepted: Accepted, line: string, headers?: Readonly<Record<string, string>>): void {
  if (accepted.json) return sendRpcJson(response, 200, line, headers);
  startEvents(response, headers);
  if (!response.destroyed) response.end(eventOf(line));
}

/** Accepted; the response has no body. */
export function sendAccepted(response: ServerResponse): void {
  if (response.destroyed) return;
  response.writeHead(202, { "content-length": 0, ...always });
  response.end();
}

export function startEvents(response: ServerResponse, headers?: Readonly<Record<string, string>>): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(200, { ...eventHeaders, ...headers });
  // Sent immediately, so that the client learns that it is connected before anything happens.
  response.flushHeaders();
}

export const sendRpcFailure = (
  response: ServerResponse,
  status: number,
  code: number,
  problem: string,
  id: RequestId | null = null,
  headers?: Readonly<Record<string, string>>,
): void => sendRpcJson(response, status, errorLine(id, code, problem), headers);
