import type { Message, RequestId } from "../mcp/json-rpc.ts";
import { isRequest } from "../mcp/json-rpc.ts";

/** A client's message on its way to the server. */
export interface Outgoing {
  /** The message exactly as the client sent it. */
  readonly body: Buffer;
  /** The ids of the requests in it: one, several in a batch, none in a notification. */
  readonly ids: readonly RequestId[];
  /** The ids that have no answer yet. */
  readonly unanswered: Set<RequestId>;
  readonly method?: string;
  /** The headers that describe the message in the protocol without sessions; absent in the earlier protocol. */
  readonly envelope?: Readonly<Record<string, string>>;
  /** True if the message may be sent again even after it may have arrived: it is not a tool call, or it carries a request key that the server honours. */
  readonly isRepeatable: boolean;
  /** A tool call to a server other than Holdfast, which may return 503 after it has acted, as some gateways do. */
  readonly isForeignCall: boolean;
  readonly abort: AbortController;
}

const versionKey = "io.modelcontextprotocol/protocolVersion";
const requestKey = "holdfast/request-key";

/** The server performs a call with a key once, however often it arrives. The key is in `_meta` or among the arguments. */
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

export function outgoing(line: Buffer, message: Message, isForeign = false): Outgoing {
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
    isRepeatable: method !== "tools/call" || (!isForeign && hasRequestKey(params)),
    isForeignCall: isForeign && method === "tools/call",
    abort: new AbortController(),
  };
}

/** A batch, which exists in one earlier protocol revision. Its messages are not examined, so it is never sent twice. */
export function outgoingBatch(line: Buffer, messages: readonly Message[]): Outgoing {
  const ids = messages.flatMap((message) => (isRequest(message) ? [message.id] : []));
  return { body: Buffer.from(line), ids, unanswered: new Set(ids), isRepeatable: false, isForeignCall: false, abort: new AbortController() };
}

function envelopeHeaders(version: string, method: string, params: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, string>> {
  const member = Object.hasOwn(namedBy, method) ? params?.[namedBy[method] as string] : undefined;
  return {
    "mcp-protocol-version": headerText(version),
    "mcp-method": headerText(method),
    ...(typeof member === "string" ? { "mcp-name": headerText(member) } : {}),
  };
}

/** Text that a header cannot contain is encoded as Base64, and so is text that looks like this encoding. */
const headerText = (text: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/i.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
