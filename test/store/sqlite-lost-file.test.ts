import { existsSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync, unlinkSync } from "node:fs";
import { copyFile, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { engineFacts } from "../../src/store/engine-facts.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine } from "../../src/store/store.ts";
import { sidecarHealth } from "../../src/tools/admin-tools.ts";
import { backUpFile } from "../support/back-up-file.ts";
import { soon } from "../support/soon.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import type { StoppedTime } from "../support/stopped-time.ts";
import { stopTime } from "../support/stopped-time.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Longer than the engine trusts its last look at the names, and longer than a file must lie still before it is taken into use. */
const aWhileMs = 150;
const lieStillMs = 1_300;

const set = async (engine: Engine, key: string, value = key): Promise<unknown> =>
  openNamespaceStore(engine, "shared", systemClock).commit({ writer: "tester", writes: [{ op: "put", key, value }] });
const keys = async (engine: Engine): Promise<string[]> => (await engine.read("shared", [everything], {})).entries.map(({ key }) => key);
const refusal = (word: string) => expect.objectContaining({ code: "unavailable", message: expect.stringContaining(word) });

async function openStore(): Promise<{ folder: string; path: string; engine: Engine }> {
  const folder = await temporaryFolder();
  const path = join(folder, "store.db");
  const engine = await openSqliteEngine({ path });
  onTestFinished(() => engine[Symbol.asyncDispose]());
  return { folder, path, engine };
}

/** What a process that starts now finds, and whether SQLite calls the file whole. */
async function foundAt(path: string): Promise<string[]> {
  const database = (await loadSqliteDriver()).open(path);
  try {
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    return (database.prepare("SELECT k FROM kv ORDER BY k").all() as { k: string }[]).map(({ k }) => k);
  } finally {
    database.close();
  }
}

/** Asks again, as a client would, when the file has lain still. */
async function askAgain<T>(time: StoppedTime, work: () => Promise<T>): Promise<T> {
  await work().catch((error: { code?: string }) => expect(error.code).toBe("unavailable"));
  time.pass(lieStillMs);
  return work();
}

async function statusOf(engine: Engine): Promise<string> {
  const server = { version: "1.2.3", startedAtMs: 0, claimTtlMs: 1, ...engineFacts(engine) };
  const context = { store: openNamespaceStore(engine, "shared", systemClock), clock: systemClock, writer: "tester", server };
  return ((await sidecarHealth.handle(context as unknown as Parameters<typeof sidecarHealth.handle>[0], {})) as { status: string }).status;
}

/** A store whose file was lost just before a commit, which was answered with "unknown": no time has passed since the engine looked at the names. */
async function lostUnderCommit(open: () => ReturnType<typeof openStore>, lose: (path: string) => void) {
  const time = stopTime();
  const opened = await open();
  await set(opened.engine, "a");
  lose(opened.path);
  await expect(set(opened.engine, "b")).rejects.toMatchObject({ code: "outcome_unknown" });
  return { ...opened, time };
}

test("a removed file: nothing is acknowledged any more, reads and health say so, and no new file is made", async () => {
  // The commit is in a file that nobody will find, unless somebody kept it: neither yes nor no would be the truth.
  const { folder, engine, time } = await lostUnderCommit(openStore, unlinkSync);
  for (let i = 0; i < 3; i += 1) await expect(set(engine, "c")).rejects.toEqual(refusal("removed"));
  await expect(keys(engine)).rejects.toEqual(refusal("removed"));
  await expect(engine.health("shared")).rejects.toEqual(refusal("restart this server"));
  expect(await statusOf(engine)).toMatch(/^error: unavailable: .*removed/);
  time.pass(lieStillMs);
  await expect(set(engine, "c")).rejects.toEqual(refusal("removed"));
  await engine[Symbol.asyncDispose]();
  expect(readdirSync(folder).filter((name) => name !== "store.db-bell")).toEqual([]);
});

test("after a pause not even the attempt is made: the first answer is a clean refusal", async () => {
  const time = stopTime();
  const { folder, path, engine } = await openStore();
  await set(engine, "a");
  await rename(path, join(folder, "kept.db"));
  time.pass(aWhileMs);
  await expect(keys(engine)).rejects.toEqual(refusal("removed"));
  await expect(set(engine, "b")).rejects.toEqual(refusal("removed"));
  await rename(join(folder, "kept.db"), path);
  expect(await keys(engine)).toEqual(["a"]);
});

test("a whole folder removed is the same", async () => {
  const { folder, engine } = await openStore();
  await set(engine, "a");
  await rm(folder, { recursive: true });
  await expect(engine.health("shared")).rejects.toEqual(refusal("removed"));
  await expect(set(engine, "b")).rejects.toEqual(refusal("removed"));
  expect(existsSync(folder)).toBe(false);
});

test("health tells at once, also when something was read a moment ago", async () => {
  const { path, engine } = await openStore();
  expect(await statusOf(engine)).toBe("ok");
  await unlink(path);
  expect(await statusOf(engine)).toMatch(/^error: unavailable/);
});

test("the file moved away and back is used again, and nothing acknowledged is missing", async () => {
  const { folder, path, engine } = await openStore();
  await set(engine, "a");
  await rename(path, join(folder, "away.db"));
  await expect(engine.health("shared")).rejects.toEqual(refusal("moved away"));
  await rename(join(folder, "away.db"), path);
  await set(engine, "b");
  expect(await keys(engine)).toEqual(["a", "b"]);
  await engine[Symbol.asyncDispose]();
  expect(await foundAt(path)).toEqual(["a", "b"]);
});

test("the file moved to another place takes every acknowledged write with it once the server ends", async () => {
  const { folder, path, engine } = await openStore();
  for (const key of ["a", "b", "c"]) await set(engine, key);
  await rename(path, join(folder, "moved.db"));
  await engine[Symbol.asyncDispose]();
  expect(await foundAt(join(folder, "moved.db"))).toEqual(["a", "b", "c"]);
  expect(existsSync(path)).toBe(false);
});

test("an older copy moved over the file is refused at first, then used by every server on it, and stays whole", async () => {
  const time = stopTime();
  const { folder, path, engine } = await openStore();
  const second = await openSqliteEngine({ path });
  onTestFinished(() => second[Symbol.asyncDispose]());
  const worker = spawnWorker<{ ok: boolean; code?: string }>("lease-holder", { path, holder: "theirs" });
  await worker.next();
  for (let i = 0; i < 50; i += 1) await set(engine, `old-${String(i).padStart(2, "0")}`, "x".repeat(500));
  const copy = await backUpFile(path);
  for (let i = 0; i < 50; i += 1) await set(second, `late-${i}`, "y".repeat(5_000));
  await rename(copy, path);
  await expect(engine.health("shared")).rejects.toEqual(refusal("replaced"));
  await expect(set(second, "lost")).rejects.toMatchObject({ code: expect.stringMatching(/outcome_unknown|unavailable/) });
  const old = Array.from({ length: 50 }, (_, i) => `old-${String(i).padStart(2, "0")}`);
  expect(await askAgain(time, () => keys(engine))).toEqual(old);
  await askAgain(time, () => set(second, "new"));
  await soon(async () => {
    worker.send({ act: "acquire" });
    const answer = await worker.next();
    if (!answer.ok) expect(answer.code).toMatch(/outcome_unknown|unavailable/);
    expect(answer.ok).toBe(true);
  });
  const both = await keys(second);
  expect(both).toEqual(["new", ...old].concat(both.filter((key) => key.includes("deploy"))).toSorted());
  expect(both.some((key) => key.includes("deploy"))).toBe(true);
  expect(await keys(engine)).toEqual(both);
  expect(await statusOf(engine)).toBe("ok");
  await worker.kill();
  await engine[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  expect(await foundAt(path)).toEqual(both);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder).filter((name) => name.includes(".stale-") && name.includes("-shm"))).toEqual([]);
});

test("a copy that is still being written is not taken into use before it lies still", async () => {
  const time = stopTime();
  const { path, engine } = await openStore();
  for (let i = 0; i < 20; i += 1) await set(engine, `key-${i}`, "x".repeat(3_000));
  const copy = readFileSync(await backUpFile(path));
  await unlink(path);
  await expect(engine.health("shared")).rejects.toEqual(refusal("removed"));
  for (let cut = 4_096; cut < copy.length; cut += 4_096) {
    await writeFile(path, copy.subarray(cut - 4_096, cut), { flag: "a", mode: 0o600 });
    await expect(keys(engine)).rejects.toEqual(refusal("replaced"));
    time.pass(900);
    await expect(keys(engine)).rejects.toEqual(refusal("replaced"));
  }
  await writeFile(path, copy);
  expect(await askAgain(time, () => keys(engine))).toHaveLength(20);
});

test("an empty file, a text and another program's database in the store's place are left as they are", async () => {
  const time = stopTime();
  const { folder, path, engine } = await openStore();
  await set(engine, "a");
  // Moved, not removed: the system would be free to give its number to one of the next files.
  await rename(path, join(folder, "before.db"));
  await writeFile(path, "");
  await expect(engine.health("shared")).rejects.toEqual(refusal("replaced"));
  time.pass(lieStillMs);
  await expect(set(engine, "b")).rejects.toEqual(refusal("replaced"));
  expect(statSync(path).size).toBe(0);

  const foreign = (await loadSqliteDriver()).open(join(folder, "foreign.db"));
  foreign.exec("CREATE TABLE recipes (name TEXT)");
  foreign.close();
  await writeFile(join(folder, "text.db"), "dear diary\n".repeat(50));
  for (const name of ["text.db", "foreign.db"]) {
    const before = readFileSync(join(folder, name), "base64");
    await copyFile(join(folder, name), `${path}.new`);
    await rename(`${path}.new`, path);
    await expect(set(engine, "b")).rejects.toEqual(refusal("replaced"));
    time.pass(lieStillMs);
    await expect(set(engine, "b")).rejects.toMatchObject({ code: "store_damaged" });
    expect(await statusOf(engine)).toMatch(/^error: store_damaged/);
    expect(readFileSync(path, "base64")).toBe(before);
  }
});

test("a link that leads to another store is refused, and used again when it leads back", async () => {
  let one = "";
  let link = "";
  const { engine } = await lostUnderCommit(
    async () => {
      const folder = await temporaryFolder();
      const two = join(folder, "two.db");
      [one, link] = [join(folder, "one.db"), join(folder, "link.db")];
      for (const path of [one, two]) await (await openSqliteEngine({ path }))[Symbol.asyncDispose]();
      symlinkSync(one, link);
      symlinkSync(two, `${link}.new`);
      const engine = await openSqliteEngine({ path: link });
      onTestFinished(() => engine[Symbol.asyncDispose]());
      return { folder, path: link, engine };
    },
    () => renameSync(`${link}.new`, link),
  );
  await expect(set(engine, "b")).rejects.toEqual(refusal("has led to another file"));
  await symlink(one, `${link}.new`);
  await rename(`${link}.new`, link);
  await set(engine, "c");
  expect(await keys(engine)).toContain("c");
});

interface Told {
  readonly ok: boolean;
  readonly code?: string;
  readonly startedMs: number;
  readonly endedMs: number;
}

test("two processes never both hold a lease: the one with the removed file is refused once the other began a new one", async () => {
  const folder = await temporaryFolder();
  for (let round = 0; round < 2; round += 1) {
    const path = join(folder, `store-${round}.db`);
    const first = spawnWorker<Told>("lease-holder", { path, holder: "first" });
    expect((await first.next()).ok).toBe(true);
    first.send({ act: "acquire" });
    expect((await first.next()).ok).toBe(true);
    first.send({ act: "keep" });
    for (let renewal = 0; renewal < 10 * round; renewal += 1) expect((await first.next()).ok).toBe(true);
    // Half of the rounds leave the files beside it, as somebody would who knows only of the one.
    for (const suffix of round % 2 === 0 ? ["", "-wal", "-shm"] : [""]) await rm(`${path}${suffix}`);
    const second = spawnWorker<Told>("lease-holder", { path, holder: "second" });
    expect(await second.next()).toMatchObject({ ok: true });
    second.send({ act: "acquire" });
    const taken = await second.next();
    const renewals = first.taken();
    expect(taken, `round ${round}; first said: ${JSON.stringify(renewals.slice(-3))}`).toMatchObject({ ok: true });
    // From now on the first must not be told that it holds the lease, whether it is refused or meets the new store.
    while (renewals.at(-1)?.ok !== false) renewals.push(await first.next());
    await soon(async () => {
      first.send({ act: "renew" });
      const renewal = await first.next();
      renewals.push(renewal);
      // A refusal without a code is the new store's: the lease is another's.
      expect([renewal.ok, renewal.code]).toEqual([false, undefined]);
    });
    expect(renewals.filter(({ ok, startedMs }) => ok && startedMs > taken.endedMs)).toEqual([]);
    expect(renewals.some(({ code }) => code === "unavailable")).toBe(true);
    // By the end it answers from the new store: the lease is another's.
    expect(renewals.at(-1)).toMatchObject({ ok: false });
    expect(renewals.at(-1)).not.toHaveProperty("code");
    second.send({ act: "renew" });
    expect(await second.next()).toMatchObject({ ok: true });
    await Promise.all([first.kill(), second.kill()]);
    expect((await foundAt(path)).length).toBeGreaterThan(0);
  }
});

for (const gone of [["-wal"], ["-shm"], ["-wal", "-shm"]])
  test(`${gone.join(" and ")} removed: refused until a restart, and nothing acknowledged is missing then`, async () => {
    const time = stopTime();
    const { path, engine } = await openStore();
    const other = spawnWorker<Told>("lease-holder", { path, holder: "other" });
    await other.next();
    other.send({ act: "acquire" });
    expect((await other.next()).ok).toBe(true);
    for (const key of ["a", "b", "c"]) await set(engine, key);
    for (const suffix of gone) await unlink(`${path}${suffix}`);
    expect(await statusOf(engine)).toMatch(/^error: unavailable: .*start them again/);
    await expect(set(engine, "d")).rejects.toEqual(refusal("-wal or -shm"));
    time.pass(lieStillMs);
    await expect(keys(engine)).rejects.toEqual(refusal("-wal or -shm"));
    other.send({ act: "renew" });
    expect(await other.next()).toMatchObject({ ok: false, code: expect.stringMatching(/unavailable|outcome_unknown/) });
    await engine[Symbol.asyncDispose]();
    await other.kill();
    const again = spawnWorker<Told & { keys: string[] }>("lease-holder", { path, holder: "other" });
    expect(await again.next()).toMatchObject({ ok: true });
    again.send({ act: "renew" });
    expect(await again.next()).toMatchObject({ ok: true });
    again.send({ act: "keys" });
    expect((await again.next()).keys).toEqual(expect.arrayContaining(["a", "b", "c"]));
  });

test("a folder in which other files come and go costs no commit its acknowledgement", async () => {
  const { folder, engine } = await openStore();
  for (let i = 0; i < 30; i += 1) {
    await writeFile(join(folder, `neighbour-${i}`), "");
    await set(engine, `key-${i}`);
    await unlink(join(folder, `neighbour-${i}`));
  }
  expect(await keys(engine)).toHaveLength(30);
});
