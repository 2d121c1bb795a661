import { expect, onTestFinished, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { NamespaceQuota } from "../../src/store/namespace-quota.ts";
import { openNamespaceStore, openReservedStore } from "../../src/store/namespace-store.ts";
import type { CommitResult, Engine, Store } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";

const put = (store: Store, key = "k"): Promise<CommitResult> => store.commit({ writes: [{ op: "put", key, value: 1 }], writer: "tester" });
const full = { code: "limit_exceeded", details: { field: "namespace" } };

function promised(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function openStores(max: number) {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  onTestFinished(async () => engine[Symbol.asyncDispose]());
  let looks = 0;
  const counting = new Proxy<Engine>(engine, {
    get(target, name) {
      if (name === "namespaces") looks += 1;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  /** As many processes as it is called times. */
  const process = () => {
    const namespaces = new NamespaceQuota(counting, clock, max);
    return (name: string): Store => openNamespaceStore(counting, name, clock, { namespaces });
  };
  return { clock, engine, process, looks: () => looks };
}

test("a store takes as many namespaces as it may have; those that are there continue, and all may be read", async () => {
  const { engine, clock, process } = openStores(3);
  await put(openReservedStore(engine, ".system", clock));
  await put(openNamespaceStore(engine, "older", clock));
  const open = process();
  for (const name of ["a", "b"]) expect((await put(open(name))).ok).toBe(true);
  await expect(put(open("c"))).rejects.toMatchObject(full);
  expect((await open("c").read({ start: "" })).entries).toEqual([]);
  for (const name of ["older", "a", "b"]) expect((await put(open(name), "again")).ok).toBe(true);
  expect(await engine.namespaces()).toEqual([".system", "a", "b", "older"]);
});

test("many new ones at one moment do not pass the limit, and each is let in once", async () => {
  const { engine, process } = openStores(5);
  const open = process();
  const results = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => put(open(`n${i % 20}`), `k${i}`)));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  expect(await engine.namespaces()).toHaveLength(5);
});

test("one that is being made counts before it is there", async () => {
  const { engine, clock } = openStores(1);
  const [begun, held] = [promised(), promised()];
  const slow = new Proxy<Engine>(engine, {
    get(target, name) {
      if (name === "commit")
        return async (...args: Parameters<Engine["commit"]>) => {
          begun.resolve();
          if (args[0] === "one") await held.promise;
          return target.commit(...args);
        };
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const namespaces = new NamespaceQuota(slow, clock, 1);
  const [one, other] = ["one", "other"].map((name) => openNamespaceStore(slow, name, clock, { namespaces })) as [Store, Store];
  const first = put(one);
  await begun.promise;
  await expect(put(other)).rejects.toMatchObject(full);
  held.resolve();
  expect((await first).ok).toBe(true);
});

test("a commit that comes to nothing takes no place for good", async () => {
  const { process } = openStores(1);
  const open = process();
  expect((await open("a").commit({ checks: [{ key: "k", is: "present" }], writes: [{ op: "put", key: "k", value: 1 }], writer: "tester" })).ok).toBe(false);
  expect((await put(open("b"))).ok).toBe(true);
  await expect(put(open("a"))).rejects.toMatchObject(full);
});

test("what another process made counts, and is known", async () => {
  const { clock, process } = openStores(2);
  const [one, other] = [process(), process()];
  await put(one("a"));
  await put(other("b"));
  await expect(put(other("c"))).rejects.toMatchObject(full);
  clock.advance(1_000);
  await expect(put(one("c"))).rejects.toMatchObject(full);
  expect((await put(one("b"), "again")).ok).toBe(true);
});

test("the names are requested seldom: once for many commits, and of a full store once a second", async () => {
  const { process, looks } = openStores(1_000);
  const open = process();
  for (let i = 0; i < 9; i += 1) for (let k = 0; k < 5; k += 1) await put(open(`n${i}`), `k${k}`);
  expect(looks()).toBe(1);
  const small = openStores(1);
  const tight = small.process();
  await put(tight("a"));
  const before = small.looks();
  for (let i = 0; i < 20; i += 1) await expect(put(tight(`x${i}`))).rejects.toMatchObject(full);
  expect(small.looks()).toBe(before + 1);
  small.clock.advance(1_000);
  for (let i = 0; i < 20; i += 1) await expect(put(tight(`x${i}`))).rejects.toMatchObject(full);
  expect(small.looks()).toBe(before + 2);
});
