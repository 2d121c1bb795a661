import { isHoldfastError } from "../../kernel/errors.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import { visibleFacts } from "../../tools/visible-facts.ts";
import type { HealthAnswer } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readQuery } from "./read-query.ts";

/** The engine's report, before it is filtered for the caller. A health request always gets a response, even if the store fails. */
export async function readHealth({ server, store }: ToolBase): Promise<HealthAnswer> {
  try {
    const { engine, durability, facts, warnings } = await server.health(store.namespace);
    return { status: "ok", engine, durability, facts, warnings };
  } catch (error) {
    const says = isHoldfastError(error) ? `${error.code}: ${error.message}` : "the store failed with an unknown error";
    return { status: "error", engine: server.engineName, durability: "unknown while the store cannot be asked", facts: {}, warnings: [{ about: "store", says }] };
  }
}

/** The part of the report that this caller may see. */
export const visibleHealth = ({ server }: ToolBase, health: HealthAnswer): HealthAnswer => ({ ...health, facts: visibleFacts(server, health.facts) });

export const healthRoute: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/health",
  needs: "read",
  async handle({ base, query }) {
    readQuery(query, {});
    return { json: visibleHealth(base, await readHealth(base)) };
  },
};
