import type { Message, RequestId } from "../mcp/json-rpc.ts";
import { isRequest } from "../mcp/json-rpc.ts";

/** One message of the client's on its way to the server. */
export interface Outgoing {
  /** As the client wrote it. */
  readonly body: Buffer;
  /** The requests in it: one, several in a batch, none in a notification. */
  readonly ids: readonly RequestId[];
  /** Those of them for which nothing has come yet. */
  readonly unanswered: Set<RequestId>;
  readonly method?: string;
  /** What it says of itself in the era without sessions; absent in the earlier one. */
  readonly envelope?: Readonly<Record<string, string>>;
  /** May be sent again although it may have arrived: it changes nothing, or carries a request key. */
  readonly isRepeatable: boolean;
  readonly abort: AbortController;
}

const versionKey = "io.modelcontextprotocol/protocolVersion";
const requestKey = "holdfast/request-key";

/** The server does a call with a key once, however often it arrives; the key comes beside the arguments or as one of them. */
function hasRequestKey(params: Readonly<Record<string, unknown>> | undefined): boolean {
  const meta = params?._meta as Readonly<Record<string, unknown>> | undefined;
  const args = params?.arguments as Readonly<Record<string, unknown>> | null | undefined;
  return [meta?.[requestKey], args?.request_key].some((key) => typeof key === "string" && key !== "");
}

/** The parameter that names a request's subject; also sent as a header, so that proxies can route without reading bodies. */
const namedBy: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

export function outgoing(line: Buffer, message: Message): Outgoing {
  const method = "method" in message ? message.method : undefined;
  const params = "method" in message ? message.params : undefined;
  const meta = params?._meta as Readonly<Record<string, unknown>> | undefined;
  const version = meta?.[versionKey];
  const ids = isRequest(message) ? [message.id] : [];
  return {
    body: Buffer.from(line),
    ids,
    unanswered: new Set(ids),
    method,
    envelope: typeof version === "string" && method !== undefined ? envelopeHeaders(version, method, params) : undefined,
    isRepeatable: method !== "tools/call" || hasRequestKey(params),
    abort: new AbortController(),
  };
}

/** A batch, which one of the earlier revisions has. What is in it is not told apart: it may not be sent twice. */
export function outgoingBatch(line: Buffer, messages: readonly Message[]): Outgoing {
  const ids = messages.flatMap((message) => (isRequest(message) ? [message.id] : []));
  return { body: Buffer.from(line), ids, unanswered: new Set(ids), isRepeatable: false, abort: new AbortController() };
}

function envelopeHeaders(version: string, method: string, params: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, string>> {
  const member = Object.hasOwn(namedBy, method) ? params?.[namedBy[method] as string] : undefined;
  return {
    "mcp-protocol-version": headerText(version),
    "mcp-method": headerText(method),
    ...(typeof member === "string" ? { "mcp-name": headerText(member) } : {}),
  };
}

/** What a header cannot hold as it is goes as Base64, and so does what would be taken for that. */
const headerText = (text: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/i.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
