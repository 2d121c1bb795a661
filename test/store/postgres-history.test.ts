import pg from "pg";
import { expect, test } from "vitest";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine, Store } from "../../src/store/store.ts";
import { freshPostgresUrl, sharedPostgres } from "../support/servers/fresh-url.ts";
import { startPostgres, startReplica } from "../support/servers/postgres-server.ts";
import { codeOf, commit, namespace, put } from "./conformance/fixture.ts";

const storeOf = (engine: Engine): Store => openNamespaceStore(engine, namespace, systemClock);

test("after a replica was promoted that lacked commits, no revision and no version is given twice, and health tells", { timeout: 60_000 }, async () => {
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
  expect((await after.health(namespace)).warnings).toMatchObject([{ about: "history", says: expect.stringContaining("Another server") }]);
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

test("a store that was put back to an earlier state under a running process goes on above what the process has seen", async () => {
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

test("the same server after a crash and a restart is the same history", { timeout: 30_000 }, async () => {
  await using server = await startPostgres();
  await using engine = await openPostgresEngine({ url: server.url });
  await commit(storeOf(engine), put("a", 1));
  await server.kill9();
  await server.restart();
  await using again = await openPostgresEngine({ url: server.url });
  expect(await commit(storeOf(again), put("a", 2))).toMatchObject({ revision: 2, writes: [{ version: 2 }] });
  expect((await again.health(namespace)).warnings).toEqual([]);
});
