import type { Principal, Role } from "../../domain/identity/principal.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";

/** One request to the dashboard's API after the front has checked host, origin, credential, role, namespace and limits. */
export interface ApiRequest {
  readonly principal: Principal;
  /** The namespace in the path, opened for this principal; on other routes the principal's default one. */
  readonly base: ToolBase;
  /** Those this principal may call. */
  readonly tools: readonly Tool[];
  /** The parts of the path that stand for something, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The header `Last-Event-ID`: where a stream of events resumes. Takes precedence over `?after=`. */
  readonly lastEventId?: string;
  /** The body; `invalid_input` when it is not JSON. */
  json(): Promise<unknown>;
  /** The client is gone, or the server stops. */
  readonly signal: AbortSignal;
}

export interface ServerSentEvent {
  /** What the client gives back as `Last-Event-ID`. */
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}

/** A failure is thrown as a HoldfastError and answered with the status of its code. */
export type ApiAnswer = { readonly status?: number; readonly json: unknown } | { readonly events: AsyncIterable<ServerSentEvent> };

/** One value per route; the front serves them and the authorisation matrix of the tests is made from them. */
export interface ApiRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** `/api/ns/:namespace/…` names a namespace, which the front checks. */
  readonly path: string;
  readonly needs: Role;
  handle(request: ApiRequest): Promise<ApiAnswer>;
}
