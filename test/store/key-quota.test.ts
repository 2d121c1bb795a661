import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { acquireLease, releaseLease, renewLease } from "../../src/domain/leases/leases.ts";
import { setState } from "../../src/domain/state/state.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { HoldfastError } from "../../src/kernel/errors.ts";
import { limits } from "../../src/store/limits.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { CommitResult, Engine, Store, Write } from "../../src/store/store.ts";
import { countedEngine } from "../support/counted-engine.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const put = (key: string, ttlMs?: number): Write => ({ op: "put", key, value: 1, ttlMs });
const remove = (key: string): Write => ({ op: "delete", key });
const write = (store: Store, ...writes: Write[]): Promise<CommitResult> => store.commit({ writes, writer: "tester" });
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: HoldfastError) => error.code,
  );

const engines: readonly [string, (clock: Clock) => Promise<Engine>][] = [
  ["memory", async (clock) => new MemoryEngine(clock)],
  ["SQLite", async (clock) => openEngine(`sqlite:${join(await temporaryFolder(), "quota.db")}`, { clock })],
];

describe.each(engines)("a namespace with room for so many keys, on %s", (_name, open) => {
  async function openLimited(keysMax: number, clock: Clock = systemClock): Promise<{ store: Store; engine: Engine; again(): Store }> {
    const engine = await open(clock);
    onTestFinished(async () => engine[Symbol.asyncDispose]());
    const again = (): Store => openNamespaceStore(engine, "full", clock, { keysMax });
    return { store: again(), engine, again };
  }

  test("takes that many and refuses the next one, changing nothing", async () => {
    const { store } = await openLimited(5);
    for (let i = 0; i < 5; i += 1) expect((await write(store, put(`k${i}`))).ok).toBe(true);
    await expect(write(store, put("k5"))).rejects.toMatchObject({ code: "limit_exceeded", details: { field: "keys", max: 5 } });
    await expect(write(store, put("k0"), put("k6"), put("k7"))).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(await store.count(everything)).toBe(5);
    expect((await store.read({ start: "k0", end: "k1" })).entries[0]?.version).toBe(1);
  });

  test("full, it still lets keys be replaced, deleted and exchanged for others", async () => {
    const { store } = await openLimited(3);
    await write(store, put("a"), put("b"), put("c"));
    expect((await write(store, put("a"), put("b"))).ok).toBe(true);
    expect((await write(store, put("d"), remove("a"))).ok).toBe(true);
    expect(await codeOf(write(store, put("e"), remove("nothing there")))).toBe("limit_exceeded");
    expect((await write(store, remove("b"))).ok).toBe(true);
    expect((await write(store, put("e"))).ok).toBe(true);
    expect(await codeOf(write(store, put("f")))).toBe("limit_exceeded");
    expect(await store.count(everything)).toBe(3);
  });

  test("a process that finds it full refuses from its first commit on", async () => {
    const { store, again } = await openLimited(2);
    await write(store, put("a"), put("b"));
    expect(await codeOf(write(again(), put("c")))).toBe("limit_exceeded");
    expect(await codeOf(write(again(), put("a")))).toBe("ok");
  });

  test("any number of commits at one moment never pass it, and none is refused that had room", async () => {
    const { store } = await openLimited(50);
    const codes = await Promise.all(Array.from({ length: 200 }, (_, i) => codeOf(write(store, put(`k${i}`)))));
    expect(codes.filter((code) => code === "ok")).toHaveLength(50);
    expect(await store.count(everything)).toBe(50);
    const replaced = await Promise.all(Array.from({ length: 200 }, (_, i) => codeOf(write(store, put(`k${codes.indexOf("ok") + (i % 1)}`)))));
    expect(new Set(replaced)).toEqual(new Set(["ok"]));
  });

  test("many processes see each other's commits, and pass it together by a few hundredths at most", async () => {
    const { again, engine } = await openLimited(400);
    const processes = Array.from({ length: 8 }, again);
    const refusedOf = async (store: Store, name: number): Promise<void> => {
      for (let i = 0; i < 2_000; i += 1) if ((await codeOf(write(store, put(`${name}/${i}`)))) !== "ok") return;
      throw new Error("never refused");
    };
    await Promise.all(processes.map(refusedOf));
    const keys = await engine.count("full", everything);
    expect(keys).toBeGreaterThanOrEqual(400);
    expect(keys).toBeLessThanOrEqual(400 + 30);
  });
});

describe("the limit on keys", () => {
  test("leases, whose deadlines lapse by themselves, find room again", async () => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    const store = openNamespaceStore(engine, "full", clock, { keysMax: 2 });
    const scope = { store, clock, writer: "tester" };
    expect(await acquireLease(scope, { resource: "a", holder: "x", ttlMs: 5_000 })).toMatchObject({ ok: true });
    await expect(acquireLease(scope, { resource: "b", holder: "x", ttlMs: 5_000 })).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(await renewLease(scope, { resource: "a", holder: "x", ttlMs: 5_000 })).toMatchObject({ ok: true });
    expect(await releaseLease(scope, { resource: "a", holder: "x" })).toEqual({ released: true });
    expect(await acquireLease(scope, { resource: "b", holder: "x", ttlMs: 5_000 })).toMatchObject({ ok: true });
  });

  test("what expired makes room, a second later at most", async () => {
    const clock = manualClock();
    const store = openNamespaceStore(new MemoryEngine(clock), "full", clock, { keysMax: 1 });
    await write(store, put("short", 5_000));
    expect(await codeOf(write(store, put("next")))).toBe("limit_exceeded");
    clock.advance(6_000);
    expect(await codeOf(write(store, put("next")))).toBe("ok");
  });

  test("costs a young namespace one look at its position and no count", async () => {
    const { engine, during } = countedEngine(new MemoryEngine(systemClock));
    const scope = { store: openNamespaceStore(engine, "young", systemClock, { keysMax: 10_000_000 }), clock: systemClock, writer: "tester" };
    const calls = await during(async () => {
      for (let i = 0; i < 200; i += 1) await setState(scope, { key: `k${i}`, value: i });
    });
    expect(calls).toEqual({ position: 1, commit: 200 });
  });

  test("counts an old namespace once, and again only when much was made since", async () => {
    const memory = new MemoryEngine(systemClock);
    const before = openNamespaceStore(memory, "old", systemClock);
    const keysMax = 100 * limits.commitWritesMax;
    for (let i = 0; i < 100; i += 1) await write(before, put(`k${i}`));
    const { engine, during } = countedEngine(memory);
    const store = openNamespaceStore(engine, "old", systemClock, { keysMax });
    const made = (from: number, to: number) =>
      during(async () => {
        for (let i = from; i < to; i += 1) await write(store, put(`n${i}`));
      });
    expect(await made(0, 1_000)).toMatchObject({ count: 1 });
    expect(await made(1_000, 2_000)).toMatchObject({ count: 1 });
  });

  test("a store that cannot be counted says so, and the commit was never sent", async () => {
    const clock = manualClock();
    const memory = new MemoryEngine(clock);
    const broken = new Proxy(memory, {
      get(target, name) {
        if (name === "count") return () => Promise.reject(new Error("cannot count"));
        const member = Reflect.get(target, name, target);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    const store = openNamespaceStore(broken, "full", clock, { keysMax: 1 });
    await write(store, put("a"));
    await expect(write(store, put("b"))).rejects.toThrow("cannot count");
    expect(await memory.count("full", everything)).toBe(1);
  });
});
