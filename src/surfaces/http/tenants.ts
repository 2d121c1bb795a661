import type { Principal, Role } from "../../domain/identity/principal.ts";
import { mayUse } from "../../domain/identity/principal.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { NamespaceStoreOptions } from "../../store/namespace-store.ts";
import { isReservedNamespace, openNamespaceStore } from "../../store/namespace-store.ts";
import type { Engine, Store } from "../../store/store.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { ServerFacts, Tool } from "../../tools/tool.ts";
import { Refusal } from "./refusal.ts";

export interface TenantsOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly server: ServerFacts;
  /** The tools that this server offers to MCP clients. */
  readonly tools: readonly Tool[];
  /** The tools for people, who do not pay tokens for each; absent = the same tools. */
  readonly pageTools?: readonly Tool[];
  /** The options for opening each namespace. */
  readonly storeOptions?: NamespaceStoreOptions;
  /** The default namespace for principals that may use every namespace. */
  readonly defaultNamespace: string;
  readonly namespacesMax: number;
}

interface Servers {
  /** For the configured namespace. */
  readonly here: ServerFacts;
  readonly elsewhere: ServerFacts;
}

/** Only the configured namespace has readable copies: in one shared folder, everyone could read another namespace's. */
function serversOf(here: ServerFacts): Servers {
  const { mirror: _, ...elsewhere } = here;
  return { here, elsewhere };
}

/** The part of the store, and the tools, that a principal gets. All principals of this process share one store per namespace, so that their commits share batches. */
export class Tenants {
  readonly #options: TenantsOptions;
  readonly #stores = new Map<string, Store>();
  /** By how much of the store a principal may use: facts about the whole store are hidden from principals of some namespaces. */
  readonly #servers: Readonly<Record<NonNullable<ServerFacts["tellsOf"]>, Servers>>;
  readonly #toolsByRole: ToolsByRole;
  readonly #pageToolsByRole: ToolsByRole;

  constructor(options: TenantsOptions) {
    this.#options = options;
    const { tools, pageTools } = options;
    // Callers are on other machines, so the server cannot see which folder they work in.
    const { surroundings: _, ...server } = options.server;
    this.#servers = { store: serversOf({ ...server, tellsOf: "store" }), namespace: serversOf({ ...server, tellsOf: "namespace" }) };
    this.#toolsByRole = toolsByRole(tools);
    this.#pageToolsByRole = pageTools === undefined ? this.#toolsByRole : toolsByRole(pageTools);
  }

  /** The namespace of a principal that names none. */
  defaultFor({ namespaces }: Principal): string {
    const namespace = namespaces === "*" ? this.#options.defaultNamespace : namespaces[0];
    if (namespace === undefined) throw noNamespace();
    return namespace;
  }

  /** The same error whether the namespace does not exist or the caller may not use it. */
  baseFor(principal: Principal, namespace: string): ToolBase {
    if (!mayUse(principal, namespace) || isReservedNamespace(namespace)) throw noNamespace();
    const servers = this.#servers[principal.namespaces === "*" ? "store" : "namespace"];
    return {
      store: this.#storeOf(namespace),
      clock: this.#options.clock,
      writer: principal.name,
      server: namespace === this.#options.defaultNamespace ? servers.here : servers.elsewhere,
    };
  }

  /** The namespace is in use, or the principal's credential names it. */
  async isKnown({ namespaces }: Principal, store: Store): Promise<boolean> {
    if (namespaces !== "*" || store.namespace === this.#options.defaultNamespace) return true;
    const { revision } = await store.position();
    return revision > 0;
  }

  toolsFor({ role }: Principal): readonly Tool[] {
    return this.#toolsByRole[role];
  }

  /** The tools that the dashboard's pages may call for a principal. */
  pageToolsFor({ role }: Principal): readonly Tool[] {
    return this.#pageToolsByRole[role];
  }

  /** Returns the namespace's store; at the limit, drops the one opened first. Requests that still use a dropped store keep it, and their commits are safe beside those of a new one. */
  #storeOf(namespace: string): Store {
    const known = this.#stores.get(namespace);
    if (known !== undefined) return known;
    const { engine, clock, namespacesMax, storeOptions } = this.#options;
    const store = openNamespaceStore(engine, namespace, clock, storeOptions);
    const [oldest] = this.#stores.keys();
    if (this.#stores.size >= namespacesMax && oldest !== undefined) this.#stores.delete(oldest);
    this.#stores.set(namespace, store);
    return store;
  }
}

type ToolsByRole = Readonly<Record<Role, readonly Tool[]>>;
const toolsByRole = (tools: readonly Tool[]): ToolsByRole => ({
  read: tools.filter((tool) => tool.effect === "read"),
  write: tools.filter((tool) => !isForAdmins(tool)),
  admin: tools,
});

/** Tools that delete a whole namespace at once. */
const isForAdmins = ({ effect, toolset }: Tool): boolean => effect === "destructive" && toolset === "admin";

const noNamespace = (): Refusal => new Refusal("forbidden", "The credential does not allow this namespace.");

const keys = new WeakMap<Principal, string>();

/** The same key for the same principal with the same role, whatever else it was granted. Computed once per principal object. */
export function principalKey(principal: Principal): string {
  const known = keys.get(principal);
  if (known !== undefined) return known;
  const { kind, tokenId = "", name, role } = principal;
  const key = [kind, tokenId, name, role].join("\0");
  keys.set(principal, key);
  return key;
}
