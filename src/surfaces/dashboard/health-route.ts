import { isHoldfastError } from "../../kernel/errors.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { HealthView } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readQuery } from "./read-query.ts";

/** Asking about health is how one finds out: the answer comes whatever the store does. */
export async function readHealthView({ server, store }: ToolBase): Promise<HealthView> {
  try {
    const { engine, durability, facts, warnings } = await server.engine.health(store.namespace);
    return { status: "ok", engine, durability, facts, warnings };
  } catch (error) {
    const says = isHoldfastError(error) ? `${error.code}: ${error.message}` : "the store failed in a way Holdfast does not know";
    return { status: "error", engine: server.engine.name, durability: "unknown while the store cannot be asked", facts: {}, warnings: [{ about: "store", says }] };
  }
}

export const healthRoute: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/health",
  needs: "read",
  async handle({ base, query }) {
    readQuery(query, {});
    return { json: await readHealthView(base) };
  },
};
