import { answerTextMax } from "../../domain/answer-text.ts";
import { hasRole } from "../../domain/identity/principal.ts";
import type { WaitedState } from "../../domain/state/state.ts";
import { waitForState } from "../../domain/state/state.ts";
import { linkedAbort } from "../../kernel/linked-abort.ts";
import { version } from "../../kernel/version.ts";
import { meteredStore } from "../../store/metered-store.ts";
import type { Scope } from "../../store/transact.ts";
import type { SecretMode } from "../../tools/secret-switch.ts";
import { requireNoSecret, withoutSecrets } from "../../tools/secret-switch.ts";
import { visibleFacts } from "../../tools/visible-facts.ts";
import type { ApiRequest, ApiRoute } from "../dashboard/api-route.ts";
import { readBody } from "../dashboard/read-body.ts";
import { readQuery } from "../dashboard/read-query.ts";
import { bindDomain } from "../library/bind-domain.ts";
import type { LibraryMethodName } from "../library/library-methods.ts";
import { callArguments, libraryMethodNames, libraryMethods } from "../library/library-methods.ts";
import { methodSchema } from "./method-schemas.ts";
import { watchEvents } from "./watch-events.ts";

/** The server's answer when a client connects. */
export interface LibraryHello {
  readonly namespace: string;
  readonly version: string;
  /** The methods that this credential may call on this server. */
  readonly methods: readonly LibraryMethodName[];
}

export interface LibraryRoutesOptions {
  /** Leaves out every route that would change something. */
  readonly readOnly: boolean;
  /** How long the records of ended effects are kept, unless a call sets it. */
  readonly effectKeepMs: number;
}

const place = "/api/ns/:namespace/library";

/**
 * Serves the library over HTTP to programs on other machines. Each method has its own route, so that the server checks role and namespace before it reads a
 * body, and a read-only server has no route that changes anything.
 */
export function openLibraryRoutes({ readOnly, effectKeepMs }: LibraryRoutesOptions): readonly ApiRoute[] {
  const offered = libraryMethodNames.filter((name) => !readOnly || libraryMethods[name].needs === "read");
  return [...[place, "/api/library"].map((path) => helloRoute(path, offered)), ...offered.map((name) => methodRoute(name, effectKeepMs))];
}

const helloRoute = (path: string, offered: readonly LibraryMethodName[]): ApiRoute => ({
  method: "GET",
  path,
  needs: "read",
  async handle({ base, principal, query }) {
    readQuery(query, {});
    const hello: LibraryHello = { namespace: base.store.namespace, version, methods: offered.filter((name) => hasRole(principal, libraryMethods[name].needs)) };
    return { json: hello };
  },
});

function methodRoute(name: LibraryMethodName, effectKeepMs: number): ApiRoute {
  const { needs } = libraryMethods[name];
  const schema = methodSchema(name);
  return {
    method: "POST",
    path: `${place}/${name}`,
    needs,
    isMetered: true,
    async handle(request) {
      readQuery(request.query, {});
      const { secrets } = request.base.server;
      const sent = await readBody(request, name, schema);
      const given = secrets === undefined || needs === "read" ? sent : cleanedArguments(name, sent, secrets);
      if (name === "state.watch") return { events: await watchEvents(request, given) };
      const result = name === "health" ? await readHealth(request) : await callMethod(name, request, given, effectKeepMs);
      // JSON has no undefined, so a missing result is omitted.
      return { json: { result } };
    },
  };
}

/** Removes secrets from the values to be stored. An effect's arguments stay unchanged, because they identify it and are not stored; only `shownArgs` is. */
function cleanedArguments(name: LibraryMethodName, { requestKey, ...sent }: Readonly<Record<string, unknown>>, mode: SecretMode): Readonly<Record<string, unknown>> {
  if (typeof requestKey === "string") requireNoSecret(requestKey, "requestKey");
  // Content in base64: what looks like a secret there is chance, and replacing it would destroy the content.
  if (name === "blobs.putChunks" || name === "blobs.assemble") return { ...sent, requestKey };
  if (name === "effects.begin" && mode === "redact") {
    const { args, shownArgs = args, ...others } = sent;
    return { ...withoutSecrets({ ...others, shownArgs }, mode), args, requestKey };
  }
  // The effect has happened, so its report is redacted instead of rejected.
  return { ...withoutSecrets(sent, name === "effects.finish" ? "redact" : mode), requestKey };
}

async function callMethod(
  name: LibraryMethodName,
  request: ApiRequest,
  { agent, requestKey, ...given }: Readonly<Record<string, unknown>>,
  effectKeepMs: number,
): Promise<unknown> {
  const { store, clock, writer, server } = request.base;
  const scope = { store: meteredStore(store, request.gate), clock, writer };
  if (name === "state.waitFor") return waiting(request, (signal) => waitPart({ ...scope, signal }, given as unknown as WaitPart));
  const bound = bindDomain({
    scope,
    agent: agent as string | undefined,
    claimTtlMs: server.claimTtlMs,
    effectKeepMs,
    surroundings: server.surroundings,
    journalTtlMs: server.journalTtlMs,
    mirror: server.mirror,
    listCharactersMax: answerTextMax,
  });
  const [group, method] = name.split(".") as [keyof typeof bound, string | undefined];
  const perform = (method === undefined ? bound[group] : (bound[group] as unknown as Record<string, unknown>)[method]) as (...args: readonly unknown[]) => Promise<unknown>;
  const call = (signal?: AbortSignal): Promise<unknown> =>
    perform(...callArguments(name, given, { agent, [name === "effects.begin" ? "nonce" : "requestKey"]: requestKey, signal }));
  return name === "leases.acquire" && given.waitMs !== undefined ? waiting(request, call) : call();
}

interface WaitPart {
  readonly key: string;
  readonly versionAbove: number;
  readonly timeoutMs: number;
  readonly wasThere?: boolean;
}

/** The answer includes `hasHappened`, which shows the client whether it has to wait again. */
const waitPart = (scope: Scope, { key, versionAbove, timeoutMs, wasThere }: WaitPart): Promise<WaitedState> => waitForState(scope, key, versionAbove, timeoutMs, wasThere);

/** Counts the call as waiting, and ends it when its caller disconnects or the server needs its slot. */
async function waiting(request: ApiRequest, call: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const over = linkedAbort(request.signal);
  const close = request.openWait(() => over.abort());
  try {
    return await call(over.signal);
  } finally {
    over.unlink();
    close();
  }
}

/** Returns only the facts that this caller may see. */
async function readHealth({ base: { server, store } }: ApiRequest): Promise<unknown> {
  const health = await server.health(store.namespace);
  return { ...health, facts: visibleFacts(server, health.facts) };
}
