import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine, Seal } from "../../src/store/store.ts";
import { readFacts } from "../../src/transfer/stores/change-seal.ts";
import type { CopyOptions } from "../../src/transfer/stores/copy-namespace.ts";
import { snapshotNamespace } from "../../src/transfer/stores/copy-namespace.ts";
import { Hold } from "../../src/transfer/stores/hold.ts";
import type { Moved, MoveOptions } from "../../src/transfer/stores/move-namespace.ts";
import { moveNamespace, undoMove } from "../../src/transfer/stores/move-namespace.ts";
import { codeOf } from "../store/conformance/fixture.ts";
import { wholeDump } from "../store/conformance/whole-dump.ts";
import { override } from "../support/faulty-engine.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import { fillNamespace, moveOptions, namespace } from "./moving-stores.ts";

interface Stores {
  readonly clock: ManualClock;
  readonly source: Engine;
  readonly d1: Engine;
  readonly d2: Engine;
  /** A write to the source: true, or the code of its refusal. */
  write(key: string, engine?: Engine): Promise<boolean | string>;
  sealOf(engine: Engine): Promise<Seal | undefined>;
  readonly toD1: MoveOptions;
  readonly toD2: MoveOptions;
  readonly snapshot: CopyOptions;
}

async function openStores(commits = 30): Promise<Stores> {
  const clock = manualClock();
  const [source, d1, d2, scratch] = Array.from({ length: 4 }, (): Engine => new MemoryEngine(clock)) as [Engine, Engine, Engine, Engine];
  await fillNamespace(source, clock, commits);
  return {
    clock,
    source,
    d1,
    d2,
    write: (key, engine = source) =>
      openNamespaceStore(engine, namespace, clock)
        .commit({ writer: "w", writes: [{ op: "put", key, value: 1 }] })
        .then(
          ({ ok }) => ok,
          (error: { code: string }) => error.code,
        ),
    sealOf: async (engine) => (await readFacts({ engine, namespace })).seal,
    toD1: moveOptions(source, d1, clock, { destinationName: "d1" }),
    toD2: moveOptions(source, d2, clock, { destinationName: "d2" }),
    snapshot: { source: { engine: source, namespace }, destination: { engine: scratch, namespace }, by: "backup", clock },
  };
}

/** Does something else just before the source is sealed so for the first time. */
function justBefore(options: MoveOptions, state: Seal["state"], meanwhile: () => Promise<void>): MoveOptions {
  const { engine } = options.source;
  let isDone = false;
  const hooked = override(engine, {
    seal: async (name, seal, expected) => {
      if (seal?.state === state && !isDone) {
        isDone = true;
        await meanwhile();
      }
      await engine.seal(name, seal, expected);
    },
  });
  return { ...options, source: { engine: hooked, namespace } };
}

/** Every write that was acknowledged is in the one store that is open. */
async function expectWhole({ source, write }: Stores, destination: Engine, moved: Moved): Promise<void> {
  expect(moved).toMatchObject({ ok: true });
  expect(await wholeDump(destination, namespace)).toEqual(await wholeDump(source, namespace));
  expect([await write("after"), await write("after", destination)]).toEqual(["moved", true]);
}

describe("while a mover has stopped the writers", () => {
  test("an export or a backup reads at the same time and admits no writer", async () => {
    const stores = await openStores();
    const { source, snapshot, write, sealOf, toD1, d1 } = stores;
    const during: unknown[] = [];
    const options = justBefore(toD1, "moved", async () => {
      const { revision } = await snapshotNamespace(snapshot);
      during.push(revision === (await readFacts({ engine: source, namespace })).revision, (await sealOf(source))?.state, await write("lost"));
    });
    const moved = await moveNamespace(options);
    expect(during).toEqual([true, "moving", "unavailable"]);
    await expectWhole(stores, d1, moved);
  });

  test("one that began earlier neither renews its hold there nor opens the source when it ends, not even once it was moved", async () => {
    const stores = await openStores();
    const { source, clock, write, sealOf, toD1, d1 } = stores;
    const hold = new Hold({ engine: source, namespace }, clock, { passesMovers: true });
    await hold.renew();
    const during: unknown[] = [];
    const options = justBefore(toD1, "moved", async () => {
      clock.advance(20_000);
      await hold.renew();
      during.push(await write("lost"));
      await hold.release();
      during.push(await write("lost"));
    });
    const moved = await moveNamespace(options);
    expect(during).toEqual(["unavailable", "unavailable"]);
    clock.advance(20_000);
    await hold.renew();
    await hold.release();
    expect(await sealOf(source)).toMatchObject({ state: "moved", to: "d1" });
    await expectWhole(stores, d1, moved);
  });

  test("a restoration in place is refused, and so it is where the namespace has gone", async () => {
    const stores = await openStores();
    const { source, clock, sealOf, toD1, d1 } = stores;
    const restoring = new Hold({ engine: source, namespace }, clock);
    const codes: string[] = [];
    const moved = await moveNamespace(
      justBefore(toD1, "moved", async () => {
        codes.push(await codeOf(restoring.renew()));
        await restoring.release();
        expect(await sealOf(source)).toMatchObject({ state: "moving" });
      }),
    );
    codes.push(await codeOf(restoring.renew()));
    expect(codes).toEqual(["unavailable", "moved"]);
    await expectWhole(stores, d1, moved);
  });

  test("a migration to another destination is refused by name, and stopping it opens nothing", async () => {
    const stores = await openStores();
    const { write, toD1, toD2, d1, d2 } = stores;
    const during: unknown[] = [];
    const moved = await moveNamespace(
      justBefore(toD1, "moved", async () => {
        await expect(moveNamespace(toD2)).rejects.toThrow("is being moved to another store, d1");
        during.push(await write("lost"), await undoMove(toD2), await write("lost"));
      }),
    );
    expect(during).toEqual(["unavailable", "nothing to undo", "unavailable"]);
    expect(await d2.namespaces()).toEqual([]);
    await expectWhole(stores, d1, moved);
  });

  test("one that began earlier to another destination fails, and the source stays the first one's", async () => {
    const stores = await openStores();
    const { toD1, toD2, d1, d2, source, sealOf } = stores;
    let moved: Moved | undefined;
    // Everything has been copied and compared for the second when the first one ends.
    await expect(
      moveNamespace(
        justBefore(toD2, "moving", async () => {
          moved = await moveNamespace(toD1);
        }),
      ),
    ).rejects.toThrow("was moved already, to d1");
    expect(await sealOf(source)).toMatchObject({ state: "moved", to: "d1" });
    expect(await sealOf(d2)).toMatchObject({ state: "filling" });
    await expectWhole(stores, d1, moved as Moved);
  });

  test("the same command started again takes over, and the first one stops without opening or closing anything", async () => {
    const stores = await openStores();
    const { toD1, d1, write } = stores;
    let second: Moved | undefined;
    const first = justBefore(toD1, "moved", async () => {
      // It lets writers go on until it is that far itself; what they write comes along.
      second = await moveNamespace(justBefore(toD1, "moving", async () => expect(await write("kept")).toBe(true)));
    });
    expect(await codeOf(moveNamespace(first))).toBe("conflict");
    await expectWhole(stores, d1, second as Moved);
    expect((await openNamespaceStore(d1, namespace, stores.clock).read({ start: "kept", end: "kept~" })).entries).toHaveLength(1);
  });

  test("and a server forgot that for a moment, in which a caller wrote: it is noticed, and the source continues with that write", async () => {
    const { toD1, source, d1, write, sealOf, clock } = await openStores();
    const forgetful = justBefore(toD1, "moved", async () => {
      const seal = await sealOf(source);
      await source.seal(namespace, undefined, seal);
      expect(await write("slipped in")).toBe(true);
      await source.seal(namespace, seal);
    });
    expect(await moveNamespace(forgetful)).toMatchObject({ ok: false, difference: expect.stringContaining("although it should accept no writes") });
    expect([await sealOf(source), await write("goes on")]).toEqual([undefined, true]);
    expect(await codeOf(openNamespaceStore(d1, namespace, clock).read(everything))).toBe("unavailable");
    expect(await moveNamespace(toD1)).toMatchObject({ ok: true });
    expect((await openNamespaceStore(d1, namespace, clock).read({ start: "slipped in", end: "slipped in~" })).entries).toHaveLength(1);
  });
});

describe("several who hold a source at once", () => {
  /** The revision up to which it has forgotten then. */
  async function compact(engine: Engine): Promise<number> {
    await engine.compact(namespace, { ageMs: 0, revisions: 1, tombstones: 0 }, 1_000);
    return (await readFacts({ engine, namespace })).compacted;
  }

  test("take away only their own hold, and the last one lets it compact again", async () => {
    const { source, clock, sealOf, toD1, write } = await openStores();
    const [one, two] = [1, 2].map(() => new Hold({ engine: source, namespace }, clock, { passesMovers: true })) as [Hold, Hold];
    await Promise.all([one.renew(), two.renew()]);
    expect(await moveNamespace({ ...toD1, staysOpen: true })).toMatchObject({ ok: true });
    await one.release();
    expect(await compact(source)).toBe(0);
    expect(await write("as ever")).toBe(true);
    await two.release();
    expect(await sealOf(source)).toBeUndefined();
    expect(await compact(source)).toBeGreaterThan(0);
  });

  test("keep it when a mover beside them fails while writers wait; one that was killed is forgotten in time", async () => {
    const { source, clock, sealOf, toD1 } = await openStores();
    const [killed, lasting] = [1, 2].map(() => new Hold({ engine: source, namespace }, clock)) as [Hold, Hold];
    await killed.renew();
    clock.advance(30_000);
    await lasting.renew();
    const failing = justBefore(toD1, "moved", () => Promise.reject(new Error("away")));
    await expect(moveNamespace(failing)).rejects.toThrow("away");
    expect(Object.keys(((await sealOf(source)) as Seal & { state: "copying" }).holds)).toHaveLength(2);
    expect(await compact(source)).toBe(0);
    clock.advance(40_000);
    await lasting.renew();
    expect(await sealOf(source)).toEqual({ state: "copying", untilMs: clock.nowMs() + 60_000, holds: { [lasting.by]: clock.nowMs() + 60_000 } });
  });
});

describe("undoing and finishing act only on what is theirs:", () => {
  /** A migration to the first destination that was broken off just before its last step but one. */
  const abandon = ({ toD1 }: Stores) => expect(moveNamespace(justBefore(toD1, "moved", () => Promise.reject(new Error("stopped"))))).rejects.toThrow("stopped");

  test("an abandoned migration undone after another has ended empties its destination and leaves the source closed", async () => {
    const stores = await openStores();
    const { toD1, toD2, d1, d2, source, sealOf } = stores;
    await abandon(stores);
    const moved = await moveNamespace(toD2);
    expect(await undoMove(toD1)).toBe("undone");
    expect(await d1.namespaces()).toEqual([]);
    expect(await sealOf(source)).toMatchObject({ state: "moved", to: "d2" });
    await expectWhole(stores, d2, moved);
    await expect(undoMove(toD1)).rejects.toThrow("has been moved completely, to d2");
  });

  test("an abandoned migration run again after another has ended is refused, and what it had filled stays closed", async () => {
    const stores = await openStores();
    const { toD1, toD2, d1, d2, write } = stores;
    await abandon(stores);
    const moved = await moveNamespace(toD2);
    await expect(moveNamespace(toD1)).rejects.toThrow("was moved already, to d2");
    expect(await write("two of them", d1)).toBe("unavailable");
    await expectWhole(stores, d2, moved);
  });

  /** The source says moved and the destination is still closed. */
  const killBeforeOpening = ({ toD1, d1 }: Stores) => {
    const killed = override(d1, { seal: (...args) => (args[1] === undefined ? Promise.reject(new Error("killed")) : d1.seal(...args)) });
    return expect(moveNamespace({ ...toD1, destination: { engine: killed, namespace } })).rejects.toThrow("killed");
  };

  test("a destination that is named in another way is known by the run that filled it", async () => {
    const stores = await openStores();
    const { toD1, d1, write } = stores;
    await killBeforeOpening(stores);
    expect(await undoMove({ ...toD1, destinationName: "D-1" })).toBe("undone");
    expect([await d1.namespaces(), await write("goes on")]).toEqual([[], true]);
  });

  test("broken off at any of its steps, undoing continues, and at none of them are there two open stores", async () => {
    for (let steps = 0; ; steps += 1) {
      const stores = await openStores();
      const { toD1, source, d1, write } = stores;
      await killBeforeOpening(stores);
      let left = steps;
      const dying = (engine: Engine): Engine => {
        const step = (work: () => Promise<void>): Promise<void> => {
          left -= 1;
          return left < 0 ? Promise.reject(new Error("killed")) : work();
        };
        return override(engine, { seal: (...args) => step(() => engine.seal(...args)), clear: (...args) => step(() => engine.clear(...args)) });
      };
      const ended = await undoMove({ ...toD1, source: { engine: dying(source), namespace }, destination: { engine: dying(d1), namespace } }).then(
        () => true,
        () => false,
      );
      if (!ended) {
        expect(["moved", "unavailable"]).toContain(await write("too early"));
        await undoMove(toD1);
      }
      expect([await d1.namespaces(), await write("goes on")]).toEqual([[], true]);
      if (!ended) continue;
      expect(steps).toBeGreaterThan(3);
      return;
    }
  });

  test.each(["moving", "moved"] as const)("undone by another process just before it seals the source as %s, a migration stops and the source is open", async (state) => {
    const { toD1, d1, write } = await openStores();
    const options = justBefore(toD1, state, async () => {
      expect(await undoMove(toD1)).toBe("undone");
      expect(await write("goes on")).toBe(true);
    });
    expect(["conflict", "invalid_input"]).toContain(await codeOf(moveNamespace(options)));
    expect([await d1.namespaces(), await write("and on")]).toEqual([[], true]);
  });

  test("undone by another process between its last two steps, it does not open what is empty", async () => {
    const { toD1, d1, write } = await openStores();
    const slow = override(d1, {
      seal: async (name, seal, expected) => {
        if (seal === undefined) expect(await undoMove(toD1)).toBe("undone");
        await d1.seal(name, seal, expected);
      },
    });
    expect(await codeOf(moveNamespace({ ...toD1, destination: { engine: slow, namespace } }))).toBe("conflict");
    expect([await d1.namespaces(), await write("goes on")]).toEqual([[], true]);
  });
});

test("a destination that another caller begins to use just before it is sealed is left alone", async () => {
  const { toD1, d1, write, sealOf, source } = await openStores();
  const used = override(d1, {
    seal: async (...args) => {
      if ((await sealOf(d1)) === undefined) await write("theirs", d1);
      await d1.seal(...args);
    },
  });
  await expect(moveNamespace({ ...toD1, destination: { engine: used, namespace } })).rejects.toThrow("already contains data there");
  expect([await sealOf(d1), await write("more of theirs", d1), await sealOf(source)]).toEqual([undefined, true, undefined]);
});
