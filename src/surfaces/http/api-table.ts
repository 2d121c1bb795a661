import type { ApiRoute } from "../dashboard/api-route.ts";
import { Refusal } from "./refusal.ts";

export interface FoundApiRoute {
  readonly route: ApiRoute;
  /** The path parameters. */
  readonly params: Readonly<Record<string, string>>;
}

/** The dashboard's routes, looked up by the decoded parts of a path. */
export class ApiTable {
  readonly #routes: readonly { readonly route: ApiRoute; readonly parts: readonly string[] }[];

  constructor(routes: readonly ApiRoute[]) {
    this.#routes = routes.map((route) => ({ route, parts: route.path.slice(1).split("/") }));
  }

  /** Rejects a path without a route, and a method that the path's routes do not have. */
  find(method: string, segments: readonly string[]): FoundApiRoute {
    const allowed: string[] = [];
    for (const { route, parts } of this.#routes) {
      const params = matched(parts, segments);
      if (params === undefined) continue;
      if (route.method === method) return { route, params };
      allowed.push(route.method);
    }
    throw allowed.length === 0 ? noSuchRoute() : wrongMethod(allowed);
  }
}

/** With its reason: a client must be able to tell it from a record that is not there. */
export const noSuchRoute = (): Refusal => new Refusal("not_found", "There is nothing at this path.", { reason: "route", details: { reason: "route" } });

export const wrongMethod = (allowed: readonly string[]): Refusal =>
  new Refusal("invalid_input", `method: must be ${allowed.join(" or ")}`, { status: 405, reason: "method", headers: { allow: allowed.join(", ") } });

function matched(parts: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  if (parts.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, part] of parts.entries()) {
    const segment = segments[i] as string;
    if (part.startsWith(":")) {
      if (segment === "") return undefined;
      params[part.slice(1)] = segment;
    } else if (part !== segment) return undefined;
  }
  return params;
}
