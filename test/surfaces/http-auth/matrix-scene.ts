import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { NewToken } from "../../../src/domain/identity/tokens.ts";
import { listTokens, revokeToken } from "../../../src/domain/identity/tokens.ts";
import { openEngine } from "../../../src/engines/open-store.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { everything } from "../../../src/store/ranges.ts";
import { openApiRoutes } from "../../../src/surfaces/dashboard/routes.ts";
import { openLibraryRoutes } from "../../../src/surfaces/remote/library-routes.ts";
import { catalog } from "../../../src/tools/catalog.ts";
import type { HttpServer, HttpServerOptions } from "../../support/http-server.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { audience, startIssuer } from "./issuer.ts";
import type { Caller, MatrixOptions, MatrixResult } from "./matrix.ts";
import { canaryOf, namespaces, runMatrix } from "./matrix.ts";

const everywhere = "*" as const;
const credentials: readonly { readonly name: string; readonly token: Pick<NewToken, "role" | "namespaces"> }[] = (["read", "write", "admin"] as const).flatMap((role) => [
  { name: `${role} token`, token: { role, namespaces: [namespaces.own] } },
  { name: `${role} token for everywhere`, token: { role, namespaces: everywhere } },
]);

/** A server with two namespaces full of data, an issuer, and a caller of every kind. */
export async function openScene({ flags = {}, ...options }: HttpServerOptions = {}) {
  const issuer = await startIssuer();
  const folder = await temporaryFolder();
  const store = `sqlite:${join(folder, "store.db")}`;
  const dashboardFolder = join(folder, "page");
  await mkdir(dashboardFolder);
  await writeFile(join(dashboardFolder, "index.html"), "<!doctype html><title>Holdfast</title>");
  const shared = { store, auth: "token", namespace: namespaces.own, "rate-limit": "1000000", "jwt-issuer": issuer.url, "jwt-audience": audience, "jwt-jwks-url": issuer.jwksUrl };
  const server = await startHttpServer({ flags: { ...shared, ...flags }, dashboardFolder, ...options });
  onTestFinished(() => server.stop());
  const engine = await openEngine(store);
  onTestFinished(() => engine[Symbol.asyncDispose]());
  const callers = await callersOf(server, issuer);
  await fill(server, callers);
  const matrix = (more: Partial<MatrixOptions> = {}): Promise<MatrixResult> =>
    runMatrix({
      port: server.port,
      readOnly: false,
      tools: catalog,
      apiRoutes: [
        ...openApiRoutes({ log: silentLog, readOnly: false, operator: "operator", system: server.serving.system, namespaces: () => engine.namespaces() }),
        ...openLibraryRoutes({ readOnly: false, effectKeepMs: 60_000 }),
      ],
      callers,
      marks: async () => ({ own: await markOf(namespaces.own), foreign: await markOf(namespaces.foreign) }),
      ...more,
    });
  const markOf = async (namespace: string): Promise<string> => String((await engine.read(namespace, [everything], { limit: 1 })).revision);
  return { server, engine, callers, matrix, shared, dashboardFolder };
}

async function callersOf(server: HttpServer, issuer: Awaited<ReturnType<typeof startIssuer>>): Promise<readonly Caller[]> {
  const bearer = (secret: string): Pick<Caller, "headers"> => ({ headers: { authorization: `Bearer ${secret}` } });
  const valid: Caller[] = [];
  for (const { name, token } of credentials)
    valid.push({ name, ...bearer(await server.token({ name, ...token })), grants: { role: token.role, everywhere: token.namespaces === everywhere } });
  const expired = await server.token({ name: "expired", role: "admin", namespaces: everywhere, ttlMs: 1 });
  const revoked = await server.token({ name: "revoked", role: "admin", namespaces: everywhere });
  const scope = { store: server.serving.system, clock: { nowMs: Date.now } as never, writer: "tester" };
  await revokeToken(scope, (await listTokens(scope)).find(({ name }) => name === "revoked")?.id as string);
  const admin = await server.token({ name: "in the wrong place", role: "admin", namespaces: everywhere });
  const claims = { holdfast_namespaces: [namespaces.own], scope: "holdfast:write" };
  return [
    { name: "nobody" },
    { name: "malformed credential", headers: { authorization: "Bearer" } },
    { name: "wrong token", ...bearer(`hf_${"A".repeat(43)}`) },
    { name: "expired token", ...bearer(expired) },
    { name: "revoked token", ...bearer(revoked) },
    { name: "token in the query", isVariant: true, query: `token=${admin}&access_token=${admin}` },
    { name: "token in a cookie", isVariant: true, headers: { cookie: `token=${admin}; authorization=Bearer ${admin}` } },
    ...valid,
    { name: "write JWT", ...bearer(await issuer.sign(claims)), grants: { role: "write", everywhere: false } },
    { name: "JWT for another audience", isVariant: true, ...bearer(await issuer.sign({ ...claims, aud: "https://other.example.com" })) },
    { name: "forged JWT", isVariant: true, ...bearer(await issuer.forge({ ...claims, scope: "holdfast:admin" })) },
  ];
}

/** The same things in both namespaces, each with its canary in every text. */
async function fill(server: HttpServer, callers: readonly Caller[]): Promise<void> {
  const token = callers.find(({ name }) => name === "admin token for everywhere")?.headers?.authorization?.slice("Bearer ".length);
  for (const place of ["own", "foreign"] as const) {
    const canary = canaryOf(place);
    const calls: readonly (readonly [string, Record<string, unknown>])[] = [
      ["state_set", { key: "color", value: canary }],
      ["state_set", { key: `key-${canary}`, value: 1 }],
      ["workflow_create", { name: canary, run_id: "run-of-the-matrix", input: canary }],
      ["workflow_create", { name: canary }],
      ["lease_acquire", { resource_id: "held", holder_id: "holder", ttl_seconds: 3_600 }],
      ["lease_acquire", { resource_id: canary, holder_id: canary, ttl_seconds: 3_600 }],
      ["session_save", { session_id: "session", context: { canary } }],
      ["checkpoint", { action: "save", description: canary, workspace: "matrix" }],
      ["save_checkpoint", { core_question: canary, thesis: canary, confidence: 0.5 }],
      ["save_knowledge", { id: "note", content: canary }],
    ];
    for (const [name, args] of calls) {
      const answer = await server.callTool(name, args, { token, path: `/ns/${namespaces[place]}/mcp` });
      if (!JSON.stringify(answer).includes('"isError":false') && JSON.stringify(answer).includes("error")) throw new Error(`${name} failed: ${JSON.stringify(answer)}`);
    }
  }
}

const summary = ({ requests, byVerdict }: MatrixResult): string =>
  `${requests} requests: ${Object.entries(byVerdict)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(", ")}`;

/** The whole matrix on a server that writes; how much it looked at is for the caller to judge. */
export async function checkMatrix(options: Pick<MatrixOptions, "everyCaller"> = {}): Promise<MatrixResult> {
  const { matrix } = await openScene();
  const result = await matrix(options);
  console.info(`authorisation matrix: ${summary(result)}, ${result.leaks.length} leaks`);
  expect(result.leaks.slice(0, 40)).toEqual([]);
  // It looked at every kind of answer.
  for (const verdict of ["answered", "unauthenticated", "forbidden", "unknown tool"]) expect(result.byVerdict[verdict], verdict).toBeGreaterThan(100);
  return result;
}

/** The whole matrix on a read-only server: nothing may change. */
export async function checkReadOnlyMatrix(options: Pick<MatrixOptions, "everyCaller"> = {}): Promise<MatrixResult> {
  const { server: writable, engine, callers, shared, matrix, dashboardFolder } = await openScene();
  // It would sweep expired tokens meanwhile.
  await writable.stop();
  const marks = async () => Promise.all((await engine.namespaces()).map(async (name) => [name, (await engine.read(name, [everything], { limit: 1 })).revision]));
  const before = await marks();
  const server = await startHttpServer({ flags: { ...shared, "read-only": true }, dashboardFolder });
  onTestFinished(() => server.stop());
  // Those without a credential are refused as on the other server; two of them show it.
  const result = await matrix({
    port: server.port,
    readOnly: true,
    callers: callers.filter(({ name, grants }) => grants !== undefined || name === "nobody" || name === "expired token"),
    ...options,
  });
  console.info(`authorisation matrix, read-only: ${summary(result)}, ${result.leaks.length} leaks`);
  expect(result.leaks.slice(0, 40)).toEqual([]);
  expect(await marks()).toEqual(before);
  return result;
}
