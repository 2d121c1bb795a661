import { execFile } from "node:child_process";
import { promisify } from "node:util";
import pg from "pg";
import { expect, test } from "vitest";
import { acquireLease } from "../../src/domain/leases/leases.ts";
import { historyMark, isOtherHistory, keptMark } from "../../src/engines/postgres/history-mark.ts";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine, Store } from "../../src/store/store.ts";
import { freshPostgresUrl, sharedPostgres } from "../support/servers/fresh-url.ts";
import { startPostgres, startReplica } from "../support/servers/postgres-server.ts";
import { serverEnvironment } from "../support/servers/postgres-template.ts";
import { requirePostgresPrograms } from "../support/servers/server-programs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { codeOf, commit, namespace, put } from "./conformance/fixture.ts";

const storeOf = (engine: Engine): Store => openNamespaceStore(engine, namespace, systemClock);

test("after a replica was promoted that lacked commits, no revision and no version is given twice, and health tells", async () => {
  await using primary = await startPostgres();
  await using before = await openPostgresEngine({ url: primary.url });
  await commit(storeOf(before), put("a", 1));
  await using replica = await startReplica(primary);
  await expect.poll(() => replica.query("SELECT revision FROM holdfast.namespace")).toBe("1");
  // From here on the replica learns of nothing more.
  await replica.query("ALTER SYSTEM SET primary_conninfo = ''");
  await replica.query("SELECT pg_reload_conf()");
  await expect.poll(() => primary.query("SELECT count(*) FROM pg_stat_replication")).toBe("0");
  const lost = await commit(storeOf(before), put("a", 2));
  expect(lost).toMatchObject({ revision: 2, writes: [{ version: 2 }] });
  await primary.kill9();
  await replica.promote();

  await using after = await openPostgresEngine({ url: replica.url });
  expect((await after.health(namespace)).warnings).toMatchObject([{ about: "history", says: expect.stringContaining("not the one that was last written to") }]);
  expect((await storeOf(after).read(everything)).entries).toMatchObject([{ value: 1, version: 1, revision: 1 }]);
  const next = await commit(storeOf(after), put("a", 3));
  const base = next.revision - 1;
  expect(base).toBeGreaterThanOrEqual(1_000_000_000);
  expect(next.writes[0]?.version).toBe(base + 1);
  // Who holds what was lost is told so instead of being given something else.
  expect(await codeOf(storeOf(after).read(everything, { at: 2 }))).toBe("compacted");
  expect(await codeOf(storeOf(after).log({ ranges: [everything], after: 2 }))).toBe("compacted");
  expect((await storeOf(after).log({ ranges: [everything], after: 1 })).rows).toMatchObject([{ revision: base + 1 }]);
  const { facts, warnings } = await after.health(namespace);
  expect(facts).toMatchObject({ base, gaps: [[1, base]] });
  expect(warnings).toMatchObject([{ about: "history", says: expect.stringContaining("went back to revision 1 ") }]);
  // Once is enough.
  expect((await commit(storeOf(after), put("a", 4))).revision).toBe(base + 2);
});

test("a store that was put back to an earlier state under a running process continues above what the process has seen", async () => {
  const url = await freshPostgresUrl();
  const schema = new URL(url).searchParams.get("schema") as string;
  await using engine = await openPostgresEngine({ url });
  const store = storeOf(engine);
  await commit(store, put("a", 1));
  await commit(store, put("a", 2));
  const admin = new pg.Client(await sharedPostgres());
  await admin.connect();
  await admin.query(`BEGIN; DELETE FROM ${schema}.log WHERE place >= 512; UPDATE ${schema}.kv SET place = 256, ver = 1; UPDATE ${schema}.namespace SET revision = 1; COMMIT`);
  await admin.end();
  const next = await commit(store, put("a", 3));
  const base = next.revision - 1;
  expect(base).toBeGreaterThanOrEqual(1_000_000_000);
  expect(next.writes).toMatchObject([{ version: base + 1, existed: true }]);
  expect((await engine.health(namespace)).facts).toMatchObject({ base, gaps: [[1, base]] });
});

/** What `pg_dump` has of a store, and `psql` puts back after the schema was dropped. */
async function dumpSchema(schema: string): Promise<{ restore(): Promise<void> }> {
  const [programs, url, folder] = [await requirePostgresPrograms(), await sharedPostgres(), await temporaryFolder()];
  const run = (program: string, ...args: string[]) =>
    promisify(execFile)(programs.path(program), ["--dbname", url, "--file", `${folder}/dump.sql`, ...args], { env: serverEnvironment });
  await run("pg_dump", `--schema=${schema}`);
  return {
    restore: async () => {
      const admin = new pg.Client(url);
      await admin.connect();
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
      await run("psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1");
    },
  };
}

test.each(["a new process", "a process that was there all the time"])(
  "a dump restored into the same server is noticed by %s: nothing is given twice, and health tells",
  async (who) => {
    const url = await freshPostgresUrl();
    const dumped = new URL(url).searchParams.get("schema") as string;
    await using before = await openPostgresEngine({ url });
    for (const value of [1, 2]) await commit(storeOf(before), put("a", value));
    // Has seen revision 3, as the dump has, and nothing of what follows.
    await using witness = await openPostgresEngine({ url });
    expect((await commit(storeOf(witness), put("a", 3))).revision).toBe(3);
    const dump = await dumpSchema(dumped);
    await commit(storeOf(before), put("a", 4));
    await commit(storeOf(before), put("a", 5));
    const lease = { resource: "deploy", holder: "ann", ttlMs: 60_000 };
    const lost = await acquireLease({ store: storeOf(before), clock: systemClock, writer: "tester" }, lease);
    expect(lost).toMatchObject({ ok: true, token: 6 });
    await dump.restore();

    await using fresh = await openPostgresEngine({ url });
    const engine = who === "a new process" ? fresh : witness;
    expect((await engine.health(namespace)).warnings).toMatchObject([{ about: "history", says: expect.stringContaining("not the one that was last written to") }]);
    const next = await commit(storeOf(engine), put("a", "after"));
    const base = next.revision - 1;
    expect(base).toBeGreaterThanOrEqual(100_000_000);
    expect(next.writes[0]?.version).toBe(base + 1);
    const taken = await acquireLease({ store: storeOf(engine), clock: systemClock, writer: "tester" }, { ...lease, holder: "bob" });
    expect(taken).toMatchObject({ ok: true, token: base + 2 });
    const { facts, warnings } = await engine.health(namespace);
    expect(facts).toMatchObject({ base, gaps: [[3, base]] });
    expect(warnings).toMatchObject([{ about: "history", says: expect.stringContaining("went back to revision 3 ") }]);
    // Once is enough, also for the others.
    expect((await commit(storeOf(before), put("a", "later"))).revision).toBe(base + 3);
  },
);

test("a database that was copied on the same server and takes the place of the first is another history", async () => {
  await using server = await startPostgres();
  {
    await using engine = await openPostgresEngine({ url: server.url });
    await commit(storeOf(engine), put("a", 1));
  }
  const elsewhere = new pg.Client(server.superuserUrl.replace(/[^/]+$/, "template1"));
  await elsewhere.connect();
  await elsewhere.query("CREATE DATABASE copy TEMPLATE holdfast OWNER holdfast");
  {
    await using engine = await openPostgresEngine({ url: server.url });
    expect((await commit(storeOf(engine), put("a", 2))).revision).toBe(2);
  }
  await elsewhere.query("DROP DATABASE holdfast WITH (FORCE)");
  await elsewhere.query("ALTER DATABASE copy RENAME TO holdfast");
  await elsewhere.end();
  await using engine = await openPostgresEngine({ url: server.url });
  expect((await commit(storeOf(engine), put("a", 3))).revision).toBeGreaterThan(100_000_000);
});

test("histories are distinguished by what is known of both, and what was known is kept", () => {
  const known = historyMark("7/00000001/5", { tableOid: 16_400 });
  expect(isOtherHistory(known, known)).toBe(false);
  for (const other of ["8/00000001/5/16400", "7/00000002/5/16400", "7/00000001/6/16400", "7/00000001/5/16401", "///16401"]) {
    expect(isOtherHistory(known, other)).toBe(true);
    expect(keptMark(known, other)).toBe(other);
  }
  const silent = historyMark(null, { tableOid: 16_400 });
  expect(isOtherHistory(known, silent)).toBe(false);
  expect(keptMark(known, silent)).toBe(known);
  expect(keptMark(silent, known)).toBe(known);
  expect(keptMark(null, known)).toBe(known);
});

test("the same server after a crash and a restart is the same history", async () => {
  await using server = await startPostgres();
  await using engine = await openPostgresEngine({ url: server.url });
  await commit(storeOf(engine), put("a", 1));
  await server.kill9();
  await server.restart();
  await using again = await openPostgresEngine({ url: server.url });
  expect(await commit(storeOf(again), put("a", 2))).toMatchObject({ revision: 2, writes: [{ version: 2 }] });
  expect((await again.health(namespace)).warnings).toEqual([]);
});
