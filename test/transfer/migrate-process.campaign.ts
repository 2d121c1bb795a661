import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { prefixRange, rangeAfter } from "../../src/store/ranges.ts";
import type { Range, Store } from "../../src/store/store.ts";
import type { Finished } from "../support/cli-process.ts";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";
import { engineNamed, sharedEngines } from "../support/engines.ts";
import { atPace } from "../support/pace.ts";
import { scaled } from "../support/scale.ts";
import { spawnWorker } from "../support/spawn-worker.ts";

let executable: Awaited<ReturnType<typeof buildExecutable>>;
beforeAll(async () => {
  executable = await buildExecutable();
});
afterAll(() => executable.remove());

const namespace = "shared";
const writers = scaled(8, 2);
const migrate = (...args: string[]) => startExecutable(executable.main, ["migrate", ...args, "--namespace", namespace, "--json"]);

interface Promised {
  readonly name: string;
  readonly written: number;
  readonly moves: number;
  readonly refusals: number;
  readonly tokens: readonly number[];
  readonly place: number;
}

/** Something to copy, so that writers write meanwhile and a kill comes in the middle. */
async function fill(url: string, entries: number): Promise<void> {
  await using engine = await openEngine(url);
  const store = openNamespaceStore(engine, namespace, systemClock);
  for (let from = 0; from < entries; from += 1_000)
    await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        store.commit({
          writer: "filler",
          writes: Array.from({ length: 10 }, (__, j) => ({ op: "put" as const, key: `filled/${from + i * 10 + j}`, value: { n: i, text: "x".repeat(200) } })),
        }),
      ),
    );
}

const equal = (finished: Finished): unknown => {
  expect(finished).toMatchObject({ code: 0 });
  return JSON.parse(finished.stdout).namespaces[0];
};

async function audit(store: Store, promised: readonly Promised[]): Promise<void> {
  for (const { name, written } of promised) {
    expect((await store.read(prefixRange(`last/${name}`))).entries[0]).toMatchObject({ value: written, version: written });
    const found: unknown[] = [];
    for (let range: Range | undefined = prefixRange(`each/${name}/`); range !== undefined; ) {
      const page: Awaited<ReturnType<Store["read"]>> = await store.read(range);
      found.push(...page.entries.map(({ value, version }) => (version === 1 ? value : `twice: ${value}`)));
      range = page.more ? rangeAfter(range, page.entries.at(-1)?.key as string) : undefined;
    }
    expect(found).toEqual(Array.from({ length: written }, (_, i) => i + 1));
    expect(await store.readRequest(`${name}/${written}`)).toMatchObject({ outcome: { note: written } });
  }
  // One lease, many holders, several stores: every token once, each holder's own growing.
  const tokens = promised.flatMap((one) => one.tokens);
  expect(tokens.length).toBeGreaterThan(promised.length);
  expect(new Set(tokens).size).toBe(tokens.length);
  for (const one of promised) expect(one.tokens).toEqual(one.tokens.toSorted((a, b) => a - b));
}

/** Until every writer has followed to that store and gone on there, far enough to have taken the lease again. */
async function untilWriting(url: string, count: number): Promise<void> {
  await using engine = await openEngine(url);
  const store = openNamespaceStore(engine, namespace, systemClock);
  const last = async (): Promise<readonly number[]> => (await store.read(prefixRange("last/"))).entries.map(({ value }) => value as number);
  const before = await last();
  if (before.length < count) return systemClock.sleep(5).then(() => untilWriting(url, count));
  while ((await last()).some((value, i) => value < Math.max(25, (before[i] as number) + 12))) await systemClock.sleep(20);
}

async function underWriters(urls: readonly string[], work: () => Promise<void>, count = writers): Promise<void> {
  const workers = Array.from({ length: count }, (_, i) => spawnWorker<"ready" | Promised>("moving-writer", { urls, namespace, name: `w${i}` }));
  for (const worker of workers) expect(await worker.next()).toBe("ready");
  for (const worker of workers) worker.send("go");
  await untilWriting(urls[0] as string, count);
  await work();
  await untilWriting(urls.at(-1) as string, count);
  for (const worker of workers) worker.send("stop");
  const promised: Promised[] = [];
  for (const worker of workers) promised.push((await worker.next()) as Promised);
  expect(promised.map(({ moves }) => moves)).toEqual(workers.map(() => urls.length - 1));
  await using engine = await openEngine(urls.at(-1) as string);
  await audit(openNamespaceStore(engine, namespace, systemClock), promised);
  const total = promised.reduce((sum, { written }) => sum + written, 0);
  console.log(
    `migrated ${urls.length - 1} times under ${count} writers: ${total} writes, ${promised.reduce((sum, { refusals }) => sum + refusals, 0)} refused for a moment, none lost or doubled`,
  );
}

/** Where a migration is killed: with a part of the log in its destination, with all of it, and with all keys as well. */
const killPoints = ["log", "keys", "changes"] as const;
const stages: readonly string[] = [...killPoints, "verified"];

/** Kills a migration with -9, and each that goes on from there, further on each time. */
async function killMidway(from: string, to: string): Promise<void> {
  for (const point of killPoints) await killAt(point, from, to);
}

/** When it has come that far it is frozen and looked at once more: what is seen then is what the kill leaves. */
async function killAt(point: (typeof killPoints)[number], from: string, to: string): Promise<void> {
  await using destination = await openEngine(to);
  const running = migrate(from, to);
  const isThere = async (): Promise<boolean> => {
    const { facts, records } = await destination.dump(namespace, { part: "log", after: 0 });
    if (facts.seal?.state !== "filling" || records.length === 0) return false;
    return stages.indexOf((facts.seal.progress as { readonly stage: string }).stage) >= stages.indexOf(point);
  };
  const isFrozenThere = async (): Promise<boolean> => {
    running.child.kill("SIGSTOP");
    try {
      if (await isThere()) return true;
    } catch (error) {
      // Frozen where it keeps everybody out of the file, it must go on first.
      if (!isHoldfastError(error, "unavailable")) throw error;
    }
    running.child.kill("SIGCONT");
    return false;
  };
  while (running.child.exitCode === null && !((await isThere()) && (await isFrozenThere()))) await systemClock.sleep(5);
  running.child.kill("SIGKILL");
  expect(await running.finished).toMatchObject({ code: null });
  expect(await isThere()).toBe(true);
}

const others = sharedEngines.filter(({ name }) => name !== "SQLite");

describe(`under ${writers} live writers`, () => {
  test("a migration that is killed at three points and run again loses and doubles nothing, and tokens grow on SQLite", async () => {
    const sqlite = engineNamed("SQLite");
    const [from, to] = [await sqlite.freshUrl(), await sqlite.freshUrl()];
    await fill(from, scaled(10_000, 2_000));
    await underWriters([from, to], async () => {
      await killMidway(from, to);
      const again = await migrate(from, to).finished;
      if (again.code !== 0) throw new Error(again.stdout + again.stderr);
      expect(equal(again)).toMatchObject(expect.objectContaining({ namespace }));
    });
  });

  test.runIf(others.length > 0)(`and a round through every store, SQLite → ${others.map(({ name }) => name).join(" → ")} → SQLite, the same`, async () => {
    const round = [engineNamed("SQLite"), ...others, engineNamed("SQLite")];
    const urls: string[] = [];
    for (const one of round) urls.push(await one.freshUrl());
    await fill(urls[0] as string, 2_000);
    await underWriters(urls, async () => {
      for (let i = 1; i < urls.length; i += 1) {
        const { value: finished, pace } = await atPace(() => migrate(urls[i - 1] as string, urls[i] as string).finished);
        const result = equal(finished) as { equal: boolean; writers_paused_ms: number };
        expect(result.equal).toBe(true);
        // Writers are stopped for the last changes, not for the copy.
        expect(result.writers_paused_ms).toBeLessThan(3_000 * pace);
        await untilWriting(urls[i] as string, writers);
      }
    });
  });
});

for (const { name, freshUrl } of others)
  test(`a migration to it and one away from it, each killed at three points and run again, lose and double nothing on ${name}`, async () => {
    const sqlite = engineNamed("SQLite");
    const urls = [await sqlite.freshUrl(), await freshUrl(), await sqlite.freshUrl()] as const;
    await fill(urls[0], 4_000);
    await underWriters(
      urls,
      async () => {
        for (const [from, to] of [
          [urls[0], urls[1]],
          [urls[1], urls[2]],
        ] as const) {
          await killMidway(from, to);
          expect(equal(await migrate(from, to).finished)).toMatchObject({ namespace, equal: true });
        }
      },
      2,
    );
  });
