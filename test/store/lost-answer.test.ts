import { expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { HoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { keyRange } from "../../src/store/ranges.ts";
import type { Engine } from "../../src/store/store.ts";
import type { Scope } from "../../src/store/transact.ts";
import { transact } from "../../src/store/transact.ts";
import { manualClock } from "../support/manual-clock.ts";

type Loss = "before" | "after" | undefined;

/** A store on which the answers of the first commits are lost: with the commit itself, or after it took effect. */
function openLossy(losses: Loss[]): { readonly scope: (key?: string) => Scope; readonly value: () => Promise<unknown>; readonly commits: () => number } {
  const clock = manualClock();
  const inner = new MemoryEngine(clock);
  let commits = 0;
  const engine: Engine = new Proxy(inner, {
    get(target, name) {
      if (name !== "commit")
        return typeof target[name as keyof Engine] === "function" ? (target[name as keyof Engine] as () => unknown).bind(target) : target[name as keyof Engine];
      return async (...call: Parameters<Engine["commit"]>) => {
        const loss = losses[commits];
        commits += 1;
        const results = loss === "before" ? undefined : await inner.commit(...call);
        if (results === undefined || loss === "after") throw new HoldfastError("outcome_unknown", "The connection broke.");
        return results;
      };
    },
  });
  const store = openNamespaceStore(engine, "lossy", clock);
  return {
    scope: (key) => ({ store, clock, writer: "tester", request: key === undefined ? undefined : { key, fingerprint: "f" } }),
    value: async () => (await store.read(keyRange("counter"))).entries[0]?.value,
    commits: () => commits,
  };
}

const increment = (scope: Scope): Promise<number> =>
  transact<{ value: number }, number>(scope, {
    decide: async () => {
      const [entry] = (await scope.store.read(keyRange("counter"))).entries;
      const value = ((entry?.value as number | undefined) ?? 0) + 1;
      return { checks: [{ key: "counter", version: entry?.version ?? 0 }], writes: [{ op: "put", key: "counter", value }], note: { value } };
    },
    finish: ({ value }) => value,
  });

test.each([["before" as const], ["after" as const]])("with a request key a lost answer (%s the effect) is requested again and has one effect", async (loss) => {
  const { scope, value } = openLossy([loss]);
  expect(await increment(scope("k"))).toBe(1);
  expect(await value()).toBe(1);
});

test("without a request key the caller learns that the outcome is unknown, and nothing is tried again", async () => {
  const { scope, value, commits } = openLossy(["after"]);
  await expect(increment(scope())).rejects.toMatchObject({ code: "outcome_unknown" });
  expect(commits()).toBe(1);
  expect(await value()).toBe(1);
});

test("an answer lost twice stays unknown, and asking again with the same key gives the truth", async () => {
  const { scope, value } = openLossy(["after", "before"]);
  // The second try finds the first one's answer without a commit, so that only the read of it could be lost.
  expect(await increment(scope("k"))).toBe(1);
  const worse = openLossy(["before", "before"]);
  await expect(increment(worse.scope("k"))).rejects.toMatchObject({ code: "outcome_unknown" });
  expect(await increment(worse.scope("k"))).toBe(1);
  expect([await value(), await worse.value()]).toEqual([1, 1]);
});

test("after an answer was lost, no refusal of the second try says that nothing was changed", async () => {
  const { scope, value } = openLossy(["after"]);
  let tries = 0;
  const refusing = { ...scope("k"), store: { ...scope().store, readRequest: async () => undefined } };
  const call = transact<null, number>(refusing, {
    decide: () => {
      tries += 1;
      if (tries > 1) throw new HoldfastError("storage_full", "The disk is full; nothing was changed.");
      return { checks: [], writes: [{ op: "put", key: "counter", value: 1 }], note: null };
    },
    finish: () => 1,
  });
  await expect(call).rejects.toMatchObject({ code: "outcome_unknown" });
  expect([tries, await value()]).toEqual([2, 1]);
});

test("a commit that stood behind one without an answer is refused with it, instead of beginning to wait again", async () => {
  const clock = manualClock();
  let sent = 0;
  const silent: Engine = Object.assign(Object.create(new MemoryEngine(clock)) as Engine, {
    commit: async () => {
      sent += 1;
      await clock.sleep(400);
      throw new HoldfastError("outcome_unknown", "No answer came in time.");
    },
  });
  const store = openNamespaceStore(silent, "silent", clock);
  const put = (key: string) => store.commit({ writer: "tester", writes: [{ op: "put", key, value: 1 }] });
  const first = put("a").catch((error: HoldfastError) => error.code);
  await clock.advanceBy(50);
  const behind = put("b").catch((error: HoldfastError) => error.code);
  await clock.advanceBy(330);
  const justNow = put("c").catch((error: HoldfastError) => error.code);
  await clock.advanceBy(20);
  await clock.advanceBy(400);
  expect([await first, await behind, await justNow, sent]).toEqual(["outcome_unknown", "unavailable", "outcome_unknown", 2]);
});
