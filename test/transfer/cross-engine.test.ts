import fc from "fast-check";
import { expect, test } from "vitest";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { baseAbove } from "../../src/store/engine-rules.ts";
import type { Engine, LogQuery, LogRow } from "../../src/store/store.ts";
import { moveNamespace } from "../../src/transfer/stores/move-namespace.ts";
import { reseal, wholeDump } from "../store/conformance/whole-dump.ts";
import type { Step } from "../store/histories.ts";
import { answer, closing, history } from "../store/histories.ts";
import type { EngineUnderTest } from "../support/engines.ts";
import { engines } from "../support/engines.ts";
import { manualClock } from "../support/manual-clock.ts";
import { propertySeed } from "../support/property-seed.ts";

const pairs = engines.flatMap((from) => engines.map((to) => [from, to] as const)).filter(([from, to]) => from !== to);

/** Runs of one pair: each has a namespace of its own, so that all of them share two stores. */
const runsOf = (from: EngineUnderTest, to: EngineUnderTest): number => (from.isServer || to.isServer ? 5 : 20);

for (const [from, to] of pairs) {
  test(`any history moved from ${from.name} arrives whole and continues alike on ${to.name}`, async () => {
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
        let latestMs = startMs;
        for (const step of before) {
          await answer(source, clock, namespace, step);
          latestMs = Math.max(latestMs, clock.nowMs());
        }
        // What a process has shown to readers is its own; only the time of the last commit moves.
        clock.set(latestMs);
        // A history may end in the middle of somebody else's move.
        await reseal(source, namespace, undefined);
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
        await expectSameAnswers();
        for (const [i, step] of after.entries()) {
          const expected = await ask(source, step);
          if (step.do !== "clock") expect({ i, step, answer: await ask(destination, step) }).toEqual({ i, step, answer: expected });
        }
        await expectSameAnswers();

        async function expectSameAnswers(): Promise<void> {
          const all = (of: Engine) => Promise.all(closing.map(async (asked) => ({ asked, answer: await ask(of, asked) })));
          expect(await all(destination)).toEqual(await all(source));
        }
        // How far one page looks across a gap is every engine's own.
        function ask(engine: Engine, asked: Step): Promise<unknown> {
          return asked.do === "log" && leaps ? wholeLog(engine, namespace, asked.query) : answer(engine, clock, namespace, asked);
        }
      }),
      { numRuns: runsOf(from, to), examples: [[[], [], true] as [Step[], Step[], boolean]], seed: propertySeed },
    );
  });
}

/** All rows that a query finds, page after page. */
async function wholeLog(engine: Engine, namespace: string, query: LogQuery): Promise<unknown> {
  const rows: LogRow[] = [];
  try {
    for (let edge = {}, pages = 1; ; pages += 1) {
      const page = await engine.log(namespace, { ...query, ...edge });
      if (pages > 1_000) throw new Error(`The log goes on and on: ${JSON.stringify({ query, edge, through: page.through })}`);
      rows.push(...page.rows);
      if (page.done) return rows;
      // Who began at the beginning takes what is left of it, also on the next page.
      edge = query.reverse ? { before: page.through } : { after: page.through, lenient: query.lenient === true || query.after === undefined };
    }
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return { error: error.code };
  }
}

async function leap(engine: Engine, namespace: string): Promise<void> {
  const { facts } = await engine.dump(namespace, { part: "keys" });
  const base = baseAbove(facts.revision, facts.revision, 5);
  const seal = { state: "filling", progress: null } as const;
  await engine.seal(namespace, seal);
  await engine.load(namespace, [], { ...facts, revision: base, base, gaps: [...facts.gaps, [facts.revision, base]] });
  await engine.seal(namespace, undefined, seal);
}
