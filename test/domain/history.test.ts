import { expect, test } from "vitest";
import { resetNamespace } from "../../src/domain/admin/reset.ts";
import { readHistory } from "../../src/domain/history/history.ts";
import { acquireLease, releaseLease, renewLease } from "../../src/domain/leases/leases.ts";
import { saveSession } from "../../src/domain/sessions/sessions.ts";
import { commitState, deleteState, setState } from "../../src/domain/state/state.ts";
import { claimRun } from "../../src/domain/workflows/claims.ts";
import { checkpointRun, createRun, finishRun, giveBackRun } from "../../src/domain/workflows/workflows.ts";
import { everything } from "../../src/store/ranges.ts";
import { openScope } from "../support/scope.ts";

test("every mutation of every kind has exactly one record, with its writer, newest first", async () => {
  const scope = { ...openScope(), agent: "agent-7" };
  await setState(scope, { key: "k", value: 1, ttlMs: 5 });
  scope.clock.advance(5);
  await setState(scope, { key: "k", value: 2 });
  await deleteState(scope, { key: "k" });
  await deleteState(scope, { key: "k" }); // Nothing was there: no record.
  await acquireLease(scope, { resource: "l", holder: "a", ttlMs: 100 });
  await renewLease(scope, { resource: "l", holder: "a", ttlMs: 100 });
  await releaseLease(scope, { resource: "l", holder: "a" });
  await acquireLease(scope, { resource: "l", holder: "b", ttlMs: 100 });
  await createRun(scope, { name: "n", runId: "r", tags: { a: "b" }, input: {} });
  await claimRun(scope, { runId: "r", agentId: "a", ttlMs: 1_000 });
  await checkpointRun(scope, { runId: "r", step: 1, output: 1, agentId: "a" });
  await giveBackRun(scope, { runId: "r", agentId: "a" });
  await claimRun(scope, { runId: "r", agentId: "a", ttlMs: 100 });
  scope.clock.advance(100);
  await scope.engine.sweep("test", 100);
  await finishRun(scope, { runId: "r", ending: { status: "done" }, agentId: "a" });
  await saveSession(scope, { sessionId: "s", context: { a: 1 } });

  const { entries, total } = await readHistory(scope, { limit: 100 });
  expect(entries.map((entry) => `${entry.kind} ${entry.op} ${entry.name}`).reverse()).toEqual([
    "state set k",
    "state expire k",
    "state set k",
    "state delete k",
    "lease acquire l",
    "lease renew l",
    "lease release l",
    "lease acquire l",
    "workflow create r",
    "workflow claim r",
    "workflow checkpoint r",
    "workflow release r",
    "workflow claim r",
    "lease lapse l",
    "workflow lapse r",
    "workflow finish r",
    "session save s",
  ]);
  expect(total).toBe(entries.length);
  for (const entry of entries) expect(entry.writer).toBe(entry.op === "expire" || entry.op === "lapse" ? "holdfast" : "tester");
  expect(entries.at(-1)?.agent).toBe("agent-7");
});

test("values before and after stand beside each record", async () => {
  const scope = openScope();
  await setState(scope, { key: "k", value: { a: 1 } });
  await setState(scope, { key: "k", value: { a: 2 } });
  await deleteState(scope, { key: "k" });
  const { entries } = await readHistory(scope, { name: "k", limit: 10 });
  expect(entries.map(({ op, value, previousValue, version }) => ({ op, value, previousValue, version }))).toEqual([
    { op: "delete", value: null, previousValue: { a: 2 }, version: 2 },
    { op: "set", value: { a: 2 }, previousValue: { a: 1 }, version: 2 },
    { op: "set", value: { a: 1 }, previousValue: null, version: 1 },
  ]);
});

test("values stand beside each record also around an expiry that a write met", async () => {
  const scope = openScope();
  await setState(scope, { key: "q", value: "one", ttlMs: 50 });
  scope.clock.advance(50);
  await setState(scope, { key: "q", value: "two" });
  await setState(scope, { key: "q", value: "three" });
  const { entries } = await readHistory(scope, { name: "q", limit: 10 });
  expect(entries.map(({ op, value, previousValue }) => [op, value, previousValue])).toEqual([
    ["set", "three", "two"],
    ["set", "two", null],
    ["expire", null, "one"],
    ["set", "one", null],
  ]);
});

test("filters by name, prefix, kind, writer and revision; pages without gap or repeat", async () => {
  const scope = openScope();
  for (let i = 0; i < 5; i += 1) await setState({ ...scope, writer: i % 2 === 0 ? "even" : "odd" }, { key: `job/${i}`, value: i });
  await commitState(scope, {
    writes: [
      { op: "set", key: "x", value: 1 },
      { op: "set", key: "y", value: 1 },
      { op: "set", key: "z", value: 1 },
    ],
    expected: [],
    guards: [],
  });
  await saveSession(scope, { sessionId: "job/1", context: {} });
  const names = async (query: object) => (await readHistory(scope, { limit: 50, ...query })).entries.map((entry) => `${entry.kind}:${entry.name}`);
  expect(await names({ name: "job/1" })).toEqual(["session:job/1", "state:job/1"]);
  expect(await names({ prefix: "job/", kind: "state" })).toEqual(["state:job/4", "state:job/3", "state:job/2", "state:job/1", "state:job/0"]);
  expect(await names({ writer: "odd" })).toEqual(["state:job/3", "state:job/1"]);
  expect(await names({ afterRevision: 6 })).toEqual(["session:job/1"]);
  const seen: string[] = [];
  let before: Awaited<ReturnType<typeof readHistory>>["next"];
  do {
    const page = await readHistory(scope, { limit: 2, before });
    seen.push(...page.entries.map((entry) => entry.name));
    before = page.next;
    expect(page.total).toBe(9);
  } while (before !== undefined);
  expect(seen).toEqual(["job/1", "z", "y", "x", "job/4", "job/3", "job/2", "job/1", "job/0"]);
});

test("a page of a long history costs a page and a bounded count, wherever it is", async () => {
  const scope = openScope();
  for (let i = 0; i < 1_200; i += 1) await setState(scope, { key: "k", value: i });
  let read = 0;
  const counted: typeof scope = {
    ...scope,
    store: {
      ...scope.store,
      async log(query) {
        const page = await scope.store.log(query);
        read += page.rows.length;
        return page;
      },
    },
  };
  for (const before of [undefined, { revision: 101, seq: 0 }]) {
    read = 0;
    const page = await readHistory(counted, { limit: 10, before });
    expect(page.entries.map(({ value }) => value)).toEqual(Array.from({ length: 10 }, (_, i) => (before === undefined ? 1_199 : 99) - i));
    expect(page.total).toBe(1_000);
    expect(read).toBeLessThan(1_000 + 100);
  }
});

test("a reset leaves alone what others write while it runs", async () => {
  const scope = openScope();
  for (let i = 0; i < 300; i += 1) await setState(scope, { key: `k${i}`, value: "old" });
  const { store } = scope;
  const written = new Set<string>();
  // Somebody writes between every page that the reset reads and what it then commits.
  const raced = {
    ...scope,
    store: {
      ...store,
      read: async (...args: Parameters<typeof store.read>) => {
        const snapshot = await store.read(...args);
        if (written.size < 3) {
          // One that the page just read shows, so that the reset is about to delete it.
          const target = snapshot.entries.at(-1)?.key.slice("state/".length) ?? "k0";
          await setState(scope, { key: target, value: "new" });
          written.add(target);
        }
        return snapshot;
      },
    },
  };
  await resetNamespace(raced);
  const left = (await store.read(everything)).entries.map((entry) => entry.value);
  expect(left).toEqual(Array.from({ length: written.size }, () => "new"));
});

test("a reset removes everything, counts what people would count, and continues counting revisions", async () => {
  const scope = openScope();
  await setState(scope, { key: "k", value: 1 });
  await createRun(scope, { name: "n", runId: "r", tags: { a: "b" } });
  await acquireLease(scope, { resource: "l", holder: "a", ttlMs: 1_000 });
  const { revision } = await scope.store.read(everything, { limit: 1 });
  expect(await resetNamespace(scope)).toEqual({ cleared: 3 });
  const after = await scope.store.read(everything);
  expect(after.entries).toEqual([]);
  expect(after.revision).toBeGreaterThan(revision);
  expect(await setState(scope, { key: "k", value: 2 })).toMatchObject({ ok: true, version: 2 });
});
