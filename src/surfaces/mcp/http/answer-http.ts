import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestId } from "../json-rpc.ts";
import { errorLine } from "../json-rpc.ts";

/** A failure of the exchange itself, which the protocol leaves without a number of its own. */
export const httpFailure = -32_000;

const jsonType = "application/json";
const eventsType = "text/event-stream";
/** Answers are for this caller at this moment, and never anything but what they say they are. */
const always = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;
const eventHeaders = { "content-type": eventsType, "cache-control": "no-store, no-transform", "x-content-type-options": "nosniff", "x-accel-buffering": "no" } as const;

/** In which forms a client takes an answer. JSON is given to who takes both. */
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

/** `application/json`, with whatever parameters. A type that only mentions it in a parameter is another. */
export function isJson({ headers }: IncomingMessage): boolean {
  const type = headers["content-type"];
  return type === jsonType || type?.split(";", 1)[0]?.trim().toLowerCase() === jsonType;
}

/** One message as a server-sent event; JSON has no line break in it. */
export const eventOf = (line: string, id?: number): string => `event: message\n${id === undefined ? "" : `id: ${id}\n`}data: ${line}\n\n`;

export function sendRpcJson(response: ServerResponse, status: number, text: string, headers?: Readonly<Record<string, string>>): void {
  // A write to a closed connection would be reported as an error of the process.
  if (response.destroyed) return;
  const bytes = Buffer.byteLength(text);
  response.writeHead(status, { "content-type": jsonType, "content-length": bytes, ...always, ...headers });
  // As many bytes as characters: nothing but ASCII, which need not be encoded.
  response.end(text, bytes === text.length ? "latin1" : "utf8");
}

/** The answer to a request in the form the client takes. */
export function sendAnswer(response: ServerResponse, accepted: Accepted, line: string, headers?: Readonly<Record<string, string>>): void {
  if (accepted.json) return sendRpcJson(response, 200, line, headers);
  startEvents(response, headers);
  if (!response.destroyed) response.end(eventOf(line));
}

/** Taken in; there is nothing to say. */
export function sendAccepted(response: ServerResponse): void {
  if (response.destroyed) return;
  response.writeHead(202, { "content-length": 0, ...always });
  response.end();
}

export function startEvents(response: ServerResponse, headers?: Readonly<Record<string, string>>): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(200, { ...eventHeaders, ...headers });
  // Out at once: the client learns that it is connected before anything happens.
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
