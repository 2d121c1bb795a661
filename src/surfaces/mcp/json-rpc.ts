/** The parts of JSON-RPC 2.0 that Holdfast speaks without the SDK. */

export type RequestId = string | number;
export type Params = Readonly<Record<string, unknown>>;

export interface Request {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly method: string;
  readonly params?: Params;
}

interface Notification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params?: Params;
}

/** A response to one of our requests. Holdfast requests only a client's roots, but a client may send a response unasked. */
interface Reply {
  readonly jsonrpc: "2.0";
  readonly id?: RequestId;
  readonly result?: unknown;
  readonly error?: unknown;
}

export type Message = Request | Notification | Reply;

export const rpcErrors = { parse: -32700, invalidRequest: -32600, invalidParams: -32602, internal: -32603, unsupportedVersion: -32022 } as const;

export const isRequest = (message: Message): message is Request => "method" in message && "id" in message;
export const isNotification = (message: Message): message is Notification => "method" in message && !("id" in message);

export const isPlainObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === "object" && !Array.isArray(value);
export const isRequestId = (value: unknown): value is RequestId => typeof value === "string" || Number.isSafeInteger(value);

/** As JSON-RPC requires, the id is null if the message could not be read. */
export const errorLine = (id: RequestId | null, code: number, message: string, data?: unknown): string => JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } });
