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
import { atPace } from "../support/pace.ts";
import { OwnPostgres } from "../support/servers/own-postgres.ts";
import { startPostgres } from "../support/servers/postgres-server.ts";
import { soon } from "../support/soon.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import { codeOf, commit, commitBatch, commitOf, committed, namespace, put } from "./conformance/fixture.ts";

const own = new OwnPostgres();
const freshUrl = (query?: string): string => own.freshUrl(query);
const storeOf = (engine: Engine): Store => openNamespaceStore(engine, namespace, systemClock);

const codeOrOk = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: HoldfastError) => error.code,
  );

/** With a short deadline, a busy machine may need more than one attempt. */
/** With a short deadline opening may be too late too, on a busy machine: then again. */
const openInTime = (url: string): Promise<Engine> => soon(() => openPostgresEngine({ url }));
const untilDone = (store: Store, ...writes: Parameters<typeof commitOf>): Promise<void> => expect.poll(() => codeOrOk(store.commit(commitOf(...writes)))).toBe("ok");

test("a server that was killed and came back is used again by itself, and nothing acknowledged is lost", async () => {
  await using engine = await openPostgresEngine({ url: freshUrl() });
  const store = storeOf(engine);
  for (let round = 1; round <= 2; round += 1) {
    await commit(store, put("a", round));
    await own.server.kill9();
    expect(await codeOf(store.read(everything))).toBe("unavailable");
    expect(await codeOf(store.commit(commitOf(put("a", "lost"))))).toBe("unavailable");
    await own.server.restart();
    const { ms, pace, value: back } = await atPace(() => soon(() => store.read(everything)));
    expect(back.entries).toMatchObject([{ value: round, version: round }]);
    expect(ms).toBeLessThan(5_000 * pace);
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
  await using engine = await openInTime(proxy.urlFor(url));
  const store = storeOf(engine);
  await untilDone(store, put("a", 1));

  await proxy.set({ kind: "black-hole" });
  for (const call of [() => store.read(everything), () => store.commit(commitOf(put("a", 2)))]) {
    const { ms, pace, value: code } = await atPace(() => codeOrOk(call()));
    expect(code).toBe("unavailable");
    expect(ms).toBeLessThan(2_800 * pace);
  }
  await proxy.heal();
  await expect.poll(() => codeOrOk(store.read(everything))).toBe("ok");
  expect((await store.read(everything)).entries).toMatchObject([{ value: 1 }]);
});

/** How the wish to commit ends in what is sent to the server. */
const sentCommit = "COMMIT\0";

test("an answer that is cut off is the truth, or nothing changed, or unknown; the same request key then tells the truth", async () => {
  const url = freshUrl("&deadline=10m&pool=1");
  await using proxy = await FaultProxy.open(own.server.port);
  await using engine = await openPostgresEngine({ url: proxy.urlFor(url) });
  await using direct = await openPostgresEngine({ url });
  const store = storeOf(engine);
  await commit(store, put("warm", 0));
  const seen = new Set<string>();
  const cutAt = async (afterBytes: number, since?: string): Promise<void> => {
    await codeOrOk(store.read(everything));
    await proxy.set({ kind: "cut-answers", afterBytes, times: 1, since });
    const key = `cut ${afterBytes}${since === undefined ? "" : " of the commit"}`;
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
  // The whole dialogue of a commit has some 600 bytes of answers: cut in every part of it, and where the answer to the commit itself begins.
  for (let afterBytes = 0; afterBytes <= 900; afterBytes += 45) await cutAt(afterBytes);
  await cutAt(0, sentCommit);
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
  await using engine = await openInTime(proxy.urlFor(url));
  await using direct = await openInTime(url);
  const endings = new Set<string>();
  const written = [0, 0, 0, 0];
  let isDead = false;
  const writers = written.map(async (_, i) => {
    for (let last = 0; ; ) {
      const code = await codeOrOk(storeOf(engine).commit(commitOf(put(`k${i}`, last + 1), { request: { key: `k${i} ${last + 1}`, fingerprint: "f", note: null } })));
      // Before that, only a busy machine needs longer than the deadline; asked again, it happens once.
      if (code !== "ok" && isDead) return { last, code };
      if (code === "ok") last += 1;
      written[i] = last;
    }
  });
  await expect.poll(() => Math.min(...written)).toBeGreaterThan(3);
  isDead = true;
  await proxy.set({ kind: "black-hole" });
  const { ms, pace, value: ends } = await atPace(() => Promise.all(writers));
  expect(ms).toBeLessThan(2_900 * pace);
  for (const [i, { last, code }] of ends.entries()) {
    endings.add(code);
    const [entry] = (await direct.read(namespace, [{ start: `k${i}`, end: `k${i}\0` }], {})).entries;
    const there = (entry?.value as number | undefined) ?? 0;
    expect(code === "outcome_unknown" ? [last, last + 1] : [last]).toContain(there);
  }
  expect([...endings].every((code) => code === "unavailable" || code === "outcome_unknown")).toBe(true);
});

test("a session that is idle with the namespace's lock loses it after half a deadline, and the others continue", async () => {
  const url = freshUrl();
  await using proxy = await FaultProxy.open(own.server.port);
  await using stopped = await openInTime(`${proxy.urlFor(url)}&deadline=2s&pool=1`);
  // It would wait for longer than any test runs: only the end of the one that stands still lets it go on.
  await using other = await openPostgresEngine({ url: `${url}&deadline=10m` });
  const outsider = new pg.Client(own.server.url);
  await outsider.connect();
  onTestFinished(() => outsider.end());
  const sessions = async (where: string): Promise<number> => (await outsider.query(`SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${where}`)).rows.length;
  await untilDone(storeOf(stopped), put("a", 1));
  const { revision, entries } = await storeOf(other).read(everything);
  // The notification of that has gone out too.
  await expect.poll(() => sessions("state = 'idle' AND query LIKE '%pg_notify%'")).toBe(1);
  // The answer to its first round trip is held back: it has the lock and does not know it.
  await proxy.set({ kind: "black-hole", only: "answers" });
  const lost = codeOrOk(storeOf(stopped).commit(commitOf([put("a", "never"), put("new", 1)])));
  await expect.poll(() => sessions("state = 'idle in transaction'")).toBe(1);
  expect(await storeOf(other).commit(commitOf(put("a", 2)))).toMatchObject({ ok: true, revision: revision + 1 });
  expect(await lost).toBe("unavailable");
  expect((await storeOf(other).read(everything)).entries).toMatchObject([{ value: 2, version: (entries[0]?.version ?? 0) + 1 }]);
});

test("a namespace that another session keeps locked gives unavailable at the deadline, and nothing was changed", async () => {
  const url = freshUrl("&deadline=2s");
  await using engine = await openInTime(url);
  await untilDone(storeOf(engine), put("a", 1), { checks: [{ key: "a", is: "absent" }] });
  const other = new pg.Client(own.server.url);
  await other.connect();
  await other.query("BEGIN");
  await other.query(`SELECT 1 FROM ${own.schema}.namespace FOR UPDATE`);
  const { ms, pace, value: code } = await atPace(() => codeOrOk(storeOf(engine).commit(commitOf(put("a", 2)))));
  expect(code).toBe("unavailable");
  expect(ms).toBeLessThan(3_000 * pace);
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
      }
  })();
  for (let i = 1; i <= 20; i += 1) {
    await commit(storeOf(writing), put("a", i));
    if (i % 7 === 0) proxy.resetAll();
    // It hears again before it is cut off the next time.
    if (i % 7 === 3) await expect.poll(() => heard.length).toBe(i + 1);
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
  // Nothing but the watch keeps it alive, over the first poll of the engine's and whatever it did before.
  await expect.poll(() => own.server.query(`SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT name, revision, seal FROM "${own.schema}"%'`)).toBe("1");
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
