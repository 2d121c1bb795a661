import { isUtf8 } from "node:buffer";
import type { Principal } from "../../domain/identity/principal.ts";
import { hasRole } from "../../domain/identity/principal.ts";
import { invalidInput } from "../../kernel/errors.ts";
import { exceededBound } from "../../kernel/json-bounds.ts";
import type { ReadGate } from "../../store/metered-store.ts";
import type { ApiAnswer, ApiRequest } from "../dashboard/api-route.ts";
import type { FoundApiRoute } from "./api-table.ts";
import type { Exchange } from "./exchange.ts";
import { Refusal } from "./refusal.ts";
import type { Challenges } from "./resource-metadata.ts";
import type { Tenants } from "./tenants.ts";

export interface ApiCall {
  readonly found: FoundApiRoute;
  readonly exchange: Exchange;
  readonly tenants: Tenants;
  readonly challenges: Challenges;
  readBody(): Promise<Buffer>;
  readonly gate: ReadGate;
  openWait(end: () => void): () => void;
}

/** Values may be nested 64 deep and have 100,000 elements; the object around them adds a few. */
const bounds = { depthMax: 128, elementsMax: 250_000 } as const;

/** Role and namespace are checked before the body is read. */
export async function callApi({ found: { route, params }, exchange, tenants, challenges, readBody, gate, openWait }: ApiCall): Promise<ApiAnswer> {
  const { request, target } = exchange;
  const principal = exchange.principal as Principal;
  if (!hasRole(principal, route.needs))
    throw new Refusal("forbidden", `This requires the role ${route.needs}; the credential has ${principal.role}.`, {
      reason: "role",
      headers: principal.kind === "jwt" ? challenges.insufficient(request, route.needs) : {},
    });
  const base = tenants.baseFor(principal, params.namespace ?? tenants.defaultFor(principal));
  if (route.method === "POST") requireJsonType(request.headers["content-type"]);
  let body = route.method === "GET" ? undefined : await readBody();
  const { "last-event-id": lastEventId } = request.headers;
  const apiRequest: ApiRequest = {
    principal,
    base,
    tools: tenants.pageToolsFor(principal),
    params,
    query: new URLSearchParams(target?.query),
    lastEventId: typeof lastEventId === "string" ? lastEventId : undefined,
    json: async () => parseJson(body),
    get signal() {
      return exchange.signal;
    },
    gate,
    openWait(end) {
      // Its arguments are parsed. What it waits for may take long, and others need the memory of its body.
      body = undefined;
      exchange.releaseBody?.();
      return openWait(end);
    },
  };
  return route.handle(apiRequest);
}

/** Any page can send a form or plain text without a preflight; JSON requires one. */
function requireJsonType(type: string | undefined): void {
  if (type === undefined || !/^application\/json\s*(;|$)/i.test(type))
    throw new Refusal("invalid_input", "Content-Type: must be application/json", { status: 415, reason: "content_type" });
}

function parseJson(body: Buffer | undefined): unknown {
  if (body === undefined || !isUtf8(body)) throw invalidInput("body", "must be JSON in UTF-8");
  const over = exceededBound(body, bounds);
  if (over !== undefined)
    throw invalidInput("body", over === "depth" ? `must be nested at most ${bounds.depthMax} deep` : `must have at most ${bounds.elementsMax} members and items in all`);
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    throw invalidInput("body", "must be JSON in UTF-8");
  }
}
