import { mayUse } from "../../domain/identity/principal.ts";
import { isReservedNamespace } from "../../store/namespace-store.ts";
import type { Me } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readQuery } from "./read-query.ts";
import { shareReads } from "./share-reads.ts";

/** At most this many names are listed; other namespaces can be opened by their address. */
export const namespacesListed = 1_000;

/** `namespaces`: all namespaces of the store. */
export function openMeRoute(readOnly: boolean, namespaces: () => Promise<readonly string[]>): ApiRoute {
  const list = shareReads(namespaces);
  return {
    method: "GET",
    path: "/api/me",
    needs: "read",
    async handle({ principal, base, query }) {
      readQuery(query, {});
      const { engineName, version } = base.server;
      const { namespace: defaultNamespace } = base.store;
      const existing = (await list()).filter((name) => name !== defaultNamespace && !isReservedNamespace(name) && mayUse(principal, name));
      const told = existing.slice(0, namespacesListed - 1);
      const omitted = existing.length - told.length;
      const answer: Me = {
        principal: principal.name,
        kind: principal.kind,
        role: principal.role,
        // The default namespace can be used before anything was written to it.
        namespaces: [defaultNamespace, ...told].sort(),
        ...(omitted === 0 ? {} : { namespacesOmitted: omitted }),
        defaultNamespace,
        readOnly,
        version,
        engine: engineName,
      };
      return { json: answer };
    },
  };
}
