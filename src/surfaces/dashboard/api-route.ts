import type { Principal, Role } from "../../domain/identity/principal.ts";
import type { ReadGate } from "../../store/metered-store.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";

/** One request to the dashboard's API after the front has checked host, origin, credential, role, namespace and limits. */
export interface ApiRequest {
  readonly principal: Principal;
  /** The namespace in the path, opened for this principal; on other routes the principal's default one. */
  readonly base: ToolBase;
  /** The tools this principal may call. */
  readonly tools: readonly Tool[];
  /** The decoded path parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The header `Last-Event-ID`: where a stream of events resumes. Takes precedence over `?after=`. */
  readonly lastEventId?: string;
  /** The body; `invalid_input` when it is not JSON. */
  json(): Promise<unknown>;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
  /** Lets reads begin when there is memory and time for them; for routes that are metered. */
  readonly gate: ReadGate;
  /** The request has begun to wait for something. `end`: it must wait no longer. Call the returned function when the wait is over. */
  openWait(end: () => void): () => void;
}

export interface ServerSentEvent {
  /** The client sends it back as `Last-Event-ID`. */
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}

/** Failures are thrown as HoldfastError; the response has the status of the error's code. */
export type ApiAnswer = { readonly status?: number; readonly json: unknown } | { readonly events: AsyncIterable<ServerSentEvent> };

/** One value per route. The front serves them, and the tests build their authorisation matrix from them. */
export interface ApiRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** `/api/ns/:namespace/…` names a namespace, which the front checks. */
  readonly path: string;
  readonly needs: Role;
  /** Its reads pass the request's gate one by one; for others, as much memory as their answers took lately is reserved at the beginning. */
  readonly isMetered?: true;
  handle(request: ApiRequest): Promise<ApiAnswer>;
}
