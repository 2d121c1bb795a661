import type { Log } from "../../kernel/log.ts";
import type { Store } from "../../store/store.ts";
import { activityRoutes } from "./activity-routes.ts";
import type { ApiRoute } from "./api-route.ts";
import { effectRoutes } from "./effect-routes.ts";
import { healthRoute } from "./health-route.ts";
import { openKeyRoutes } from "./key-routes.ts";
import { openMeRoute } from "./me-route.ts";
import { memoryRoutes } from "./memory-routes.ts";
import { openOverviewRoute } from "./overview-route.ts";
import { RememberedCounts } from "./remembered-counts.ts";
import { runRoutes } from "./run-routes.ts";
import { searchRoute } from "./search-route.ts";
import { openTokenRoutes } from "./token-routes.ts";
import { openToolRoutes } from "./tool-routes.ts";

export interface ApiOptions {
  readonly log: Log;
  /** The server accepts no writes: routes that write do not exist. */
  readonly readOnly: boolean;
  /** The operator's name. */
  readonly operator: string;
  /** The system namespace, which stores access tokens. */
  readonly system: Store;
  /** All namespaces of the store. */
  readonly namespaces: () => Promise<readonly string[]>;
}

/** Every route of the dashboard. */
export function openApiRoutes({ log, readOnly, operator, system, namespaces }: ApiOptions): readonly ApiRoute[] {
  const counts = new RememberedCounts();
  const routes = [
    openMeRoute(readOnly, namespaces),
    openOverviewRoute(counts),
    healthRoute,
    ...activityRoutes,
    ...openKeyRoutes(counts),
    ...runRoutes,
    ...effectRoutes,
    ...memoryRoutes,
    searchRoute,
    ...openToolRoutes(log),
    ...openTokenRoutes({ operator, log, system }),
  ];
  return readOnly ? routes.filter(({ method, needs }) => method === "GET" || needs === "read") : routes;
}
