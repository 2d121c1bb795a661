import { exceededBound } from "../../kernel/json-bounds.ts";
import { isPlainObject } from "../mcp/json-rpc.ts";
import { TooLong } from "./read-answer.ts";

/** What the bridge looks at in a message of the server's; everything else is passed on unread. */
export interface ServerMessage {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
}

/** The server has answered, but not what it was asked: asking again would not help. The message follows the server's address. */
export class WrongAnswer extends Error {}
export const noMcp = "answered with something other than MCP";

/** Far above what a Holdfast server answers: a few megabytes of brackets would take a hundred times their size. */
const bounds = { depthMax: 256, elementsMax: 4_000_000 };
/** Shorter than this nothing can be too much. */
const boundedFrom = 65_536;

/** The messages in a text: one, or those of a batch. Undefined: it holds something else. */
export function messagesIn(text: string): readonly ServerMessage[] | undefined {
  if (text.length > boundedFrom && exceededBound(Buffer.from(text), bounds) !== undefined) throw new TooLong();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
  return messages.length > 0 && messages.every((message) => isPlainObject(message) && message.jsonrpc === "2.0") ? (messages as readonly ServerMessage[]) : undefined;
}

/** The one message of an event. */
export function requireMessage(text: string): ServerMessage {
  const [message] = messagesIn(text) ?? [];
  if (message === undefined) throw new WrongAnswer(noMcp);
  return message;
}

/** As the transport wants it: a message holds no line break. */
export const oneLine = (text: string): string => (/[\r\n]/.test(text) ? JSON.stringify(JSON.parse(text)) : text);
