import { mayUse } from "../../domain/identity/principal.ts";
import { isReservedNamespace } from "../../store/namespace-store.ts";
import type { Engine } from "../../store/store.ts";
import type { Me } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readQuery } from "./read-query.ts";
import { shareReads } from "./share-reads.ts";

/** Names in one answer; the others are reached by their address. */
export const namespacesListed = 1_000;

export function openMeRoute(readOnly: boolean): ApiRoute {
  const listings = new WeakMap<Engine, () => Promise<readonly string[]>>();
  const listingOf = (engine: Engine): (() => Promise<readonly string[]>) => {
    const known = listings.get(engine);
    if (known !== undefined) return known;
    const list = shareReads(() => engine.namespaces());
    listings.set(engine, list);
    return list;
  };
  return {
    method: "GET",
    path: "/api/me",
    needs: "read",
    async handle({ principal, base, query }) {
      readQuery(query, {});
      const { engine, version } = base.server;
      const { namespace: defaultNamespace } = base.store;
      const existing = (await listingOf(engine)()).filter((name) => name !== defaultNamespace && !isReservedNamespace(name) && mayUse(principal, name));
      const told = existing.slice(0, namespacesListed - 1);
      const omitted = existing.length - told.length;
      const answer: Me = {
        principal: principal.name,
        kind: principal.kind,
        role: principal.role,
        // The default one is there to be used, also before anything was written to it.
        namespaces: [defaultNamespace, ...told].sort(),
        ...(omitted === 0 ? {} : { namespacesOmitted: omitted }),
        defaultNamespace,
        readOnly,
        version,
        engine: engine.name,
      };
      return { json: answer };
    },
  };
}
