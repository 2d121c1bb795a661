import { mayUse } from "../../domain/identity/principal.ts";
import type { Log } from "../../kernel/log.ts";
import { isReservedNamespace } from "../../store/namespace-store.ts";
import { activityRoutes } from "./activity-routes.ts";
import type { Me } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { healthRoute } from "./health-route.ts";
import { openKeyRoutes } from "./key-routes.ts";
import { memoryRoutes } from "./memory-routes.ts";
import { openOverviewRoute } from "./overview-route.ts";
import { readQuery } from "./read-query.ts";
import { RememberedCounts } from "./remembered-counts.ts";
import { runRoutes } from "./run-routes.ts";
import { searchRoute } from "./search-route.ts";
import { tokenRoutes } from "./token-routes.ts";
import { openToolRoutes } from "./tool-routes.ts";

export interface ApiOptions {
  readonly log: Log;
  /** The server takes no change: routes that would make one are not there. */
  readonly readOnly: boolean;
}

/** Everything the dashboard asks for, one value per route. */
export function openApiRoutes({ log, readOnly }: ApiOptions): readonly ApiRoute[] {
  const counts = new RememberedCounts();
  const routes = [
    me(readOnly),
    openOverviewRoute(counts),
    healthRoute,
    ...activityRoutes,
    ...openKeyRoutes(counts),
    ...runRoutes,
    ...memoryRoutes,
    searchRoute,
    ...openToolRoutes(log),
    ...tokenRoutes,
  ];
  return readOnly ? routes.filter(({ method, needs }) => method === "GET" || needs === "read") : routes;
}

const me = (readOnly: boolean): ApiRoute => ({
  method: "GET",
  path: "/api/me",
  needs: "read",
  async handle({ principal, base, query }) {
    readQuery(query, {});
    const { engine, version } = base.server;
    // The default one is there to be used, also before anything was written to it.
    const existing = (await engine.namespaces()).filter((name) => !isReservedNamespace(name) && mayUse(principal, name));
    const namespaces = [...new Set([base.store.namespace, ...existing])].sort();
    const answer: Me = {
      principal: principal.name,
      kind: principal.kind,
      role: principal.role,
      namespaces,
      defaultNamespace: base.store.namespace,
      readOnly,
      version,
      engine: engine.name,
    };
    return { json: answer };
  },
});
