import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { findableText } from "../../src/domain/findable/findable-text.ts";
import { saveCheckpoint } from "../../src/domain/research/checkpoints.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { StoredKey } from "../../src/store/store.ts";
import { restoreInPlace } from "../../src/transfer/files/restore-in-place.ts";
import { keyPages, recordsOf } from "../../src/transfer/stores/dump-pages.ts";
import { openCommandLine } from "../support/cli-host.ts";
import { manualClock } from "../support/manual-clock.ts";
import { soon } from "../support/soon.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runOnStores } from "./cli-stores.ts";

let folder: string;
let store: string;
let backup: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  store = `sqlite:${join(folder, "store.db")}`;
  backup = join(folder, "backup.jsonl.gz");
});

const holdfast = (...args: string[]) => runOnStores(args);
const on = async (url: string, ...args: string[]) => JSON.parse((await holdfast(...args, "--store", url, "--json")).stdout) as Record<string, unknown>;
const here = (...args: string[]) => on(store, ...args);
const fresh = (name: string): string => `sqlite:${join(folder, `${name}.db`)}`;

/** The machine's clock shows another millisecond than now. */
const aMomentLater = (): Promise<void> => {
  const nowMs = Date.now();
  return soon(() => expect(Date.now()).toBeGreaterThan(nowMs + 1));
};

describe("a backup is restored", () => {
  test("with its history, and above everything that can have been given since", async () => {
    await here("set", "a", "1");
    const { token: before } = await here("lease", "acquire", "deploy", "--ttl", "1s", "--agent", "ann");
    await holdfast("backup", backup, "--store", store);
    // The old store went on: these were given, and may be in somebody's hands.
    const after = await here("set", "a", "2");
    const there = fresh("restored");
    expect(await on(there, "restore", backup, "--yes")).toMatchObject({ applied: true, namespaces: [{ namespace: "default", history_through: 2, revision: expect.any(Number) }] });
    expect(await on(there, "get", "a")).toMatchObject({ value: 1, version: 1 });
    const next = await on(there, "set", "a", "3");
    expect(next.version).toBeGreaterThan(1_000_000_000);
    expect(next.revision).toBeGreaterThan(1_000_000_000);
    expect(after).toMatchObject({ version: 2 });
    const { token } = await soon(async () => {
      const taken = await on(there, "lease", "acquire", "deploy", "--ttl", "1s", "--agent", "bob");
      expect(taken.acquired).toBe(true);
      return taken;
    });
    expect(token).toBeGreaterThan(before as number);
    expect(token).toBeGreaterThan(1_000_000_000);
    expect((await on(there, "history", "log", "a")).total).toBe(2);
    // Restored twice, the second stands above the first only by its own leap: both are far above the original.
    expect(await holdfast("restore", backup, "--store", there, "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("has data already") });
  });

  test("up to a revision or a moment that its history reaches, with what could be found then", async () => {
    await here("set", "a", "1");
    await here("knowledge", "save", "limits", "Parcels may weigh thirty kilos");
    await here("set", "later", "1");
    await aMomentLater();
    const moment = new Date().toISOString();
    await aMomentLater();
    await here("knowledge", "save", "limits", "Letters are another matter");
    await here("rm", "a");
    await here("set", "late", "1", "--request-key", "late");
    await holdfast("backup", backup, "--store", store);
    for (const [name, at] of [
      ["by-revision", "3"],
      ["by-time", moment],
    ] as const) {
      const there = fresh(name);
      expect(await on(there, "restore", backup, "--at", at, "--yes")).toMatchObject({ namespaces: [{ history_through: 3 }] });
      expect(await on(there, "get", "a")).toMatchObject({ value: 1, version: 1 });
      expect((await on(there, "ls")).entries).toHaveLength(2);
      expect(JSON.stringify(await on(there, "knowledge", "recall", "heavy parcels"))).toContain("thirty kilos");
      expect(JSON.stringify(await on(there, "knowledge", "recall", "letters"))).not.toContain("another matter");
      // What was asked after that moment has not been asked.
      expect(await on(there, "set", "late", "2", "--request-key", "late")).toMatchObject({ ok: true });
      expect(await on(there, "get", "late")).toMatchObject({ value: 2 });
    }
    expect(await holdfast("restore", backup, "--at", "99", "--store", fresh("x"), "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("revision 99 is not in the file; the newest is 6"),
    });
    expect(await holdfast("restore", backup, "--at", "yesterday", "--store", fresh("x"), "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--at: must be a revision, or a time"),
    });
  });

  test("not to before its history begins", async () => {
    for (let i = 1; i <= 5; i += 1) await here("set", "a", String(i));
    {
      await using engine = await openEngine(store);
      await engine.compact("default", { ageMs: 1e12, revisions: 2, tombstones: 0 }, 1_000);
    }
    await holdfast("backup", backup, "--store", store);
    expect(await holdfast("restore", backup, "--at", "2", "--store", fresh("x"), "--yes")).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("Revision 2 is no longer kept"),
    });
    expect(await holdfast("restore", backup, "--at", "2020-01-01", "--store", fresh("x"), "--yes")).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("history in the file begins"),
    });
    expect(await on(fresh("x"), "restore", backup, "--at", "3", "--yes")).toMatchObject({ namespaces: [{ history_through: 3 }] });
    expect(await on(fresh("x"), "get", "a")).toMatchObject({ value: 3, version: 3 });
  });

  test("a second time from the same file, it continues elsewhere: numbers issued after the first are not issued again", async () => {
    await here("set", "a", "1");
    await holdfast("backup", backup, "--store", store);
    const revisions = [];
    for (const name of ["first", "second"]) {
      await on(fresh(name), "restore", backup, "--yes");
      revisions.push((await on(fresh(name), "set", "a", "2")).revision);
    }
    expect(revisions[0]).not.toBe(revisions[1]);
  });
});

describe("in place, a namespace in use", () => {
  test("is changed back by new commits on top, and nothing is lost", async () => {
    await here("set", "a", "1");
    await here("set", "b", '{"deep":[1]}');
    await here("set", "b", "2");
    await here("rm", "a");
    await here("set", "new", "1");
    expect(await holdfast("restore", "--in-place", "--at", "2", "--store", store)).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect(await here("restore", "--in-place", "--at", "2", "--yes")).toEqual({ namespace: "default", restored_to: 2, written: 2, removed: 1, same: 0, revision: 6 });
    expect(await here("get", "a")).toMatchObject({ value: 1, version: 2 });
    expect(await here("get", "b")).toMatchObject({ value: { deep: [1] }, version: 3 });
    expect((await here("ls")).entries).toHaveLength(2);
    expect((await here("history", "log")).entries).toMatchObject([
      { op: "restore", key: "new" },
      { op: "restore", key: "b" },
      { op: "restore", key: "a", writer: "operator" },
      {},
      {},
      {},
      {},
      {},
    ]);
    expect(await here("restore", "--in-place", "--at", "2", "--yes")).toMatchObject({ written: 0, removed: 0, same: 2, revision: 6 });
    // And the way back, by the same way.
    expect(await here("restore", "--in-place", "--at", "5", "--yes")).toMatchObject({ written: 2, removed: 1 });
    expect((await here("ls")).entries).toHaveLength(2);
  });

  test("takes the past from a file too, and finds its texts again", async () => {
    await here("knowledge", "save", "limits", "Parcels may weigh thirty kilos");
    await holdfast("backup", backup, "--store", store);
    await here("knowledge", "save", "limits", "Something else");
    await here("set", "a", "1");
    expect(await here("restore", backup, "--in-place", "--yes")).toMatchObject({ written: 1, removed: 1 });
    expect(JSON.stringify(await here("knowledge", "recall", "heavy parcels"))).toContain("thirty kilos");
  });

  test("keeps its leases, and what has expired since stays away", async () => {
    await here("lease", "acquire", "deploy", "--ttl", "60s", "--agent", "ann");
    await here("set", "short", "1", "--ttl", "1ms");
    await here("lease", "release", "deploy", "--agent", "ann");
    await here("lease", "acquire", "deploy", "--ttl", "60s", "--agent", "bob");
    await here("restore", "--in-place", "--at", "2", "--yes");
    expect(await here("lease", "acquire", "deploy", "--ttl", "60s", "--agent", "ann")).toMatchObject({ acquired: false, holder: "bob" });
    expect(await holdfast("get", "short", "--store", store)).toMatchObject({ code: 1 });
  });

  test("refuses what it cannot mean", async () => {
    await here("set", "a", "1");
    expect(await holdfast("restore", "--in-place", "--store", store, "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("--at: is missing") });
    expect(await holdfast("restore", "--in-place", "--at", "9", "--store", store, "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("has not happened yet") });
    expect(await holdfast("restore", "--in-place", "--at", "1", "--undo", "--store", store)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--undo: does not go with --in-place"),
    });
    await using engine = await openEngine(store);
    expect((await engine.dump("default", { part: "keys" })).facts.seal).toBeUndefined();
  });

  test("asks on a terminal", async () => {
    const { run } = openCommandLine({ terminal: true, stdinIsTerminal: true });
    await run(["set", "a", "1"]);
    await run(["set", "a", "2"]);
    const declined = await run(["restore", "--in-place", "--at", "1"], { stdin: ["n\n"] });
    expect(declined).toMatchObject({ code: 1, stdout: expect.stringContaining('Change the namespace "default" back to its state as of revision 1? [y/N]') });
    expect(await run(["restore", "--in-place", "--at", "1"], { stdin: ["y\n"] })).toMatchObject({ code: 0 });
    expect((await run(["get", "a"])).stdout).toContain("1");
  });

  test("many pages and long values, while others write to the same keys", async () => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    const live = openNamespaceStore(engine, "n", clock);
    const write = (key: string, value: string | number) => live.commit({ writer: "w", writes: [{ op: "put", key, value }] });
    for (let i = 0; i < 300; i += 1) await write(`k${i}`, i % 20 === 0 ? "x".repeat(900_000) : i);
    const { revision: at, entries: then } = await live.read(everything, { values: true });
    for (let i = 0; i < 400; i += 2) await write(`k${i}`, "changed");
    // Somebody is quicker than the restoration, a few times.
    let races = 0;
    const commit: typeof live.commit = async (given) => {
      races += 1;
      if (races <= 3) await write("k0", `busy ${races}`);
      return live.commit(given);
    };
    const done = await restoreInPlace({ store: { ...live, commit }, clock, writer: "operator" }, (range, limit) => live.read(range, { at, limit }));
    expect(done).toMatchObject({ written: 150, removed: 50, same: 150 });
    const brief = (entries: typeof then) => entries.map(({ key, value }) => [key, typeof value === "string" ? value.length : value]);
    expect(brief((await live.read(everything)).entries)).toEqual(brief(then));
  });
});

test("the text of a restored entry is the one its own tool gives it", async () => {
  const { run } = openCommandLine();
  await run(["knowledge", "save", "global", "one two three", "--keywords", "four"]);
  await run(["knowledge", "save", "of-skill", "five six", "--skill", "shipping"]);
  await run(["checkpoint", "Wrote a parser", "--highlights", "it is fast"]);
  const file = join(folder, "all.jsonl");
  expect(await run(["export", file])).toMatchObject({ code: 0 });
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const scope = { store: openNamespaceStore(engine, "n", clock), clock, writer: "w" };
  await saveCheckpoint(scope, {
    coreQuestion: "How?",
    thesis: "Like this",
    confidence: 0.5,
    trigger: "manual",
    openQuestions: ["why"],
    sources: [],
    tensions: [],
    uniqueContributions: [],
  });
  const found = [...(await textsIn(file)), ...(await textsOf(engine, "n"))];
  expect(found.map(({ key }) => key.split("/").slice(0, 2).join("/"))).toEqual(expect.arrayContaining(["knowledge/note", "journal/entry", "research/checkpoint"]));
  for (const { key, value, index } of found) expect({ key, index: sorted(findableText(key, value)) }).toEqual({ key, index: sorted(index) });
});

const sorted = (index: StoredKey["index"]) => index && { ...index, terms: index.terms.toSorted() };

async function textsOf(engine: MemoryEngine, namespace: string) {
  const { entries } = await engine.read(namespace, [everything], {});
  const found = [];
  for await (const { key, index } of recordsOf(keyPages(engine, namespace)))
    if (index !== undefined) found.push({ key, index, value: entries.find((entry) => entry.key === key)?.value ?? null });
  return found;
}

async function textsIn(file: string) {
  const { loadExport, planLoad } = await import("../../src/transfer/files/load-export.ts");
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const options = { engine, clock, path: file, into: new Map([["default", "default"]]), leaps: false };
  await loadExport(options, await planLoad(options));
  return textsOf(engine, "default");
}
