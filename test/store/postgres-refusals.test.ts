import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { HoldfastError } from "../../src/kernel/errors.ts";
import { loopbackCertificate } from "../support/servers/loopback-certificate.ts";
import type { PostgresServer } from "../support/servers/postgres-server.ts";
import { startPostgres, startReplica } from "../support/servers/postgres-server.ts";
import { soon } from "../support/soon.ts";
import { commitBatch, commitOf, committed, namespace, put } from "./conformance/fixture.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ tls: true });
});
afterAll(() => server[Symbol.asyncDispose]());

/** The refusal of an opening; with the fix in it, and without anything secret. */
async function refusalOf(url: string): Promise<HoldfastError> {
  const error = await openEngine(url).then(
    async (engine) => {
      await engine[Symbol.asyncDispose]();
      return new Error("It was opened.");
    },
    (reason: unknown) => reason,
  );
  if (!(error instanceof HoldfastError)) throw error;
  expect(error.hint).toBeTruthy();
  for (const text of [inspect(error, { depth: 9 }), JSON.stringify(error.details ?? {})])
    for (const secret of ["holdfast-secret", "super-secret", "wrong-secret"]) expect(text).not.toContain(secret);
  return error;
}

const as = (name: string, password: string, query = ""): string => `postgres://${name}:${password}@127.0.0.1:${server.port}/holdfast${query}`;

test("a wrong password, an unknown user and no password name the cause", async () => {
  for (const url of [as("holdfast", "wrong-secret"), as("nobody_here", "wrong-secret"), `postgres://holdfast@127.0.0.1:${server.port}/holdfast`]) {
    const { code, message, hint } = await refusalOf(url);
    expect(code).toBe("store_unsupported");
    expect(message).toContain("rejected this user");
    expect(hint).toMatch(/password.*pg_hba/s);
  }
});

test("a URL without a user names what is missing", async () => {
  expect(await refusalOf(`postgres://127.0.0.1:${server.port}/holdfast`)).toMatchObject({
    code: "store_unsupported",
    message: expect.stringContaining("names no user"),
    hint: expect.stringContaining("postgres://USER:PASSWORD@"),
  });
});

test("a database that does not exist, a closed port and a host without an address are distinguished", async () => {
  expect(await refusalOf(`postgres://holdfast:holdfast-secret@127.0.0.1:${server.port}/elsewhere`)).toMatchObject({
    code: "store_unsupported",
    hint: expect.stringContaining("createdb"),
  });
  expect(await refusalOf("postgres://holdfast:holdfast-secret@127.0.0.1:1/holdfast")).toMatchObject({ code: "unavailable", message: expect.stringContaining("ECONNREFUSED") });
  expect(await refusalOf("postgres://holdfast:holdfast-secret@no-such-host.invalid/holdfast?deadline=3s")).toMatchObject({ code: "unavailable" });
});

test("TLS is used where the URL asks for it, a certificate that cannot be checked is refused, and a server without TLS says so", async () => {
  const { certFile } = await loopbackCertificate();
  for (const query of ["?sslmode=require&schema=tls_1", `?sslmode=verify-full&sslrootcert=${certFile}&schema=tls_1`]) {
    await using engine = await openEngine(`${server.url}${query}`);
    expect((await engine.health(namespace)).facts).toMatchObject({ encrypted: true });
  }
  expect(await refusalOf(`${server.url}?sslmode=verify-full`)).toMatchObject({ code: "store_unsupported", hint: expect.stringContaining("sslrootcert") });
  await using plain = await startPostgres();
  expect(await refusalOf(`${plain.url}?sslmode=require`)).toMatchObject({ code: "store_unsupported", hint: expect.stringContaining("sslmode=disable") });
});

test("a server that is too old is refused with the version that is needed", async () => {
  await expect(openPostgresEngine({ url: server.url, oldestVersion: 990_000 })).rejects.toMatchObject({
    code: "store_unsupported",
    message: expect.stringMatching(/PostgreSQL 15\..*needs 99 or newer/),
  });
});

test("a role without the right to create the schema gets the grant in the error; with the schema made for it, it works", async () => {
  await server.query("CREATE ROLE modest LOGIN PASSWORD 'modest-secret'");
  const url = as("modest", "modest-secret", "?schema=modest_store");
  expect(await refusalOf(url)).toMatchObject({ code: "store_unsupported", hint: expect.stringContaining("CREATE SCHEMA holdfast AUTHORIZATION") });
  await server.query("CREATE SCHEMA modest_store AUTHORIZATION modest");
  await using engine = await openEngine(url);
  committed((await commitBatch(engine, [commitOf(put("a"))]))[0]);
});

test("the least role of the documentation does everything but make tables, and what it may not do is named", async () => {
  const url = `${server.url}?schema=least`;
  await (await openEngine(url))[Symbol.asyncDispose]();
  await server.query("CREATE ROLE least LOGIN PASSWORD 'least-secret'");
  await server.query("GRANT USAGE ON SCHEMA least TO least");
  const asLeast = as("least", "least-secret", "?schema=least");
  expect(await refusalOf(asLeast)).toMatchObject({ code: "store_unsupported", hint: expect.stringContaining("GRANT SELECT, INSERT, UPDATE, DELETE") });
  await server.query("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA least TO least");
  await using engine = await openEngine(asLeast);
  const index = { area: "notes", terms: [["word", 100]] as const, length: 1 };
  committed((await commitBatch(engine, [commitOf([put("a", 1, { ttlMs: 1 }), put("b", 2, { index })])]))[0]);
  await expect.poll(() => engine.sweep(namespace, 10)).toBe(1);
  expect((await engine.compact(namespace, { ageMs: 0, revisions: 0, tombstones: 0 }, 100)).removed).toBe(2);
  expect((await engine.search(namespace, { areas: ["notes"], terms: ["word"] })).hits).toHaveLength(1);
  await engine.seal(namespace, { state: "filling", progress: null });
  await engine.clear(namespace);
  // Without more rights than these, the server still tells which history it is: a promoted replica is noticed.
  expect((await engine.health(namespace)).facts.history).toMatch(/^\d+\/[0-9A-F]{8}\/\d+\/\d*$/);
  expect((await engine.health(namespace)).warnings).toEqual([]);
});

test("a role that may only read gets from health the grant for writing", async () => {
  const owned = `${server.url}?schema=seen_only`;
  await using owner = await openEngine(owned);
  committed((await commitBatch(owner, [commitOf(put("a"))]))[0]);
  await server.query("CREATE ROLE \"Reader\" LOGIN PASSWORD 'reader-secret'");
  await server.query('GRANT USAGE ON SCHEMA seen_only TO "Reader"; GRANT SELECT ON ALL TABLES IN SCHEMA seen_only TO "Reader"');
  await using engine = await openEngine(as("Reader", "reader-secret", "?schema=seen_only"));
  expect((await engine.read(namespace, [{ start: "" }], {})).entries).toHaveLength(1);
  await expect(commitBatch(engine, [commitOf(put("b"))])).rejects.toMatchObject({ code: "store_unsupported" });
  const [warning, ...others] = (await engine.health(namespace)).warnings;
  expect(others).toEqual([]);
  expect(warning?.about).toBe("rights");
  expect(warning?.says).toMatch(/lacks DELETE, INSERT, UPDATE on area, .*kv, log, namespace/);
  expect(warning?.says).toContain('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA seen_only TO "Reader"');

  await server.query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA seen_only TO "Reader"; REVOKE DELETE ON seen_only.log FROM "Reader"');
  expect((await engine.health(namespace)).warnings).toMatchObject([{ about: "rights", says: expect.stringContaining("lacks DELETE on log:") }]);
  await server.query('GRANT DELETE ON seen_only.log TO "Reader"');
  expect((await engine.health(namespace)).warnings).toEqual([]);
  committed((await commitBatch(engine, [commitOf(put("b"))]))[0]);
});

test("a newer schema, another program's tables and a store with a table missing are left alone", async () => {
  const url = `${server.url}?schema=later`;
  await (await openEngine(url))[Symbol.asyncDispose]();
  await server.query("UPDATE later.meta SET value = '2' WHERE name = 'schema_version'");
  expect(await refusalOf(url)).toMatchObject({ code: "store_newer", details: { schema_version: 2, newest_known: 1 } });
  await server.query("UPDATE later.meta SET value = '1' WHERE name = 'schema_version'");
  await server.query("DROP TABLE later.tombstone");
  expect(await refusalOf(url)).toMatchObject({ code: "store_damaged", message: expect.stringContaining("tombstone") });

  await server.query("CREATE SCHEMA theirs AUTHORIZATION holdfast");
  await server.query("CREATE TABLE theirs.log (id int)");
  expect(await refusalOf(`${server.url}?schema=theirs`)).toMatchObject({ code: "store_damaged", details: { foreign: true } });
  expect(await server.query("SELECT count(*) FROM pg_class WHERE relnamespace = 'theirs'::regnamespace AND relkind = 'r'")).toBe("1");
});

test("an older schema is brought up to date in one step, and a step that fails leaves it as it was", async () => {
  const { migrations } = await import("../../src/engines/postgres/schema.ts");
  const url = `${server.url}?schema=growing`;
  await using before = await openPostgresEngine({ url });
  committed((await commitBatch(before, [commitOf(put("a", 1))]))[0]);
  const broken = [...migrations, () => 'CREATE TABLE "growing".extra (id int); SELECT 1 / 0'];
  await expect(openPostgresEngine({ url, migrations: broken })).rejects.toBeInstanceOf(HoldfastError);
  expect(await server.query("SELECT value FROM growing.meta WHERE name = 'schema_version'")).toBe("1");
  expect(await server.query("SELECT count(*) FROM pg_class WHERE relname = 'extra'")).toBe("0");
  await using after = await openPostgresEngine({ url, migrations: [...migrations, () => 'CREATE TABLE "growing".extra (id int)'] });
  expect((await after.read(namespace, [{ start: "" }], {})).entries).toHaveLength(1);
  expect((await after.health(namespace)).facts).toMatchObject({ schema_version: 2 });
  expect(await refusalOf(url)).toMatchObject({ code: "store_newer" });
});

test("a replica says what to do instead of taking writes, and a read-only session is no store", async () => {
  await using replica = await startReplica(server);
  expect(await refusalOf(replica.url)).toMatchObject({ code: "unavailable", message: expect.stringContaining("recovery"), hint: expect.stringContaining("primary") });
  await server.query("CREATE ROLE looker LOGIN PASSWORD 'looker-secret'");
  await server.query("CREATE SCHEMA looker_store AUTHORIZATION looker");
  await server.query("ALTER ROLE looker SET default_transaction_read_only = on");
  expect(await refusalOf(as("looker", "looker-secret", "?schema=looker_store"))).toMatchObject({ code: "unavailable", message: expect.stringContaining("read-only") });
});

test("a server without room for more connections is named, and the store works when there is room", async () => {
  await using small = await startPostgres({ settings: { max_connections: "4", superuser_reserved_connections: "1" } });
  await using engine = await soon(() => openEngine(`${small.url}?pool=8&deadline=2s`));
  const results = await Promise.allSettled(Array.from({ length: 12 }, (_, i) => engine.commit(`space ${i}`, [])));
  const refusals = results.flatMap((result) => (result.status === "rejected" ? [result.reason as HoldfastError] : []));
  expect(refusals.length).toBeGreaterThan(0);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ code: "unavailable", message: expect.stringContaining("no more connections"), hint: expect.stringContaining("max_connections") });
  committed((await commitBatch(engine, [commitOf(put("a"))]))[0]);
});
