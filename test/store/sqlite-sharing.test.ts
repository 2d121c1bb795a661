import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { isBusy, translateSqliteError } from "../../src/engines/sqlite/sqlite-errors.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { PaceSampler } from "../support/pace.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const set = async (engine: Engine, key: string, ttlMs?: number): Promise<unknown> =>
  openNamespaceStore(engine, "shared", systemClock).commit({ writer: "tester", writes: [{ op: "put", key, value: key, ...(ttlMs === undefined ? {} : { ttlMs }) }] });

async function openShared(): Promise<{ path: string; engine: Engine }> {
  const path = join(await temporaryFolder(), "store.db");
  const engine = await openSqliteEngine({ path });
  onTestFinished(() => engine[Symbol.asyncDispose]());
  return { path, engine };
}

test("a writer that finds the file locked waits without blocking, and its caller never hears of it", async () => {
  const { path, engine } = await openShared();
  await set(engine, "before");
  const other = (await loadSqliteDriver()).open(path);
  // The driver itself never waits: it would stop the event loop, and the release of this very lock with it.
  expect(other.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 0 });
  other.exec("BEGIN IMMEDIATE");
  let isWritten = false;
  const writing = set(engine, "after").then(() => {
    isWritten = true;
  });
  for (let turn = 0; turn < 20; turn += 1) await delay(1);
  expect((await engine.read("shared", [everything], {})).entries.map(({ key }) => key)).toEqual(["before"]);
  expect(isWritten).toBe(false);
  other.exec("ROLLBACK");
  await writing;
  other.close();
  expect((await engine.read("shared", [everything], {})).entries.map(({ key }) => key)).toEqual(["after", "before"]);
});

test("a held lock is recognised as such in whatever way the driver reports it", async () => {
  const { path } = await openShared();
  const driver = await loadSqliteDriver();
  const [holder, other] = [driver.open(path), driver.open(path)];
  holder.exec("BEGIN IMMEDIATE");
  const begin = other.prepare("BEGIN IMMEDIATE");
  for (const attempt of [() => begin.run(), () => begin.get(), () => begin.all(), () => other.exec("BEGIN IMMEDIATE")]) {
    let met: unknown;
    try {
      attempt();
    } catch (error) {
      met = error;
    }
    expect(isBusy(met)).toBe(true);
    expect(translateSqliteError(met)).toMatchObject({ code: "unavailable" });
  }
  expect(isBusy(new Error("database is locked"))).toBe(false);
  holder.close();
  other.close();
});

test("a commit in another process is heard of by file notification, without waiting for a poll, usually at once", async () => {
  const { path, engine } = await openShared();
  const worker = spawnWorker<{ revision: number }>("sqlite-opener", { path, key: "theirs" });
  await worker.next();
  using sampler = new PaceSampler();
  const startMs = performance.now();
  const delaysMs: number[] = [];
  // The poll is an interval: without intervals only the notification is left.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let notified = (): void => {};
  const stop = engine.onChange("shared", () => notified());
  for (let round = 0; round < 5; round += 1) {
    const heard = new Promise<void>((resolve) => {
      notified = resolve;
    });
    worker.send({});
    await worker.next();
    const answeredMs = performance.now();
    await heard;
    delaysMs.push(performance.now() - answeredMs);
  }
  expect(delaysMs.toSorted((a, b) => a - b)[2]).toBeLessThan(50 * sampler.since(startMs));
  stop();
  worker.send({ stop: true });
  await worker.ended();
});

test("changes are noticed even after the signal file was deleted, and not after the last listener left", async () => {
  const { path, engine } = await openShared();
  const other = await openSqliteEngine({ path });
  let notifications = 0;
  const stop = engine.onChange("shared", () => {
    notifications += 1;
  });
  rmSync(`${path}-bell`);
  await set(other, "a");
  await expect.poll(() => notifications).toBeGreaterThan(0);
  stop();
  notifications = 0;
  await set(other, "b");
  await set(engine, "c");
  // Whoever listens later hears of the next one; what had been on its way to the first would have come before.
  const heardAgain = new Promise<void>((resolve) => void onTestFinished(engine.onChange("shared", resolve)));
  await set(other, "d");
  await heardAgain;
  expect(notifications).toBe(0);
  await other[Symbol.asyncDispose]();
});

test("two stores on one file in one process do not take each other's locks away", async () => {
  const { path, engine } = await openShared();
  await set(engine, "a");
  // The second opening looks at the same file; closing its look must not release what the first holds against other processes.
  await (await openSqliteEngine({ path }))[Symbol.asyncDispose]();
  const worker = spawnWorker<{ revision: number }>("sqlite-opener", { path, key: "theirs" });
  await worker.next();
  worker.send({});
  await worker.next();
  worker.send({ stop: true });
  await worker.ended();
  await set(engine, "b");
  // Had the lock been lost, the other process would have taken itself for the last user and removed the log that this one still writes to.
  const third = spawnWorker<{ revision: number }>("sqlite-opener", { path, key: "third" });
  await third.next();
  third.send({});
  expect((await third.next()).revision).toBe(4);
  expect((await engine.read("shared", [everything], {})).entries.map(({ key }) => key)).toEqual(["a", "b", "theirs", "third"]);
});

test("a host clock that is set back brings nothing expired to life, and health says that time stands still", async () => {
  const path = join(await temporaryFolder(), "store.db");
  const clock = manualClock();
  const startMs = clock.nowMs();
  const keys = async (engine: Engine): Promise<string[]> => (await engine.read("shared", [everything], {})).entries.map(({ key }) => key);
  {
    await using engine = await openSqliteEngine({ path, clock });
    await set(engine, "short", 1_000);
    clock.set(startMs + 60_000);
    await set(engine, "long");
    clock.set(startMs);
    expect(await keys(engine)).toEqual(["long"]);
  }
  // What the file remembers holds for every later process too.
  await using engine = await openSqliteEngine({ path, clock });
  expect(await keys(engine)).toEqual(["long"]);
  expect((await engine.health("shared")).warnings).toEqual([{ about: "clock", says: expect.stringContaining("60 s ahead") }]);
  clock.set(startMs + 56_000);
  expect((await engine.health("shared")).warnings).toEqual([]);
});

test("a closed store answers that it is closed", async () => {
  const { engine } = await openShared();
  await engine[Symbol.asyncDispose]();
  await expect(set(engine, "a")).rejects.toMatchObject({ code: "unavailable" });
  await expect(engine.read("shared", [everything], {})).rejects.toMatchObject({ code: "unavailable" });
});
