import { isUtf8 } from "node:buffer";
import { exceededBound, outlineOf } from "../../kernel/json-bounds.ts";
import type { Message, RequestId } from "./json-rpc.ts";
import { isPlainObject, isRequestId, rpcErrors } from "./json-rpc.ts";

export const messageLimits = {
  bytesMax: 8_388_608,
  /** A longer message is still read up to this size, so that it can be rejected under its own id. Otherwise its sender would wait forever. */
  refusableBytesMax: 33_554_432,
  /** Values may be nested 64 deep (see store limits); the envelope around them adds a few. */
  depthMax: 128,
  /** Members and items of a whole message, in all its lists and objects; one value may have 100,000. */
  elementsMax: 250_000,
  /** The limit for messages that call no tool and so carry no data. */
  plainElementsMax: 10_000,
  batchMessagesMax: 64,
} as const;

/** The only protocol version with batches: its clients may send them, later versions must not accept them. */
export const batchVersion = "2025-03-26";

type ReadResult = { readonly ok: true; readonly message: Message } | { readonly ok: false; readonly id: RequestId | null; readonly code: number; readonly problem: string };

/** Parses one line as a JSON-RPC message, or says why it is not one. Never throws. */
export function readMessage(line: Buffer): ReadResult {
  // Decoding would silently replace invalid bytes, and the server would store something the caller never sent.
  if (!isUtf8(line)) return refuse(null, rpcErrors.parse, "The message is not UTF-8.");
  const over = exceededBound(line, messageLimits);
  if (over !== undefined) return refuse(idInOutline(line), rpcErrors.invalidRequest, boundProblem("message", over, messageLimits.elementsMax));
  let value: unknown;
  try {
    value = JSON.parse(line.toString("utf8"));
  } catch {
    return refuse(null, rpcErrors.parse, "The message is not JSON; send one JSON-RPC message at a time.");
  }
  if (Array.isArray(value)) return refuse(null, rpcErrors.invalidRequest, "Batches are not part of this revision of the protocol; send one message at a time.");
  if (!isPlainObject(value)) return refuse(null, rpcErrors.invalidRequest, "A message must be a JSON object.");
  const id = isRequestId(value.id) ? value.id : null;
  if (line.length > messageLimits.bytesMax)
    return refuse(id, rpcErrors.invalidRequest, `A message must be at most ${messageLimits.bytesMax} bytes (got ${line.length}). Store large data elsewhere and keep a reference.`);
  const { depthMax, plainElementsMax } = messageLimits;
  if ("method" in value && value.method !== "tools/call" && exceededBound(line, { depthMax, elementsMax: plainElementsMax }) !== undefined)
    return refuse(id, rpcErrors.invalidRequest, boundProblem("message that calls no tool", "elements", plainElementsMax));
  const problem = shapeProblem(value);
  return problem === undefined ? { ok: true, message: value as unknown as Message } : refuse(id, rpcErrors.invalidRequest, problem);
}

type ReadBatch = { readonly ok: true; readonly lines: readonly Buffer[] } | (ReadResult & { readonly ok: false });

/** The messages of a batch, each as if it were a line of its own; undefined if the line is not a batch. Errors in a message are reported when it is read. */
export function readBatch(line: Buffer): ReadBatch | undefined {
  if (!/^\s*\[/.test(line.toString("latin1", 0, 64)) || !isUtf8(line)) return undefined;
  if (line.length > messageLimits.bytesMax) return refuseBatch(`A batch must be at most ${messageLimits.bytesMax} bytes.`);
  const over = exceededBound(line, messageLimits);
  if (over !== undefined) return refuseBatch(boundProblem("batch", over, messageLimits.elementsMax));
  let batch: unknown;
  try {
    batch = JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
  const { batchMessagesMax } = messageLimits;
  if (!Array.isArray(batch) || batch.length === 0 || batch.length > batchMessagesMax) return refuseBatch(`A batch must have 1 to ${batchMessagesMax} messages.`);
  return { ok: true, lines: batch.map((message) => Buffer.from(JSON.stringify(message))) };
}

const boundProblem = (what: string, over: "depth" | "elements", elementsMax: number): string =>
  over === "depth" ? `A ${what} must be nested at most ${messageLimits.depthMax} deep.` : `A ${what} must have at most ${elementsMax} members and items in all.`;

/** The id of a message that is not parsed: its sender still waits for a response. */
function idInOutline(line: Buffer): RequestId | null {
  const outline = outlineOf(line);
  if (outline.length > messageLimits.plainElementsMax) return null;
  try {
    const value: unknown = JSON.parse(outline);
    return isPlainObject(value) && isRequestId(value.id) ? value.id : null;
  } catch {
    return null;
  }
}

const refuseBatch = (problem: string): ReadBatch => ({ ok: false, id: null, code: rpcErrors.invalidRequest, problem });

const refuse = (id: RequestId | null, code: number, problem: string): ReadResult => ({ ok: false, id, code, problem });

const requestMembers = new Set(["jsonrpc", "id", "method", "params"]);

/** The SDK silently drops a message of the wrong shape; its sender needs an error. */
function shapeProblem(value: Record<string, unknown>): string | undefined {
  if (value.jsonrpc !== "2.0") return 'jsonrpc: must be "2.0"';
  if ("id" in value && !isRequestId(value.id)) return "id: must be a string or a whole number";
  if (!("method" in value)) return "result" in value || "error" in value ? undefined : "method: must be a string";
  if (typeof value.method !== "string") return "method: must be a string";
  for (const member in value) if (!requestMembers.has(member)) return "A message must have no members other than jsonrpc, id, method and params.";
  const { params } = value;
  if (params === undefined) return undefined;
  if (!isPlainObject(params)) return "params: must be an object";
  const { _meta: meta } = params;
  if (meta === undefined) return undefined;
  if (!isPlainObject(meta)) return "params._meta: must be an object";
  const token = meta.progressToken;
  return token === undefined || isRequestId(token) ? undefined : "params._meta.progressToken: must be a string or a whole number";
}
