import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdir, open, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { requireFullSync } from "../../src/engines/sqlite/connection.ts";
import { isSafeSqlite, loadSqliteDriver, requireSafe } from "../../src/engines/sqlite/driver.ts";
import { migrations } from "../../src/engines/sqlite/schema.ts";
import type { SqliteEngineOptions } from "../../src/engines/sqlite/sqlite-engine.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine } from "../../src/store/store.ts";
import { backUpFile } from "../support/back-up-file.ts";
import { openAtOnce } from "../support/open-at-once.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const set = async (engine: Engine, key: string, value: string): Promise<unknown> =>
  openNamespaceStore(engine, "test", systemClock).commit({ writer: "tester", writes: [{ op: "put", key, value }] });
const all = async (engine: Engine): Promise<unknown[]> => (await engine.read("test", [everything], {})).entries.map(({ key, value, version }) => [key, value, version]);
const openAnd = async <T>(options: SqliteEngineOptions, work: (engine: Engine) => Promise<T>): Promise<T> => {
  await using engine = await openSqliteEngine(options);
  return await work(engine);
};
const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** Every file of the folder with its content, to show that a refusal changed nothing. */
const contents = (folder: string): Map<string, string> => new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "base64")]));

test("folders are made for the owner only, and so is every file of the store, whatever the umask", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "deep", "er", "store.db");
  const umask = process.umask(0);
  try {
    await using engine = await openSqliteEngine({ path });
    await set(engine, "a", "1");
    // The change is signalled a turn after the answer.
    await new Promise((resolve) => setImmediate(resolve));
    expect([mode(join(folder, "deep")), mode(join(folder, "deep", "er"))]).toEqual(["700", "700"]);
    for (const name of ["store.db", "store.db-wal", "store.db-shm", "store.db-bell"]) expect([name, mode(join(folder, "deep", "er", name))]).toEqual([name, "600"]);
    expect(mode(await backUpFile(path))).toBe("600");
  } finally {
    process.umask(umask);
  }
});

test.skipIf(process.platform === "win32")("a path that is no file is refused at once, also one that would wait for its other end", async () => {
  const folder = await temporaryFolder();
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  // Its other end is open, so that a store that does open it fails instead of hanging.
  await using _end = await open(pipe, "r+");
  const link = join(folder, "link");
  await symlink(pipe, link);
  for (const path of [pipe, link, "/dev/null"])
    await expect(openSqliteEngine({ path }), path).rejects.toMatchObject({ code: "store_unsupported", message: expect.stringContaining("pipe, a socket or a device") });
  await expect(openSqliteEngine({ path: folder })).rejects.toMatchObject({ code: "store_unsupported", message: expect.stringContaining("folder") });
});

test("a file that others may read is used, and health says so", async () => {
  const path = join(await temporaryFolder(), "store.db");
  await openAnd({ path }, async (engine) => expect((await engine.health("test")).warnings).toEqual([]));
  await chmod(path, 0o644);
  await openAnd({ path }, async (engine) => expect((await engine.health("test")).warnings).toEqual([{ about: "file mode", says: expect.stringContaining("0600") }]));
});

test("every commit is synced: FULL is read back from SQLite, and anything less is refused", async () => {
  const path = join(await temporaryFolder(), "store.db");
  await openAnd({ path }, async (engine) =>
    expect((await engine.health("test")).facts).toMatchObject({ journal_mode: "wal", synchronous: "FULL", schema_version: migrations.length }),
  );
  // The second opening is the one that drivers have got wrong.
  await openAnd({ path }, async (engine) => expect((await engine.health("test")).facts).toMatchObject({ synchronous: "FULL" }));
  expect(() => requireFullSync(1)).toThrow(expect.objectContaining({ code: "store_unsupported" }));
});

test("a SQLite with the WAL-reset fault is refused", async () => {
  expect(["3.51.2", "3.50.9", "3.9.99", "2.99.99"].filter(isSafeSqlite)).toEqual([]);
  expect(["3.51.3", "3.51.10", "3.53.0", "4.0.0"].filter((version) => !isSafeSqlite(version))).toEqual([]);
  const driver = await loadSqliteDriver();
  expect(requireSafe(driver)).toBe(driver);
  expect(() => requireSafe({ ...driver, sqliteVersion: "3.46.1" })).toThrow(expect.objectContaining({ code: "store_unsupported", hint: expect.stringContaining("24.21") }));
});

test("a text file, another program's database and a half-empty file are refused and left as they were", async () => {
  const folder = await temporaryFolder();
  const driver = await loadSqliteDriver();
  await writeFile(join(folder, "text.db"), "dear diary\n".repeat(50));
  const foreign = driver.open(join(folder, "foreign.db"));
  foreign.exec("PRAGMA journal_mode = WAL");
  foreign.exec("CREATE TABLE recipes (name TEXT)");
  // Left open: its write-ahead log must not be folded back by us.
  await writeFile(join(folder, "zeros.db"), Buffer.alloc(8192));
  const before = contents(folder);
  for (const name of ["text.db", "foreign.db", "zeros.db"])
    await expect(openSqliteEngine({ path: join(folder, name) }), name).rejects.toMatchObject({
      code: "store_damaged",
      message: expect.stringContaining("Nothing was overwritten"),
    });
  expect(contents(folder)).toEqual(before);
  foreign.close();
});

test("a file that held a store of this process, and another program's database now, is refused and left as it was", async () => {
  const folder = await temporaryFolder();
  const elsewhere = await temporaryFolder();
  const path = join(folder, "store.db");
  await openAnd({ path }, (engine) => set(engine, "a", "1"));
  const foreign = (await loadSqliteDriver()).open(join(elsewhere, "foreign.db"));
  foreign.exec("PRAGMA journal_mode = WAL");
  foreign.exec("CREATE TABLE recipes (name TEXT)");
  // Copied into the same file, with the log of a program that did not end well: SQLite would fold it back at once.
  for (const suffix of ["", "-wal"]) await writeFile(`${path}${suffix}`, readFileSync(join(elsewhere, `foreign.db${suffix}`)));
  foreign.close();
  const before = contents(folder);
  await expect(openSqliteEngine({ path })).rejects.toMatchObject({ code: "store_damaged", message: expect.stringContaining("Nothing was overwritten") });
  expect(contents(folder)).toEqual(before);
});

test("a store cut short is reported as damaged, not repaired by guessing", async () => {
  const path = join(await temporaryFolder(), "store.db");
  await openAnd({ path }, async (engine) => {
    for (let i = 0; i < 50; i += 1) await set(engine, `key-${i}`, "x".repeat(2_000));
  });
  await truncate(path, 3 * 4096);
  await expect(openAnd({ path }, all)).rejects.toMatchObject({ code: "store_damaged", hint: expect.stringContaining("backup") });
});

test("a store of a newer schema is refused, and the older build changes nothing in it", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "store.db");
  await openAnd({ path, migrations: [...migrations, "CREATE TABLE later (x INTEGER)"] }, (engine) => set(engine, "a", "1"));
  const before = readFileSync(path, "base64");
  await expect(openSqliteEngine({ path })).rejects.toMatchObject({ code: "store_newer", details: { schema_version: migrations.length + 1, newest_known: migrations.length } });
  expect(readFileSync(path, "base64")).toBe(before);
});

test("an older store is copied aside, then migrated; the copy is the store as it was", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "store.db");
  await openAnd({ path }, (engine) => set(engine, "a", "1"));
  const newer = [...migrations, "CREATE TABLE later (x INTEGER)"];
  await openAnd({ path, migrations: newer }, async (engine) => {
    expect((await engine.health("test")).facts).toMatchObject({ schema_version: newer.length });
    await set(engine, "a", "2");
  });
  const [copy, ...more] = readdirSync(folder).filter((name) => name.startsWith("store.db.backup-"));
  expect(more).toEqual([]);
  expect(copy).toMatch(/^store\.db\.backup-\d{8}T\d{9}Z-schema-2$/);
  expect(await openAnd({ path: join(folder, copy as string) }, all)).toEqual([["a", "1", 1]]);
});

test("a migration that fails leaves the store as it was", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "store.db");
  await openAnd({ path }, (engine) => set(engine, "a", "1"));
  await expect(openSqliteEngine({ path, migrations: [...migrations, "CREATE TABLE later (x INTEGER); INSERT INTO nowhere VALUES (1)"] })).rejects.toMatchObject({
    code: "internal",
  });
  expect(await openAnd({ path }, all)).toEqual([["a", "1", 1]]);
});

test("a backup opens as a store of its own and never takes a name that is taken", async () => {
  const path = join(await temporaryFolder(), "store.db");
  await openAnd({ path }, async (engine) => {
    await set(engine, "a", "1");
    const first = await backUpFile(path);
    await set(engine, "a", "2");
    const second = await backUpFile(path);
    expect(second).not.toBe(first);
    expect(await openAnd({ path: first }, all)).toEqual([["a", "1", 1]]);
    expect(await openAnd({ path: second }, all)).toEqual([["a", "2", 2]]);
    await expect(backUpFile(path, { label: "../elsewhere" })).rejects.toMatchObject({ code: "invalid_input" });
  });
});

test("a network file system is refused by name, a local one is not", async () => {
  const path = join(await temporaryFolder(), "store.db");
  for (const [type, name] of [
    [0x6969, "NFS"],
    [0xff534d42, "CIFS"],
    [0xfe534d42, "SMB2"],
  ] as const)
    await expect(openSqliteEngine({ path, fileSystemType: () => type })).rejects.toMatchObject({ code: "store_unsupported", message: expect.stringContaining(name) });
  await openAnd({ path, fileSystemType: () => 0xef53 }, (engine) => set(engine, "a", "1"));
});

test("a folder in the file's place is refused; a symlink leads to the same store", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "store.db"));
  await expect(openSqliteEngine({ path: join(folder, "store.db") })).rejects.toMatchObject({ code: "store_unsupported", message: expect.stringContaining("folder") });
  await openAnd({ path: join(folder, "real.db") }, (engine) => set(engine, "a", "1"));
  await symlink(join(folder, "real.db"), join(folder, "link.db"));
  expect(await openAnd({ path: join(folder, "link.db") }, all)).toEqual([["a", "1", 1]]);
});

test("eight processes open a new file at the same moment and all of them work", async () => {
  // Again and again in test/store/concurrency/opening.campaign.ts.
  await openAtOnce(join(await temporaryFolder(), "store.db"));
});
