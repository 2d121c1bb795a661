import { exceededBound } from "../../kernel/json-bounds.ts";
import { TooLong } from "../../kernel/server-events.ts";
import { isPlainObject } from "../mcp/json-rpc.ts";

/** The fields of a server's message that the bridge reads; all others are passed on unread. */
export interface ServerMessage {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
}

/** The server answered something other than the request, so a retry would not help. The message completes a sentence that starts with the server's address. */
export class WrongAnswer extends Error {}
export const noMcp = "answered with something other than MCP";

/** Far larger than any answer of a Holdfast server. Without limits, a few megabytes of brackets would take a hundred times their size in memory. */
const bounds = { depthMax: 256, elementsMax: 4_000_000 };
/** Shorter texts are not checked: they are too small to do harm. */
const boundedFrom = 65_536;

/** The value of a JSON text; undefined if it is not JSON. Throws TooLong if it exceeds the bounds. */
export function parseBounded(text: string): unknown {
  if (text.length > boundedFrom && exceededBound(Buffer.from(text), bounds) !== undefined) throw new TooLong();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The messages in a text: one, or those of a batch. Undefined if the text is anything else. */
export function messagesIn(text: string): readonly ServerMessage[] | undefined {
  const value = parseBounded(text);
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
  return messages.length > 0 && messages.every((message) => isPlainObject(message) && message.jsonrpc === "2.0") ? (messages as readonly ServerMessage[]) : undefined;
}

/** The one message of an event. */
export function requireMessage(text: string): ServerMessage {
  const [message] = messagesIn(text) ?? [];
  if (message === undefined) throw new WrongAnswer(noMcp);
  return message;
}

/** The stdio transport requires messages without line breaks. */
export const oneLine = (text: string): string => (/[\r\n]/.test(text) ? JSON.stringify(JSON.parse(text)) : text);
