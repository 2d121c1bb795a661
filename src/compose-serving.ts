import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { openStore, pageToolsOf, toolsOf } from "./compose.ts";
import type { Config } from "./config.ts";
import { systemUser } from "./config.ts";
import { systemNamespace } from "./domain/keyspace.ts";
import { MemoryEngine } from "./engines/memory/memory-engine.ts";
import type { Clock } from "./kernel/clock.ts";
import { HoldfastError } from "./kernel/errors.ts";
import type { Log } from "./kernel/log.ts";
import { openLog } from "./kernel/log.ts";
import { isLoopbackAddress } from "./kernel/loopback-address.ts";
import { version } from "./kernel/version.ts";
import { maintain } from "./store/maintenance.ts";
import { NamespaceQuota } from "./store/namespace-quota.ts";
import { openReservedStore } from "./store/namespace-store.ts";
import type { Store } from "./store/store.ts";
import type { ApiRoute } from "./surfaces/dashboard/api-route.ts";
import { openApiRoutes } from "./surfaces/dashboard/routes.ts";
import { hasUsableCredential, openAuthenticate } from "./surfaces/http/authenticate.ts";
import { openReadiness } from "./surfaces/http/health-answer.ts";
import type { HttpLimits } from "./surfaces/http/http-limits.ts";
import { httpLimits } from "./surfaces/http/http-limits.ts";
import { openHttpMetrics } from "./surfaces/http/http-metrics.ts";
import { HttpServer } from "./surfaces/http/http-server.ts";
import { openJwtVerifier } from "./surfaces/http/jwt.ts";
import { jwtSettingsOf } from "./surfaces/http/jwt-settings.ts";
import { listen, reachedAt, shownAddress } from "./surfaces/http/listen.ts";
import { openOriginCheck } from "./surfaces/http/request-origin.ts";
import { openChallenges, resourceMetadata } from "./surfaces/http/resource-metadata.ts";
import { Routes } from "./surfaces/http/routes.ts";
import { openStaticFiles } from "./surfaces/http/static-files.ts";
import { Tenants } from "./surfaces/http/tenants.ts";
import type { McpHttpOptions } from "./surfaces/mcp/http/mcp-http.ts";
import { openMcpHttp } from "./surfaces/mcp/http/mcp-http.ts";
import { openAnswerGates } from "./surfaces/mcp/http/open-answer-gates.ts";
import { openLibraryRoutes } from "./surfaces/remote/library-routes.ts";
import { exposition, expositionType } from "./telemetry/exposition.ts";
import { openMeter } from "./telemetry/open-meter.ts";

export interface ServingOptions {
  /** Folder with the built files of the dashboard. */
  readonly dashboardFolder: string;
  readonly log?: Log;
  /** Only tests change these. */
  readonly limits?: Partial<HttpLimits>;
  readonly mcp?: Partial<McpHttpOptions>;
  /** Added to the dashboard's own routes. */
  readonly apiRoutes?: readonly ApiRoute[];
}

/** A listening server. Disposing of it stops it gracefully. */
export interface Serving extends AsyncDisposable {
  /** The URL that callers use. */
  readonly url: string;
  /** The address it listens on. */
  readonly listensOn: string;
  readonly mcpUrl: string;
  readonly address: AddressInfo;
  /** True if callers on this machine need no token. */
  readonly trustsOperator: boolean;
  readonly httpServer: HttpServer;
  /** The reserved namespace that holds the tokens. */
  readonly system: Store;
}

/** Assembles everything that serves HTTP from one configuration. The server is listening when the promise resolves. */
export async function openServing(
  config: Config,
  { dashboardFolder, log = openLog(config.logLevel), limits: given = {}, mcp: mcpOptions = {}, apiRoutes = [] }: ServingOptions,
): Promise<Serving> {
  boundGarbage();
  // Invalid settings are reported before anything is opened.
  const tools = toolsOf(config);
  const jwtSettings = jwtSettingsOf(config);
  const limits = { ...httpLimits, ...given };
  const isLoopback = isLoopbackAddress(config.host);
  const files = await openStaticFiles(dashboardFolder);
  const meter = openMeter();
  const opened = await openStore(config, { stays: true, log, creates: !config.readOnly, meter, traces: true });
  try {
    const { engine } = opened;
    const { clock, server } = opened.base;
    const system = openReservedStore(engine, systemNamespace, clock);
    if (!isLoopback && !(await hasUsableCredential(system, jwtSettings?.issuer))) throw needsCredential(config);
    // Behind a proxy, every caller seems to connect from this machine, and not every proxy sends a header that shows otherwise.
    const names = [...config.allowedHosts.map((host) => host.replace(/:\d+$/, "")), ...(config.publicUrl === undefined ? [] : [new URL(config.publicUrl).hostname])];
    const isPublished = names.some((name) => !isLoopbackAddress(name));
    const trustsOperator = isLoopback && !isPublished && config.auth !== "token";
    const metadata = { issuer: jwtSettings?.issuer, publicUrl: config.publicUrl };
    const challenges = openChallenges(metadata);
    const gates = openAnswerGates(clock, {
      bytesMax: limits.answersBytesMax,
      principalBytesMax: limits.answersPerPrincipalBytesMax,
      reserveBytesMax: limits.answersReserveBytesMax,
      principalWaitingMax: limits.answersWaitingPerPrincipalMax,
    });
    const storeOptions = { ...opened.storeOptions, namespaces: new NamespaceQuota(engine, clock, config.namespacesMax), batchTurn: (writer: string) => gates.enterCommits(writer) };
    const tenants = new Tenants({
      engine,
      clock,
      server,
      tools,
      pageTools: pageToolsOf(config),
      storeOptions,
      defaultNamespace: config.namespace,
      namespacesMax: limits.namespacesMax,
    });
    const passing = config.readOnly ? openPassingEngine(clock, log) : undefined;
    const sessions = passing === undefined ? system : openReservedStore(passing.engine, systemNamespace, clock);
    const mcp = openMcpHttp({ log, clock, sessions, gates, ...mcpOptions });
    const routes = new Routes({
      tenants,
      mcp,
      apiRoutes: [
        ...openApiRoutes({ log, readOnly: config.readOnly, operator: systemUser(), system, namespaces: () => engine.namespaces() }),
        ...openLibraryRoutes({ readOnly: config.readOnly, effectKeepMs: config.effectAgeMs }),
        ...apiRoutes,
      ],
      files,
      challenges,
      gates,
      heartbeatMs: limits.heartbeatMs,
      resourceMetadata: (request) => resourceMetadata(request, metadata),
      metricsText: async () => ({ type: expositionType, text: exposition(await meter.collect()) }),
      readiness: openReadiness({ engine, clock, version }),
    });
    const httpServer = new HttpServer({
      limits,
      rateLimit: config.rateLimit,
      log,
      logsRequests: config.logLevel === "info" || config.logLevel === "debug",
      metrics: openHttpMetrics(meter),
      origins: openOriginCheck({ ...config, loopbackOnly: isLoopback }),
      authenticate: openAuthenticate({
        operator: trustsOperator ? systemUser() : undefined,
        store: system,
        clock,
        log,
        notesUse: !config.readOnly,
        jwt: jwtSettings && openJwtVerifier({ settings: jwtSettings, clock, log }),
        challenges,
      }),
      routes,
      stopMcp: (graceMs) => mcp.stop(graceMs),
    });
    const address = await listen(httpServer.server, config);
    // A name may resolve to any address. The operator is trusted only if no other machine can reach the server.
    if (isLoopback && !isLoopbackAddress(address.address)) {
      await httpServer.stop(0);
      throw new HoldfastError("invalid_input", `--host: ${config.host} resolves to ${address.address}, which other machines can reach; nothing was started`, {
        hint: "Pass an IP address.",
      });
    }
    if (files.count === 0) log("warn", "dashboard_missing", { problem: "The dashboard's files are missing: the package was built without them." });
    const listensOn = shownAddress(address);
    const url = config.publicUrl?.replace(/\/$/, "") ?? reachedAt(address);
    return {
      url,
      listensOn,
      mcpUrl: `${url}/mcp`,
      address,
      trustsOperator,
      httpServer,
      system,
      async [Symbol.asyncDispose]() {
        await httpServer.stop(limits.stopGraceMs);
        await mcp[Symbol.asyncDispose]();
        await passing?.[Symbol.asyncDispose]();
        await opened[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Makes V8 collect once the heap has grown by 40 % since the last collection. By default, the factor depends on the machine's memory: on a large machine, the
 * garbage of a few callers that move megabytes took more memory than everything in use, and collecting it took longer.
 */
const boundGarbage = (): void => setFlagsFromString("--heap-growing-percent=40");

const needsCredential = ({ host, origins }: Config): HoldfastError =>
  new HoldfastError("invalid_input", `${origins.host}: callers that can reach ${host} need a credential, and none exists yet; nothing was started`, {
    hint: "Create one first: holdfast token create --name NAME --role write --namespace NAMESPACE",
  });

/** A read-only server does not write its own data to the store either: its sessions live in this process, with the same maintenance as any store. */
function openPassingEngine(clock: Clock, log: Log): { readonly engine: MemoryEngine } & AsyncDisposable {
  const engine = new MemoryEngine(clock);
  const stop = new AbortController();
  const maintenance = maintain({ engine, clock, log, retention: { ageMs: 0, revisions: 1, tombstones: 0 } }, stop.signal);
  return {
    engine,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await maintenance;
      await engine[Symbol.asyncDispose]();
    },
  };
}
