import { copyFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSchemaSum, schemaSum } from "../../src/engines/sqlite/check-file.ts";
import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";
import { migrate } from "../../src/engines/sqlite/schema.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { limits } from "../../src/store/limits.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import { everything, keyRange } from "../../src/store/ranges.ts";
import type { Commit, Engine } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { writeAsSchemaOne } from "../support/older-store.ts";
import type { Worker } from "../support/spawn-worker.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const namespace = "test";

const commits: readonly Commit[] = [
  { writer: "w", agent: "a", writes: [{ op: "put", key: "plain", value: "one", record: { kind: "state", op: "set", subject: "plain" } }] },
  { writer: "w", writes: [{ op: "put", key: "plain", value: "two" }] },
  { writer: "w", writes: [{ op: "put", key: "lease", value: 1, ttlMs: 60_000, lapse: { kind: "lease", op: "expire", subject: "lease" } }] },
  { writer: "w", writes: [{ op: "put", key: "gone", value: 1 }] },
  { writer: "w", writes: [{ op: "delete", key: "gone" }] },
  { writer: "w", request: { key: "once", fingerprint: "f", note: { n: 1 } }, writes: [{ op: "put", key: "requested", value: 1 }] },
  {
    writer: "w",
    writes: [
      {
        op: "put",
        key: "note",
        value: "text",
        index: {
          area: "notes",
          length: 2,
          terms: [
            ["red", 100],
            ["blue", 50],
          ],
        },
      },
    ],
  },
];

async function fill(path: string): Promise<void> {
  await using engine = await openSqliteEngine({ path, clock: manualClock() });
  for (const commit of commits) await engine.commit(namespace, [prepareCommit(commit)]);
}

async function storeWith(damage: string): Promise<Engine> {
  const path = join(await temporaryFolder(), "store.db");
  await fill(path);
  const database = (await loadSqliteDriver()).open(path);
  database.exec(damage);
  database.close();
  // As a store that is too large to be checked whole: reading it is what has to find the damage.
  return openSqliteEngine({ path, clock: manualClock(), checkedWholeBytes: 0 });
}

const everythingOf = async (engine: Engine): Promise<unknown> => ({
  live: await engine.read(namespace, [everything], {}),
  past: await engine.read(namespace, [everything], { at: 4 }),
  log: await engine.log(namespace, { ranges: [everything] }),
  keys: await engine.dump(namespace, { part: "keys" }),
  requests: await engine.dump(namespace, { part: "requests", after: { keptUntilMs: 0 } }),
  found: await engine.search(namespace, { areas: ["notes"], terms: ["red", "blue"] }),
});

const live = (engine: Engine): Promise<unknown> => engine.read(namespace, [everything], {});
const listed = (engine: Engine): Promise<unknown> => engine.read(namespace, [everything], { values: false });
const logged = (engine: Engine): Promise<unknown> => engine.log(namespace, { ranges: [everything] });
const second = (engine: Engine): Promise<unknown> => engine.log(namespace, { ranges: [everything], after: 1, before: 3, previous: true });
const past = (engine: Engine): Promise<unknown> => engine.read(namespace, [keyRange("plain")], { at: 1 });
const searched = (engine: Engine): Promise<unknown> => engine.search(namespace, { areas: ["notes"], terms: ["red", "blue"] });
const requested = (engine: Engine): Promise<unknown> => engine.readRequest(namespace, "once");
const write =
  (key: string) =>
  (engine: Engine): Promise<unknown> =>
    engine.commit(namespace, [prepareCommit({ writer: "w", writes: [{ op: "put", key, value: 9 }] })]);

test.each<[damage: string, ask: (engine: Engine) => Promise<unknown>, record: RegExp]>([
  [`UPDATE log SET v = replace(v, '"two"', '"twi"')`, live, /key "plain"/],
  [`UPDATE log SET v = replace(v, '"one"', '"onf"')`, logged, /revision 1 /],
  [`UPDATE log SET v = replace(v, '"one"', '"onf"')`, past, /revision 1 /],
  ["UPDATE log SET subject = 'plaim' WHERE subject = 'plain'", logged, /revision 1 /],
  ["UPDATE log SET writer = 'v' WHERE k = 'lease'", logged, /revision 3 /],
  ["UPDATE log SET prev = NULL WHERE k = 'plain' AND ver = 2", past, /revision 2 /],
  [`UPDATE log SET v = replace(v, '"one"', '"onf"')`, second, /revision 1 /],
  ["UPDATE log SET prev = NULL WHERE k = 'plain' AND ver = 2", second, /revision 2 /],
  ["DELETE FROM log WHERE k = 'plain' AND ver = 1", second, /revision 1 /],
  ["DELETE FROM log WHERE k = 'plain' AND ver = 2", live, /key "plain"/],
  ["DELETE FROM log WHERE k = 'lease'", logged, /revision 4 /],
  ["UPDATE kv SET ver = 3 WHERE k = 'plain'", live, /key "plain"/],
  ["UPDATE kv SET ver = 3 WHERE k = 'plain'", write("plain"), /key "plain"/],
  ["UPDATE kv SET exp = exp + 1 WHERE k = 'lease'", listed, /key "lease"/],
  ["UPDATE kv SET agent = 'b' WHERE k = 'note'", listed, /key "note"/],
  ["UPDATE kv SET k = 'plaim' WHERE k = 'plain'", live, /key "plaim"/],
  ["UPDATE log SET k = 'plaim' WHERE k = 'plain' AND ver = 2", live, /key "plain"/],
  ["UPDATE kv SET at = at + 1 WHERE k = 'plain'", live, /key "plain"/],
  ["UPDATE kv SET writer = 'v' WHERE k = 'plain'", live, /key "plain"/],
  ["UPDATE kv SET agent = 'b' WHERE k = 'plain'", live, /key "plain"/],
  ["UPDATE log SET v = (SELECT v FROM log WHERE k = 'plain' AND ver = 1) WHERE k = 'plain' AND ver = 2", live, /key "plain"/],
  ["UPDATE log SET v = substr(v, 1, 6) WHERE k = 'plain' AND ver = 2", live, /key "plain"/],
  ["UPDATE log SET v = '' WHERE k = 'gone' AND ver = 1 AND op = 1", logged, /revision 5 /],
  ["UPDATE kv SET anchor = 256 WHERE k = 'plain'", write("plain"), /key "plain"/],
  ["UPDATE tombstone SET ver = 7 WHERE k = 'gone'", write("gone"), /key "gone"/],
  [`UPDATE request SET outcome = replace(outcome, '"n":1', '"n":2')`, requested, /request key "once"/],
  ["UPDATE request SET fingerprint = 'g'", requested, /request key "once"/],
  ["UPDATE request SET kept_until = kept_until + 1", requested, /request key "once"/],
  ["UPDATE posting SET weight = 101 WHERE term = 'red'", searched, /term "red"/],
  ["DELETE FROM posting WHERE term = 'red'", searched, /term "red"/],
  ["UPDATE term SET documents = 2 WHERE term = 'blue'", searched, /term "blue"/],
  ["UPDATE area SET length = 3", searched, /area "notes"/],
  ["UPDATE document SET length = 3", write("note"), /key "note"/],
])("%s is reported, naming the record, and no wrong value is returned", async (damage, ask, record) => {
  await using engine = await storeWith(damage);
  await expect(ask(engine)).rejects.toMatchObject({ code: "store_damaged", details: { record: expect.stringMatching(record) } });
});

test.each([
  ["UPDATE namespace SET version_floor = 5", /namespace "test"/],
  ["UPDATE namespace SET name = 'tesu'", /namespace "tesu"/],
  [`UPDATE namespace SET aside = '{"base":900}'`, /namespace "test"/],
  ["UPDATE log SET at = at + 1000000 WHERE k = 'note'", /revision 7 /],
])("%s is reported when the store is opened", async (damage, record) => {
  await expect(storeWith(damage)).rejects.toMatchObject({ code: "store_damaged", details: { record: expect.stringMatching(record) } });
});

test("a small store is checked whole when it is opened, also what no ordinary read would meet", async () => {
  const path = join(await temporaryFolder(), "store.db");
  await fill(path);
  const database = (await loadSqliteDriver()).open(path);
  // The entry is gone without a trace among the entries; the log still has it.
  database.exec("DELETE FROM kv WHERE k = 'requested'");
  database.close();
  await expect(openSqliteEngine({ path })).rejects.toMatchObject({ code: "store_damaged", details: { record: 'key "requested"' } });
});

test("checking the files of a large store names every damaged record, and says how far it is", async () => {
  await using engine = await storeWith(
    `UPDATE log SET v = replace(v, '"two"', '"twi"'); UPDATE posting SET weight = 101 WHERE term = 'red'; UPDATE kv SET ver = 9 WHERE k = 'lease'`,
  );
  let rows = 0;
  const damaged = await engine.checkFiles((count) => {
    rows += count;
  });
  expect(damaged).toEqual(['key "lease"', "revision 2 in the log (row 0)", 'the text index of term "red"']);
  expect(rows).toBeGreaterThanOrEqual(commits.length);
});

test("tables that are not as Holdfast makes them are damage, not a failure of ours", async () => {
  const database = (await loadSqliteDriver()).open(":memory:");
  migrate(database, () => {});
  expect(readSchemaSum(database)).toBe(schemaSum);
  database.close();
  await expect(storeWith("ALTER TABLE kv RENAME COLUMN exp TO exq")).rejects.toMatchObject({ code: "store_damaged" });
  await expect(storeWith("DROP INDEX kv_by_expiry")).rejects.toMatchObject({ code: "store_damaged" });
});

test("a store of schema 1 is copied aside, migrated, and answers as before", async () => {
  const folder = await temporaryFolder();
  const [path, older] = [join(folder, "store.db"), join(folder, "older.db")];
  await fill(path);
  const expected = await (async () => {
    await using engine = await openSqliteEngine({ path, clock: manualClock() });
    return await everythingOf(engine);
  })();
  await writeAsSchemaOne(path, older);
  {
    await using engine = await openSqliteEngine({ path: older, clock: manualClock() });
    expect(await everythingOf(engine)).toEqual(expected);
    expect(await engine.commit(namespace, [prepareCommit({ writer: "w", writes: [{ op: "put", key: "gone", value: 2 }] })])).toMatchObject([
      { ok: true, writes: [{ version: 2 }] },
    ]);
  }
  expect(readdirSync(folder).filter((name) => /^older\.db\.backup-.*-schema-1$/.test(name))).toHaveLength(1);
});

test("a process that is killed while it migrates leaves the older store, and the next one migrates it", async () => {
  const folder = await temporaryFolder();
  const [path, older] = [join(folder, "store.db"), join(folder, "older.db")];
  await fill(path);
  await writeAsSchemaOne(path, older);
  const worker = spawnWorker<{ migrated: boolean }>("killed-migration", { path: older });
  expect(await worker.next()).toEqual({ migrated: true });
  await worker.kill();
  const database = (await loadSqliteDriver()).open(older);
  expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
  expect(database.prepare("SELECT count(*) AS columns FROM pragma_table_info('kv')").get()).toEqual({ columns: 11 });
  database.close();
  await using engine = await openSqliteEngine({ path: older, clock: manualClock() });
  expect((await engine.log(namespace, { ranges: [everything], limit: limits.logRowsMax })).rows).toHaveLength(commits.length);
});

/** A store whose only process was killed: the last commits are in its write-ahead log alone. */
async function leftByKill(): Promise<{ readonly path: string; readonly revision: number }> {
  const path = join(await temporaryFolder(), "store.db");
  const worker = spawnWorker<{ revision: number }>("sqlite-opener", { path, key: "k" });
  await worker.next();
  let revision = 0;
  for (let i = 0; i < 20; i += 1) {
    worker.send({});
    ({ revision } = await worker.next());
  }
  await worker.kill();
  return { path, revision };
}

const revisionOf = async (path: string): Promise<number> => {
  await using engine = await openSqliteEngine({ path });
  return (await engine.read("shared", [everything], {})).revision;
};

test("a killed process leaves a log that is whole, and its store opens with every acknowledged revision", async () => {
  const { path, revision } = await leftByKill();
  expect(await revisionOf(path)).toBe(revision);
});

test.each<[how: string, spoil: (wal: string) => void]>([
  [
    "a changed byte",
    (wal) => {
      const bytes = readFileSync(wal);
      const middle = Math.floor(bytes.length / 2);
      bytes[middle] = (bytes[middle] as number) ^ 1;
      writeFileSync(wal, bytes);
    },
  ],
  ["a damaged header", (wal) => writeFileSync(wal, readFileSync(wal).fill(0x55, 8, 9))],
  ["a cut", (wal) => truncateSync(wal, Math.floor(statSync(wal).size / 2))],
  ["a removal", (wal) => rmSync(wal)],
])("a write-ahead log that lost its end to %s is noticed at every opening, and left as it is", async (_how, spoil) => {
  const { path, revision } = await leftByKill();
  spoil(`${path}-wal`);
  const before = readFileSync(path, "base64");
  for (const _ of [1, 2])
    await expect(openSqliteEngine({ path })).rejects.toMatchObject({ code: "store_damaged", message: expect.stringContaining(`revision ${revision} was acknowledged`) });
  expect(readFileSync(path, "base64")).toBe(before);
});

test("a backup put in the store's place, and a copy elsewhere, are not taken for a loss", async () => {
  const folder = await temporaryFolder();
  const [path, backup, copy] = ["store.db", "backup.db", "copy.db"].map((name) => join(folder, name)) as [string, string, string];
  const commitTimes = async (key: string, times: number): Promise<Worker<{ revision: number }>> => {
    const worker = spawnWorker<{ revision: number }>("sqlite-opener", { path, key });
    await worker.next();
    for (let i = 0; i < times; i += 1) {
      worker.send({});
      await worker.next();
    }
    return worker;
  };
  const first = await commitTimes("first", 5);
  first.send({ stop: true });
  await first.ended();
  copyFileSync(path, backup);
  await (await commitTimes("second", 5)).kill();
  for (const suffix of ["", "-wal", "-bell"]) copyFileSync(`${path}${suffix}`, `${copy}${suffix}`);
  expect(await revisionOf(copy)).toBe(10);
  // Into the same file, as `cp` does, with the signal file and its notes left beside it.
  for (const suffix of ["-wal", "-shm"]) rmSync(`${path}${suffix}`);
  writeFileSync(path, readFileSync(backup));
  expect(statSync(`${path}-bell`).size).toBeGreaterThan(64);
  expect(await revisionOf(path)).toBe(5);
});

test("a namespace that was cleared starts again without being taken for a loss", async () => {
  const path = join(await temporaryFolder(), "store.db");
  {
    await using engine = await openSqliteEngine({ path });
    for (const commit of commits) await engine.commit("shared", [prepareCommit(commit)]);
    await engine.seal("shared", { state: "filling", progress: null });
    await engine.clear("shared");
  }
  expect(await revisionOf(path)).toBe(0);
});

test("a store that was compacted, whose deleted keys were forgotten, and one that is half filled are whole", async () => {
  const folder = await temporaryFolder();
  const [path, half] = [join(folder, "store.db"), join(folder, "half.db")];
  const clock = manualClock();
  {
    await using engine = await openSqliteEngine({ path, clock });
    for (let i = 0; i < 120; i += 1)
      await engine.commit(namespace, [
        prepareCommit({ writer: "w", writes: [i % 3 === 2 ? { op: "delete", key: `k${(i % 30) - 1}` } : { op: "put", key: `k${i % 30}`, value: i }] }),
      ]);
    clock.advance(10_000);
    for (let more = true; more; ) ({ more } = await engine.compact(namespace, { ageMs: 1, revisions: 20, tombstones: 2 }, 10));
  }
  await using engine = await openSqliteEngine({ path, clock });
  expect(await engine.checkFiles()).toEqual([]);
  const { records } = await engine.dump(namespace, { part: "log", after: 0 });
  const keys = await engine.dump(namespace, { part: "keys" });
  {
    await using filled = await openSqliteEngine({ path: half, clock });
    await filled.seal(namespace, { state: "filling", progress: null });
    await filled.load(namespace, records.slice(0, 15));
    await filled.load(namespace, keys.records);
  }
  await using reopened = await openSqliteEngine({ path: half, clock });
  expect(await reopened.checkFiles()).toEqual([]);
});

test.each(["at = at + 1", "writer = 'v'", "agent = 'b'", "sum = sum + 1", "slot_sum = slot_sum + 1"])("checking the files finds an entry with %s", async (change) => {
  await using engine = await storeWith(`UPDATE kv SET ${change} WHERE k = 'plain'`);
  expect(await engine.checkFiles(() => {})).toEqual(['key "plain"']);
});
