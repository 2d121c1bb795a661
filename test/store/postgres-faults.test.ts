import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { openHoldfast } from "../../src/index.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { HoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine, Store } from "../../src/store/store.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { timed } from "../support/in-time.ts";
import { OwnPostgres } from "../support/servers/own-postgres.ts";
import { startPostgres } from "../support/servers/postgres-server.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import { codeOf, commit, commitBatch, commitOf, committed, namespace, put } from "./conformance/fixture.ts";

const own = new OwnPostgres();
const freshUrl = (query?: string): string => own.freshUrl(query);
const storeOf = (engine: Engine): Store => openNamespaceStore(engine, namespace, systemClock);

const reasonOf = (result: PromiseSettledResult<unknown>): HoldfastError => (result as PromiseRejectedResult).reason as HoldfastError;

test("a server that was killed and came back is used again by itself, and nothing acknowledged is lost", async () => {
  await using engine = await openPostgresEngine({ url: freshUrl("&deadline=5s") });
  const store = storeOf(engine);
  for (let round = 1; round <= 2; round += 1) {
    await commit(store, put("a", round));
    await own.server.kill9();
    expect(await codeOf(store.read(everything))).toBe("unavailable");
    expect(await codeOf(store.commit(commitOf(put("a", "lost"))))).toBe("unavailable");
    await own.server.restart();
    const back = expect
      .poll(() =>
        store.read(everything).then(
          ({ entries }) => entries,
          () => undefined,
        ),
      )
      .toMatchObject([{ value: round, version: round }]);
    const { ms, result } = await timed(back);
    if (result.status === "rejected") throw result.reason;
    expect(ms).toBeLessThan(5_000);
  }
});

test("a polite restart between two calls is not noticed by the second: idle connections that died are replaced", async () => {
  await using engine = await openPostgresEngine({ url: freshUrl() });
  await commit(storeOf(engine), put("a", 1));
  await own.server.stop();
  await own.server.restart();
  await commit(storeOf(engine), put("a", 2));
  expect((await storeOf(engine).read(everything)).entries).toMatchObject([{ value: 2 }]);
});

test("a server that hears and does not answer costs a caller the deadline and no more: reads and unsent commits are unavailable, a sent commit is unknown", async () => {
  const url = freshUrl("&deadline=2s");
  await using proxy = await FaultProxy.open(own.server.port);
  await using engine = await openPostgresEngine({ url: proxy.urlFor(url) });
  const store = storeOf(engine);
  await commit(store, put("a", 1));

  await proxy.set({ kind: "black-hole" });
  for (const call of [() => store.read(everything), () => store.commit(commitOf(put("a", 2)))]) {
    const { ms, result } = await timed<unknown>(call());
    expect(reasonOf(result)).toMatchObject({ code: "unavailable" });
    expect(ms).toBeLessThan(2_800);
  }
  await proxy.heal();
  await expect.poll(() => codeOrOk(store.read(everything))).toBe("ok");
  expect((await store.read(everything)).entries).toMatchObject([{ value: 1 }]);
});

const codeOrOk = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: HoldfastError) => error.code,
  );

test("an answer that is cut off is the truth, or nothing changed, or unknown; the same request key then tells the truth", async () => {
  const url = freshUrl("&deadline=2s&pool=1");
  await using proxy = await FaultProxy.open(own.server.port);
  await using engine = await openPostgresEngine({ url: proxy.urlFor(url) });
  await using direct = await openPostgresEngine({ url });
  const store = storeOf(engine);
  await commit(store, put("warm", 0));
  const seen = new Set<string>();
  const cutAt = async (afterBytes: number): Promise<void> => {
    await codeOrOk(store.read(everything));
    await proxy.set({ kind: "cut-answers", afterBytes, times: 1 });
    const key = `cut ${afterBytes}`;
    const request = { key, fingerprint: "f", note: null };
    const code = await codeOrOk(store.commit(commitOf(put(key, afterBytes), { request })));
    await proxy.heal();
    seen.add(code);
    const there = (await direct.read(namespace, [{ start: key, end: `${key}\0` }], {})).entries.length;
    if (code === "ok") expect(there).toBe(1);
    if (code === "unavailable") expect(there).toBe(0);
    // Asked again, it happens once, whatever the first answer was.
    await expect.poll(() => codeOrOk(store.commit(commitOf(put(key, afterBytes), { request })))).toBe("ok");
    expect((await direct.read(namespace, [{ start: key, end: `${key}\0` }], {})).entries).toMatchObject([{ version: 1 }]);
  };
  // The whole dialogue of a commit has some 600 bytes of answers: cut at every part of it, and in between, until one was cut where its answer lies.
  for (let round = 0; round < 9 && (round === 0 || !seen.has("outcome_unknown")); round += 1)
    for (let afterBytes = round * 5; afterBytes <= 900; afterBytes += 45) await cutAt(afterBytes);
  expect([...seen].sort()).toEqual(expect.arrayContaining(["ok", "outcome_unknown"]));
  for (const code of seen) expect(["ok", "unavailable", "outcome_unknown"]).toContain(code);
});

test.each([
  ["40003", "outcome_unknown"],
  ["40001", "unavailable"],
])("a COMMIT that the server answers with %s is %s", async (state, code) => {
  const url = freshUrl();
  await using engine = await openPostgresEngine({ url });
  await commit(storeOf(engine), put("a", 1));
  const schema = own.schema;
  await own.server.query(`CREATE FUNCTION ${schema}.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '${state}'; END $$`);
  await own.server.query(`CREATE CONSTRAINT TRIGGER fail AFTER UPDATE ON ${schema}.namespace DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${schema}.fail()`);
  expect(await codeOrOk(storeOf(engine).commit(commitOf(put("a", 2))))).toBe(code);
  await own.server.query(`DROP TRIGGER fail ON ${schema}.namespace`);
  await commit(storeOf(engine), put("a", 3));
});

test("a network that goes dead under load ends every call within its deadline, and what was answered is true", async () => {
  const url = freshUrl("&deadline=2s");
  await using proxy = await FaultProxy.open(own.server.port);
  await using engine = await openPostgresEngine({ url: proxy.urlFor(url) });
  await using direct = await openPostgresEngine({ url });
  const endings = new Set<string>();
  const writers = Array.from({ length: 4 }, async (_, i) => {
    let last = 0;
    for (;;) {
      const { ms, result } = await timed(storeOf(engine).commit(commitOf(put(`k${i}`, last + 1))));
      expect(ms).toBeLessThan(2_900);
      if (result.status === "rejected") return { last, code: reasonOf(result).code };
      last += 1;
    }
  });
  await delay(300);
  await proxy.set({ kind: "black-hole" });
  const ends = await Promise.all(writers);
  for (const [i, { last, code }] of ends.entries()) {
    endings.add(code);
    const [entry] = (await direct.read(namespace, [{ start: `k${i}`, end: `k${i}\0` }], {})).entries;
    const there = (entry?.value as number | undefined) ?? 0;
    expect(code === "outcome_unknown" ? [last, last + 1] : [last]).toContain(there);
  }
  expect([...endings].every((code) => code === "unavailable" || code === "outcome_unknown")).toBe(true);
});

test("whoever stands still with the namespace's lock loses it after half a deadline, and the others go on", async () => {
  const url = freshUrl("&deadline=5s&pool=1");
  await using proxy = await FaultProxy.open(own.server.port);
  await using stopped = await openPostgresEngine({ url: proxy.urlFor(url) });
  await using other = await openPostgresEngine({ url });
  const outsider = new pg.Client(own.server.url);
  await outsider.connect();
  onTestFinished(() => outsider.end());
  const sessions = async (where: string): Promise<number> => (await outsider.query(`SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${where}`)).rows.length;
  await commit(storeOf(stopped), put("a", 1));
  // The notification of that has gone out too.
  await expect.poll(() => sessions("state = 'idle' AND query LIKE '%pg_notify%'")).toBe(1);
  // A key that it does not remember makes it look first. The answer to that is held back: it has the lock and does not know it.
  await proxy.set({ kind: "black-hole", only: "answers" });
  const lost = codeOrOk(storeOf(stopped).commit(commitOf([put("a", "never"), put("new", 1)])));
  await expect.poll(() => sessions("state = 'idle in transaction'")).toBe(1);
  const startMs = performance.now();
  const { ms, result } = await timed(storeOf(other).commit(commitOf(put("a", 2))));
  expect(result).toMatchObject({ status: "fulfilled", value: { ok: true, revision: 2 } });
  expect(performance.now() - startMs).toBeGreaterThan(300);
  expect(ms).toBeLessThan(4_750);
  expect(await lost).toBe("unavailable");
  expect((await storeOf(other).read(everything)).entries).toMatchObject([{ value: 2, version: 2 }]);
});

test("a namespace that somebody else keeps locked gives unavailable at the deadline, and nothing was changed", async () => {
  const url = freshUrl("&deadline=2s");
  await using engine = await openPostgresEngine({ url });
  await commit(storeOf(engine), put("a", 1));
  const other = new pg.Client(own.server.url);
  await other.connect();
  await other.query("BEGIN");
  await other.query(`SELECT 1 FROM ${own.schema}.namespace FOR UPDATE`);
  const { ms, result } = await timed(storeOf(engine).commit(commitOf(put("a", 2))));
  expect(reasonOf(result)).toMatchObject({ code: "unavailable" });
  expect(ms).toBeLessThan(3_000);
  // Reading waits for no lock.
  expect((await storeOf(engine).read(everything)).entries).toMatchObject([{ value: 1 }]);
  await other.query("ROLLBACK");
  await other.end();
  // Asked again under one key, it happens once, also where a busy machine was too late with the first answer.
  const request = { key: "again", fingerprint: "f", note: null };
  await expect.poll(() => codeOrOk(storeOf(engine).commit(commitOf(put("a", 3), { request })))).toBe("ok");
  expect((await storeOf(engine).read(everything)).entries).toMatchObject([{ value: 3, version: 2 }]);
});

test("a watcher whose connection was reset hears of what was committed meanwhile, in order and once", async () => {
  const url = freshUrl();
  await using proxy = await FaultProxy.open(own.server.port);
  await using watching = await openPostgresEngine({ url: proxy.urlFor(url) });
  await using writing = await openPostgresEngine({ url });
  await commit(storeOf(writing), put("a", 0));
  const heard: number[] = [];
  const stop = new AbortController();
  const watcher = (async () => {
    for (;;)
      try {
        for await (const change of storeOf(watching).watch(everything, heard.length, stop.signal)) heard.push(change.revision);
        return;
      } catch (error) {
        if ((error as HoldfastError).code !== "unavailable") throw error;
        await delay(50);
      }
  })();
  for (let i = 1; i <= 20; i += 1) {
    await commit(storeOf(writing), put("a", i));
    if (i % 7 === 0) proxy.resetAll();
    await delay(20);
  }
  await expect.poll(() => heard.length).toBe(21);
  expect(heard).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
  stop.abort();
  await watcher;
});

test("a script that leaves a store open ends by itself, one that closes it or only watches it ends when it is through, each with exit code 0", async () => {
  const url = freshUrl();
  const leaving = ["leave", "close"].map((way) => spawnWorker<{ done: string }>("store-leaver", { url, way }));
  const watching = spawnWorker<{ done: string }>("store-leaver", { url, way: "watch" });
  for (const worker of leaving) {
    await worker.next();
    await worker.ended();
  }
  expect(await watching.next()).toEqual({ done: "watching" });
  // Nothing but the watch keeps it alive: longer than any poll or probe of the engine's.
  await delay(1_500);
  await using holdfast = await openHoldfast({ store: url });
  await holdfast.state.set("watched", 1);
  expect(await watching.next()).toEqual({ done: "watch" });
  await watching.ended();
});

test("a commit is durable even where the role's default is not to wait for the disk; a stronger default is kept", async () => {
  for (const [setting, kept] of [
    ["off", "on"],
    ["local", "local"],
    ["remote_apply", "remote_apply"],
  ]) {
    await own.server.query(`ALTER ROLE holdfast SET synchronous_commit = ${setting}`);
    await using engine = await openPostgresEngine({ url: freshUrl() });
    committed((await commitBatch(engine, [commitOf(put("a"))]))[0]);
    expect((await engine.health(namespace)).facts).toMatchObject({ synchronous_commit: kept });
  }
  await own.server.query("ALTER ROLE holdfast RESET synchronous_commit");
});

test("health reads back what the server promises and warns of what breaks it", async () => {
  await using engine = await openPostgresEngine({ url: freshUrl() });
  const { engine: name, durability, facts, warnings } = await engine.health(namespace);
  expect({ name, durability, facts, warnings }).toMatchObject({
    name: "postgres",
    durability: expect.stringContaining("on disk (fsync)"),
    facts: {
      fsync: "on",
      synchronous_commit: "on",
      schema_version: 1,
      pooler_between: false,
      revision: 0,
      compacted_revision: 0,
      base: 0,
      gaps: [],
      round_trip_ms: expect.any(Number),
    },
    warnings: [],
  });
  await expect.poll(async () => Math.abs((await engine.health(namespace)).facts.clock_difference_ms as number)).toBeLessThan(1_000);

  await using unsafe = await startPostgres({ settings: { fsync: "off" } });
  await using careless = await openPostgresEngine({ url: unsafe.superuserUrl });
  const health = await careless.health(namespace);
  expect(health.durability).not.toContain("loss of power");
  expect(health.warnings.map(({ about }) => about)).toEqual(["durability", "rights"]);
});
