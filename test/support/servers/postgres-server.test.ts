import { expect, test } from "vitest";
import { startPostgres, startReplica } from "./postgres-server.ts";

test("a PostgreSQL that is killed with everything it runs forgets nothing it has committed, and returns on its port", async () => {
  await using postgres = await startPostgres({ settings: { max_connections: "33" } });
  await postgres.query("CREATE TABLE rounds (n int)");
  for (let round = 1; round <= 2; round += 1) {
    await postgres.query(`INSERT INTO rounds VALUES (${round})`);
    // A statement in the middle of its work dies with its server, and its transaction with it.
    const interrupted = postgres.query("INSERT INTO rounds SELECT 100 FROM pg_sleep(30)").then(
      () => "done",
      () => "lost",
    );
    await expect.poll(() => postgres.query("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND state = 'active' AND pid <> pg_backend_pid()")).toBe("1");
    await postgres.kill9();
    expect(await interrupted).toBe("lost");
    await expect(postgres.query("SELECT 1")).rejects.toThrow("Connection refused");
    await postgres.restart();
    expect(await postgres.query("SELECT count(*), max(n) FROM rounds")).toBe(`${round}|${round}`);
  }
  expect(await postgres.query("SELECT current_setting('max_connections')")).toBe("33");
});

test("it keeps its default promises, speaks TLS when told to, sorts text as people do, and its ordinary role may make schemas and no more", async () => {
  await using postgres = await startPostgres({ tls: true });
  // psql takes TLS where it is offered.
  expect(await postgres.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")).toBe("t");
  expect(await postgres.query("SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes')")).toBe("on|on|on");
  // Byte order would put Z first: a statement that forgets to ask for it is found out.
  expect(await postgres.query("SELECT string_agg(t, '' ORDER BY t) FROM unnest(ARRAY['a', 'Z', 'b']) AS t")).toBe("abZ");
  expect(
    await postgres.query(
      "SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, has_database_privilege('holdfast', 'holdfast', 'CREATE') FROM pg_roles WHERE rolname = 'holdfast'",
    ),
  ).toBe("f|f|f|f|t");
});

test("a replica follows by streaming and takes writes when promoted after its primary was killed", async () => {
  await using primary = await startPostgres();
  await primary.query("CREATE TABLE followed (n int)");
  await using replica = await startReplica(primary);
  await primary.query("INSERT INTO followed VALUES (7)");
  await expect.poll(() => replica.query("SELECT n FROM followed")).toBe("7");
  await expect(replica.query("INSERT INTO followed VALUES (8)")).rejects.toThrow("read-only");
  await primary.kill9();
  await replica.promote();
  await replica.query("INSERT INTO followed VALUES (8)");
  expect(await replica.query("SELECT sum(n) FROM followed")).toBe("15");
});
