import fc from "fast-check";
import { expect, test } from "vitest";
import { baseAbove } from "../../src/store/engine-rules.ts";
import type { Engine } from "../../src/store/store.ts";
import { moveNamespace } from "../../src/transfer/stores/move-namespace.ts";
import { wholeDump } from "../store/conformance/whole-dump.ts";
import type { Step } from "../store/histories.ts";
import { answer, closing, history } from "../store/histories.ts";
import type { EngineUnderTest } from "../support/engines.ts";
import { engines } from "../support/engines.ts";
import { manualClock } from "../support/manual-clock.ts";

const pairs = engines.flatMap((from) => engines.map((to) => [from, to] as const)).filter(([from, to]) => from !== to);

/** Runs of one pair: each has a namespace of its own, so that all of them share two stores. */
const runsOf = (from: EngineUnderTest, to: EngineUnderTest): number => (from.isServer || to.isServer ? 12 : 40);

for (const [from, to] of pairs) {
  test(`any history moved from ${from.name} arrives whole and goes on alike on ${to.name}`, { timeout: 120_000 }, async () => {
    const clock = manualClock();
    const startMs = clock.nowMs();
    await using source = await from.openOnClock(await from.freshUrl(), clock);
    await using destination = await to.openOnClock(await to.freshUrl(), clock);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(history, history, fc.boolean(), async (before, after, leaps) => {
        run += 1;
        clock.set(startMs);
        const namespace = `run ${run}`;
        for (const step of before) await answer(source, clock, namespace, step);
        if (leaps) await leap(source, namespace);
        const moved = await moveNamespace({
          source: { engine: source, namespace },
          destination: { engine: destination, namespace },
          by: "test",
          clock,
          staysOpen: true,
          destinationName: "there",
        });
        expect(moved).toMatchObject({ ok: true });
        expect(await wholeDump(destination, namespace)).toEqual(await wholeDump(source, namespace));
        for (const [i, step] of [...closing, ...after, ...closing].entries()) {
          const expected = await answer(source, clock, namespace, step);
          if (step.do !== "clock") expect({ i, step, answer: await answer(destination, clock, namespace, step) }).toEqual({ i, step, answer: expected });
        }
      }),
      { numRuns: runsOf(from, to), examples: [[[], [], true] as [Step[], Step[], boolean]] },
    );
  });
}

async function leap(engine: Engine, namespace: string): Promise<void> {
  const { facts } = await engine.dump(namespace, { part: "keys" });
  const base = baseAbove(facts.revision, facts.revision);
  await engine.seal(namespace, { state: "filling", progress: null });
  await engine.load(namespace, [], { ...facts, revision: base, base, gaps: [...facts.gaps, [facts.revision, base]] });
  await engine.seal(namespace, undefined);
}
