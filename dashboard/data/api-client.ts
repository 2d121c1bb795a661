import type { ApiError, ToolAnswer } from "../../src/surfaces/dashboard/api.ts";
import { forgetToken, readToken, signedOut } from "./credential.ts";

/** Every way a request can fail, with a message that can be shown. `status` 0: the server was not reached. */
export class ApiFailure extends Error {
  readonly code: string;
  readonly status: number;
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;

  constructor(status: number, { code, message, hint, details }: ApiError["error"]) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.details = details;
  }

  /** The hint if it is meant for people. A hint that names tools or their arguments is for agents. */
  get advice(): string | undefined {
    return this.hint !== undefined && /[a-z]_[a-z]/.test(this.hint) ? undefined : this.hint;
  }
}

export const asFailure = (error: unknown): ApiFailure =>
  error instanceof ApiFailure
    ? error
    : new ApiFailure(0, { code: "page", message: error instanceof Error ? error.message : "Something went wrong in this page.", hint: "Reload the page." });

interface CallOptions {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export async function requestApi<T>(path: string, { method = "GET", body, signal }: CallOptions = {}): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await send(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal });
  const text = await response.text();
  return (text === "" ? undefined : parseAnswer(response, text)) as T;
}

/** A response whose body arrives in parts. */
export const openStream = (path: string, signal: AbortSignal): Promise<Response> => send(path, { headers: { accept: "text/event-stream" }, signal });

export const callTool = (namespace: string, tool: string, args: object): Promise<ToolAnswer> =>
  requestApi<ToolAnswer>(`${apiPath(namespace)}/tools/${encodeURIComponent(tool)}`, { method: "POST", body: args });

export const apiPath = (namespace: string): string => `/api/ns/${encodeURIComponent(namespace)}`;

/** The query string `?a=b`, with only the fields that have a value. */
export function queryText(fields: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined && value !== "") query.set(name, String(value));
  return query.size === 0 ? "" : `?${query}`;
}

async function send(path: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
  const token = readToken();
  if (token !== undefined) init.headers.authorization = `Bearer ${token}`;
  let response: Response;
  try {
    response = await fetch(path, { ...init, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiFailure(0, { code: "unreachable", message: "The server does not answer.", hint: "It may be restarting, or the network is down. The page tries again by itself." });
  }
  if (response.ok) return response;
  const failure = parseFailure(response.status, await response.text().catch(() => ""));
  if (response.status === 401) {
    forgetToken();
    signedOut.set({ refused: token !== undefined });
  }
  throw failure;
}

function parseAnswer(response: Response, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiFailure(response.status, { code: "answer", message: "The server's answer is not JSON.", hint: "Is something between this page and Holdfast?" });
  }
}

function parseFailure(status: number, text: string): ApiFailure {
  try {
    const { error } = JSON.parse(text) as Partial<ApiError>;
    if (error !== undefined && typeof error.message === "string") return new ApiFailure(status, error);
  } catch {
    // Not Holdfast's response: a proxy's error page, for example.
  }
  return new ApiFailure(status, { code: `http_${status}`, message: `The server answered with status ${status}.` });
}
