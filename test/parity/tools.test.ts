import { beforeAll, describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { Engine } from "../../src/store/store.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { profiles, selectTools } from "../../src/tools/profiles.ts";
import { engines } from "../support/engines.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { faults } from "../support/faulty-engine.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import { differences } from "./differences.ts";
import { tellStory } from "./story.ts";
import type { Teller } from "./teller.ts";
import { openTeller, Unlike } from "./teller.ts";

/** Ends with `Unlike` at the first answer that the model's story has otherwise. */
async function tellAgain(engine: Engine, clock: ManualClock): Promise<Teller> {
  const teller = await tellStory(openTeller({ engine, clock, like: model.told }));
  expect(teller.told).toHaveLength(model.told.length);
  return teller;
}

/** On the memory engine, which is the specification. */
let model: Teller;
beforeAll(async () => {
  const clock = manualClock();
  model = await tellStory(openTeller({ engine: new MemoryEngine(clock), clock }));
});

/** By engine other than memory, what may be different. */
const own = new Map<string, ReadonlyMap<string, unknown>>();

const wholeLog = { part: "log", after: 0 } as const;

describe("the story", () => {
  test("calls every tool of every profile, and each of them answered", () => {
    const offered = new Set(profiles.flatMap((profile) => selectTools({ profile }).map(({ name }) => name)));
    expect([...offered].toSorted()).toEqual(catalog.map(({ name }) => name).toSorted());
    expect([...offered].filter((name) => !model.answered.has(name))).toEqual([]);
  });

  test("has refusals and errors in it, not only what goes well", () => {
    const codes = new Set(model.told.flatMap(({ came }) => (came as { error?: { code: string } })?.error?.code ?? []));
    expect([...codes].toSorted()).toEqual(
      expect.arrayContaining(["ambiguous", "claim_held", "claim_lost", "compacted", "invalid_input", "lease_lost", "not_found", "request_key_reused", "workflow_finished"]),
    );
  });

  test("is the same story when it is told again", async () => {
    const clock = manualClock();
    await tellAgain(new MemoryEngine(clock), clock);
  });
});

for (const on of engines.filter(({ name }) => name !== "memory"))
  describe(`the story on ${on.name}`, () => {
    test("gets the answers that it gets on memory, one by one, and is still there when the store is opened again", { timeout: 60_000 }, async () => {
      const clock = manualClock();
      const url = await on.freshUrl();
      const startedMs = performance.now();
      const stored = { namespace: "", log: {} };
      {
        await using engine = await on.openOnClock(url, clock);
        const teller = await tellAgain(engine, clock);
        own.set(on.name, teller.own);
        Object.assign(stored, { namespace: teller.namespace, log: await engine.dump(teller.namespace, wholeLog) });
        console.log(`the story on ${on.name}: ${teller.told.length} questions, ${teller.answered.size} tools; ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
      }
      if (!on.durable) return;
      await using again = await on.openOnClock(url, clock);
      expect(await again.dump(stored.namespace, wholeLog)).toEqual(stored.log);
    });
  });

for (const { tool, field } of differences)
  test(`${tool} ${field} is listed as a difference between engines, and is one`, () => {
    const values = [model.own, ...own.values()].map((answers) => JSON.stringify(answers.get(`${tool} ${field}`)));
    expect(values.length).toBeGreaterThan(1);
    expect(new Set(values).size).toBeGreaterThan(1);
  });

describe("the story shows an engine", () => {
  test.each(["droppedChecks", "forgottenRequestKeys", "tornCommits", "lostLogRecords", "shortLives"] satisfies Fault[])("with the fault %s", async (fault) => {
    const clock = manualClock();
    await expect(tellAgain(faults[fault](new MemoryEngine(clock)), clock)).rejects.toThrow(Unlike);
  });
});
