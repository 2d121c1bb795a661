import type { Counter, Meter } from "../../kernel/meter.ts";
import { secondsBounds } from "../../kernel/meter.ts";

/** Why a request was rejected before it reached its route. */
export type RefusalReason =
  | "host"
  | "origin"
  | "credential"
  | "namespace"
  | "role"
  | "route"
  | "method"
  | "content_type"
  | "malformed"
  | "too_large"
  | "rate"
  | "in_flight"
  | "streams"
  | "timeout"
  | "stopping";

/** The kind of credential that a caller used. */
export type CredentialKind = "operator" | "token" | "jwt" | "none";

export type StreamKind = "mcp" | "events";

export interface HttpMetrics {
  /** A request has arrived. Pass the returned value to `ended`. */
  began(): number;
  /** Completed, or abandoned (status 499). `route` is the pattern, never the path, so it contains nothing from the caller. A stream's duration is not recorded: it depends on its reader. */
  ended(beganMs: number, route: string, method: string, status: number, isStream?: boolean): void;
  refused(reason: RefusalReason): void;
  authenticated(kind: CredentialKind, outcome: "accepted" | "refused"): void;
  /** One more (1) or one fewer (-1) open stream. */
  stream(kind: StreamKind, change: 1 | -1): void;
  /** The number of open sockets, read at each scrape. */
  connections(read: () => number | undefined): void;
}

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Labels are only the route's pattern, method and status. A path, a namespace or a principal would reveal too much to readers of the metrics, and has unbounded values. */
export function openHttpMetrics(meter: Meter): HttpMetrics {
  const requests: Counter = meter.counter("holdfast_http_requests_total", "HTTP requests answered, by route pattern, method and status.", ["route", "method", "status"]);
  const seconds = meter.histogram("holdfast_http_request_seconds", "Time from a request's headers to the end of its response, without streams.", secondsBounds, ["route"]);
  const inFlight = meter.level("holdfast_http_requests_in_flight", "HTTP requests in progress, including open streams.").of();
  const refused = meter.counter("holdfast_http_refused_total", "HTTP requests rejected before they reached their route.", ["reason"]);
  const authentications = meter.counter("holdfast_authentications_total", "Credentials checked, by kind and outcome.", ["kind", "outcome"]);
  const streams = meter.level("holdfast_streams_open", "Open streams: MCP streams and the dashboard's events.", ["kind"]);
  for (const kind of ["mcp", "events"]) streams.of(kind);
  return {
    began() {
      inFlight.add(1);
      return meter.nowMs();
    },
    ended(beganMs, route, method, status, isStream = false) {
      inFlight.add(-1);
      requests.of(route, methods.includes(method) ? method : "other", statusText(status)).add();
      if (!isStream) seconds.of(route).record((meter.nowMs() - beganMs) / 1_000);
    },
    refused: (reason) => refused.of(reason).add(),
    authenticated: (kind, outcome) => authentications.of(kind, outcome).add(),
    stream: (kind, change) => streams.of(kind).add(change),
    connections: (read) => meter.gauge("holdfast_http_connections_open", "Sockets open now.", read),
  };
}

/** Each is created once, so that a request allocates nothing. */
const statusTexts = new Map<number, string>();
function statusText(status: number): string {
  const known = statusTexts.get(status);
  if (known !== undefined) return known;
  const text = status >= 100 && status < 600 ? String(status) : "other";
  if (statusTexts.size < 600) statusTexts.set(status, text);
  return text;
}
