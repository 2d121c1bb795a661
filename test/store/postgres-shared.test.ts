import fc from "fast-check";
import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { PostgresConnections } from "../../src/engines/postgres/postgres-connections.ts";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { HoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import { everything, keyRange } from "../../src/store/ranges.ts";
import type { Commit, CommitResult, Engine, Store } from "../../src/store/store.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { manualClock } from "../support/manual-clock.ts";
import { atPace } from "../support/pace.ts";
import { propertySeed } from "../support/property-seed.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { OwnPostgres } from "../support/servers/own-postgres.ts";
import { soon, until } from "../support/soon.ts";
import { stopTime } from "../support/stopped-time.ts";
import { commitOf, put } from "./conformance/fixture.ts";
import type { Step } from "./histories.ts";
import { answer, closing, history } from "./histories.ts";

/** Batches of several namespaces in one transaction: callers that share a connection. */

const own = new OwnPostgres();
const freshUrl = (query?: string): string => own.freshUrl(query);
const schema = (): string => own.schema;

const names = Array.from({ length: 8 }, (_, i) => `n${i}`);

/** One batch of each, all at once, so that they share what can be shared. What went wrong stands in the place of the answer. */
const commitAll = (engine: Engine, batches: ReadonlyMap<string, Commit>): Promise<ReadonlyMap<string, CommitResult | HoldfastError>> =>
  Promise.all(
    [...batches].map(async ([name, commit]) => {
      const result = await engine.commit(name, [prepareCommit(commit)]).then(
        ([first]) => first as CommitResult,
        (error: HoldfastError) => error,
      );
      return [name, result] as const;
    }),
  ).then((results) => new Map(results));

const allOf = (commitFor: (name: string) => Commit): Map<string, Commit> => new Map(names.map((name) => [name, commitFor(name)]));
const valuesOf = (engine: Engine, key = "a"): Promise<unknown[]> => Promise.all(names.map(async (name) => (await engine.read(name, [keyRange(key)], {})).entries[0]?.value));
const codes = (results: ReadonlyMap<string, CommitResult | HoldfastError>): string[] =>
  [...results.values()].map((result) => ("code" in result ? result.code : result.ok ? "ok" : result.reason));
const endingOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: HoldfastError) => error.code,
  );
const allButFirst = (first: string, rest: string): string[] => [first, ...names.slice(1).map(() => rest)];

async function outsider(): Promise<pg.Client> {
  const client = new pg.Client(own.server.url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test("eight namespaces that are written to at once take two transactions, not eight, each with its own revisions", async () => {
  stopTime();
  await using engine = await openPostgresEngine({ url: freshUrl(), timeSource: manualClock() });
  await commitAll(
    engine,
    allOf(() => commitOf(put("a", 0))),
  );
  const transactions = vi.spyOn(PostgresConnections.prototype, "writing");
  onTestFinished(() => void transactions.mockRestore());
  const takes = async (key: string): Promise<number> => {
    transactions.mockClear();
    const results = await commitAll(
      engine,
      allOf((name) => commitOf(put(key, name))),
    );
    expect(codes(results)).toEqual(names.map(() => "ok"));
    return transactions.mock.calls.length;
  };
  for (const key of ["b", "b", "b", "c", "c"]) expect(await takes(key)).toBeLessThanOrEqual(2);
  expect(await valuesOf(engine, "c")).toEqual(names);
  for (const name of names) {
    const { revision, entries } = await engine.read(name, [everything], {});
    expect([revision, entries.find(({ key }) => key === "b")?.version, entries.find(({ key }) => key === "c")?.version]).toEqual([6, 3, 2]);
  }
});

test("histories of four namespaces side by side give each the answers of the memory engine, 12 times", async () => {
  const clock = manualClock();
  const startMs = clock.nowMs();
  await using engine = await openPostgresEngine({ url: freshUrl(), timeSource: clock });
  const model = new MemoryEngine(clock);
  let run = 0;
  const property = fc.asyncProperty(fc.array(history, { minLength: 4, maxLength: 4 }), async (histories) => {
    run += 1;
    clock.set(startMs);
    const own = histories.map((steps, i) => ({ steps, namespace: `run ${run} ${i}` }));
    for (let i = 0; i < Math.max(...histories.map(({ length }) => length)); i += 1) {
      const asked = own.flatMap(({ steps, namespace }) => (steps[i] === undefined ? [] : [{ step: steps[i] as Step, namespace }]));
      // The clock is everybody's: it moves before anybody asks.
      for (const { step } of asked) if (step.do === "clock") clock.advance(step.ms);
      const all = (of: Engine) =>
        Promise.all(asked.map(async ({ step, namespace }) => (step.do === "clock" ? step : { do: step.do, answer: await answer(of, clock, namespace, step) })));
      expect({ i, answers: await all(engine) }).toEqual({ i, answers: await all(model) });
    }
    const all = (of: Engine) => Promise.all(own.flatMap(({ namespace }) => closing.map((asked) => answer(of, clock, namespace, asked))));
    expect(await all(engine)).toEqual(await all(model));
  });
  await fc.assert(property, { numRuns: 12, seed: propertySeed });
});

test("a refused commit, a sealed namespace and one whose history went back are their own affair: the others beside them are written", async () => {
  await using engine = await openPostgresEngine({ url: freshUrl() });
  await commitAll(
    engine,
    allOf(() => commitOf(put("a", 0))),
  );
  const refused = await commitAll(
    engine,
    allOf((name) => commitOf(put("a", 1), name === "n0" ? { checks: [{ key: "a", version: 7 }] } : {})),
  );
  expect(codes(refused)).toEqual(allButFirst("checks", "ok"));
  expect(refused.get("n0")).toMatchObject({ failed: [{ entry: { value: null, version: 1 } }] });
  expect(await valuesOf(engine)).toEqual([0, ...names.slice(1).map(() => 1)]);

  await engine.seal("n0", { state: "moving", by: "x", to: "y" });
  const beside = (value: number) =>
    commitAll(
      engine,
      allOf(() => commitOf(put("a", value))),
    );
  expect(codes(await beside(2))).toEqual(allButFirst("unavailable", "ok"));
  await engine.seal("n0", { state: "moved", to: "redis://elsewhere" }, { state: "moving", by: "x", to: "y" });
  expect(codes(await beside(3))).toEqual(allButFirst("moved", "ok"));
  await engine.seal("n0", undefined, { state: "moved", to: "redis://elsewhere" });

  // Put back under the engine's feet: only this one leaps.
  await own.server.query(`UPDATE ${schema()}.namespace SET revision = 0 WHERE name = 'n0'`);
  expect(codes(await beside(4))).toEqual(names.map(() => "ok"));
  const revisions = await Promise.all(names.map(async (name) => (await engine.read(name, [everything], {})).revision));
  expect(revisions[0]).toBeGreaterThan(1_000_000_000);
  expect(revisions.slice(1)).toEqual(names.slice(1).map(() => 5));
});

test("what the server refuses because of one namespace is tried with each alone: one fails, and says so, the others are written once", async () => {
  await using engine = await openPostgresEngine({ url: freshUrl() });
  await commitAll(
    engine,
    allOf(() => commitOf(put("a", 0))),
  );
  const id = await own.server.query(`SELECT id FROM ${schema()}.namespace WHERE name = 'n0'`);
  await own.server.query(`ALTER TABLE ${schema()}.log ADD CONSTRAINT planted CHECK (ns <> ${id} OR v <> '1')`);
  for (const key of ["a", "b"]) {
    const results = await commitAll(
      engine,
      allOf(() => commitOf(put(key, 1))),
    );
    expect(codes(results)).toEqual(allButFirst("internal", "ok"));
  }
  expect(await valuesOf(engine)).toEqual([0, ...names.slice(1).map(() => 1)]);
  expect(await valuesOf(engine, "b")).toEqual([undefined, ...names.slice(1).map(() => 1)]);
  for (const name of names.slice(1)) expect(await engine.read(name, [everything], {})).toMatchObject({ revision: 3, entries: [{ version: 2 }, { version: 1 }] });
});

test("a namespace that was emptied and made again by another process is found again; the others do not notice", async () => {
  const url = freshUrl();
  await using engine = await openPostgresEngine({ url });
  await using other = await openPostgresEngine({ url });
  await commitAll(
    engine,
    allOf(() => commitOf(put("a", 0))),
  );
  await other.seal("n0", { state: "filling", progress: null });
  await other.clear("n0");
  await other.commit("another", [prepareCommit(commitOf(put("a", 0)))]);
  const results = await commitAll(
    engine,
    allOf(() => commitOf(put("a", 1))),
  );
  expect(codes(results)).toEqual(names.map(() => "ok"));
  expect(await valuesOf(other)).toEqual(names.map(() => 1));
});

/** As long as it lasts, somebody else has the first two namespaces locked. */
async function keepingLocked(during: () => Promise<void>): Promise<void> {
  const client = await outsider();
  await client.query("BEGIN");
  await client.query(`SELECT 1 FROM ${schema()}.namespace WHERE name IN ('n0', 'n1') FOR UPDATE`);
  await during();
  await client.query("ROLLBACK");
}

test("a namespace that another session keeps locked waits by itself: the others are written meanwhile, and it continues when it is free", async () => {
  // Longer than any test runs: nobody gives up.
  await using engine = await openPostgresEngine({ url: freshUrl("&deadline=10m") });
  await commitAll(
    engine,
    allOf(() => commitOf(put("a", 0))),
  );
  const ended: string[] = [];
  let calls: readonly Promise<void>[] = [];
  await keepingLocked(async () => {
    calls = names.map(async (name) => {
      await engine.commit(name, [prepareCommit(commitOf(put("a", 1)))]);
      ended.push(name);
    });
    await Promise.all(calls.slice(2));
    expect(ended.toSorted()).toEqual(names.slice(2));
  });
  await Promise.all(calls);
  expect(await valuesOf(engine)).toEqual(names.map(() => 1));
});

test("namespaces that stay locked beside others in one batch are unavailable at the deadline and not before; the others are written meanwhile", async () => {
  const deadlineMs = 600_000;
  const time = stopTime();
  await using engine = await openPostgresEngine({ url: freshUrl(`&deadline=${deadlineMs}ms`) });
  await commitAll(
    engine,
    allOf(() => commitOf(put("a", 0))),
  );
  const tries = vi.spyOn(PostgresConnections.prototype, "writing");
  onTestFinished(() => void tries.mockRestore());
  await keepingLocked(async () => {
    const ended: string[] = [];
    const calls = names.map(async (name) => ended.push(`${name}: ${await endingOf(engine.commit(name, [prepareCommit(commitOf(put("a", 2)))]))}`));
    await Promise.all(calls.slice(2));
    const othersEnded = names.slice(2).map((name) => `${name}: ok`);
    expect(ended.toSorted()).toEqual(othersEnded);
    time.pass(0.65 * deadlineMs);
    // The try that was under way is over when the second after it begins.
    const before = tries.mock.calls.length;
    await until(() => tries.mock.calls.length > before + 1 || ended.length > othersEnded.length);
    expect(ended.toSorted()).toEqual(othersEnded);
    time.pass(0.35 * deadlineMs);
    await Promise.all(calls);
    expect(ended.slice(othersEnded.length).toSorted()).toEqual(names.slice(0, 2).map((name) => `${name}: unavailable`));
  });
  expect(await valuesOf(engine)).toEqual([0, 0, ...names.slice(2).map(() => 2)]);
});

test("a namespace that stays locked is unavailable at the deadline by the clock too", async () => {
  const [url, deadlineMs] = [freshUrl(), 2_000];
  await using patient = await openPostgresEngine({ url });
  await using engine = await soon(() => openPostgresEngine({ url: `${url}&deadline=${deadlineMs}ms` }));
  await commitAll(
    patient,
    allOf(() => commitOf(put("a", 0))),
  );
  await keepingLocked(async () => {
    const locked = await Promise.all(names.slice(0, 2).map((name) => atPace(() => endingOf(engine.commit(name, [prepareCommit(commitOf(put("a", 2)))])))));
    for (const { value, ms, pace } of locked) {
      expect(value).toBe("unavailable");
      expect(ms).toBeGreaterThan(0.65 * deadlineMs);
      expect(ms).toBeLessThan((deadlineMs + 500) * pace);
    }
  });
  expect(await valuesOf(patient)).toEqual(names.map(() => 0));
});

test("processes that write to the same namespaces in other orders, and a session that locks them in any order, never wait for each other in a circle", async () => {
  const url = freshUrl();
  const engines = await Promise.all([0, 1, 2].map(() => openPostgresEngine({ url })));
  onTestFinished(async () => void (await Promise.all(engines.map((engine) => engine[Symbol.asyncDispose]()))));
  await commitAll(
    engines[0] as Engine,
    allOf(() => commitOf(put("n", 0))),
  );
  const added = new Map(names.map((name) => [name, 0]));
  let counting = engines.length * names.length;
  const counter = async (store: Store): Promise<void> => {
    for (let round = 0; round < 12; round += 1) {
      const [entry] = (await store.read(keyRange("n"))).entries;
      const result = await store.commit(commitOf(put("n", (entry?.value as number) + 1), { checks: [{ key: "n", version: entry?.version as number }] }));
      if (result.ok) added.set(store.namespace, (added.get(store.namespace) as number) + 1);
    }
    counting -= 1;
  };
  const random = seededRandom(5);
  const intruder = async (client: pg.Client): Promise<void> => {
    while (counting > 0) {
      const one = names[random(names.length)];
      const two = names.filter((name) => name !== one)[random(names.length - 1)];
      await client.query("BEGIN");
      for (const name of [one, two]) await client.query(`SELECT 1 FROM ${schema()}.namespace WHERE name = $1 FOR UPDATE`, [name]);
      await client.query("COMMIT");
    }
  };
  const stores = engines.flatMap((engine, i) => (i === 1 ? names.toReversed() : names).map((name) => openNamespaceStore(engine, name, systemClock)));
  await Promise.all([...stores.map(counter), intruder(await outsider())]);
  expect(await valuesOf(engines[0] as Engine, "n")).toEqual(names.map((name) => added.get(name)));
  expect(Math.min(...added.values())).toBeGreaterThan(0);
  expect(await own.server.query("SELECT sum(deadlocks) FROM pg_stat_database")).toBe("0");
});

/** How the wish to commit ends in what is sent to the server. */
const sentCommit = "COMMIT\0";

test("an answer that is cut off is unknown for those who were being written, and only for them; the same request keys then tell the truth", async () => {
  const url = freshUrl("&deadline=10m&pool=2");
  await using proxy = await FaultProxy.open(own.server.port);
  await using engine = await openPostgresEngine({ url: proxy.urlFor(url) });
  await using direct = await openPostgresEngine({ url });
  await commitAll(
    direct,
    allOf(() => commitOf(put("warm", 0))),
  );
  const seen = new Set<string>();
  const cutAt = async (afterBytes: number, since?: string): Promise<void> => {
    await valuesOf(engine);
    await proxy.set({ kind: "cut-answers", afterBytes, times: 2, since });
    const key = `cut ${afterBytes}${since === undefined ? "" : " of the commit"}`;
    const request = { key, fingerprint: "f", note: null };
    // The first is refused: nothing of it is written, so nothing of it can be unknown.
    const batches = allOf((name) => commitOf(put(key, name), name === "n0" ? { checks: [{ key: "warm", version: 9 }] } : { request }));
    const first = codes(await commitAll(engine, batches));
    await proxy.heal();
    expect(["checks", "unavailable"]).toContain(first[0]);
    for (const [i, name] of names.entries()) {
      const there = (await direct.read(name, [keyRange(key)], {})).entries.length;
      seen.add(first[i] as string);
      if (first[i] === "ok") expect(there).toBe(1);
      if (first[i] === "unavailable" || first[i] === "checks") expect(there).toBe(0);
    }
    await expect.poll(async () => codes(await commitAll(engine, batches))).toEqual(allButFirst("checks", "ok"));
    for (const name of names.slice(1)) expect((await direct.read(name, [keyRange(key)], {})).entries).toMatchObject([{ version: 1 }]);
  };
  // The whole dialogue has some 3,000 bytes of answers, most of them told by the look: cut in every part of it, and where the answer to a commit begins.
  for (let afterBytes = 600; afterBytes <= 4_200; afterBytes += 300) await cutAt(afterBytes);
  await cutAt(0, sentCommit);
  expect([...seen].sort()).toEqual(expect.arrayContaining(["checks", "ok", "outcome_unknown"]));
  for (const code of seen) expect(["checks", "ok", "unavailable", "outcome_unknown"]).toContain(code);
});

test("a server that is killed under eight namespaces has everything that was answered, in each of them, and at most the one batch more that is unknown", async () => {
  await using engine = await openPostgresEngine({ url: freshUrl() });
  for (let round = 0; round < 2; round += 1) {
    const answered = new Map(names.map((name) => [name, 0]));
    const writers = names.map(async (name) => {
      for (;;) {
        const last = answered.get(name) as number;
        const code = await endingOf(engine.commit(name, [prepareCommit(commitOf(put(`round ${round}`, last + 1)))]));
        if (code !== "ok") return { last, code };
        answered.set(name, last + 1);
      }
    });
    await expect.poll(() => Math.min(...answered.values())).toBeGreaterThan(3);
    await own.server.kill9();
    const ends = await Promise.all(writers);
    await own.server.restart();
    await expect.poll(() => endingOf(valuesOf(engine))).toBe("ok");
    const there = await valuesOf(engine, `round ${round}`);
    for (const [i, { last, code }] of ends.entries()) {
      expect(["unavailable", "outcome_unknown"]).toContain(code);
      expect(code === "outcome_unknown" ? [last, last + 1] : [last]).toContain(there[i]);
    }
  }
});
