import { beforeAll, describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { Engine } from "../../src/store/store.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { profiles, selectTools } from "../../src/tools/profiles.ts";
import type { EngineUnderTest } from "../support/engines.ts";
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

  test("is the same story when it is repeated", async () => {
    const clock = manualClock();
    await tellAgain(new MemoryEngine(clock), clock);
  });
});

/** What the story left on an engine, as it stood at the end and when the store was opened again. */
interface Left {
  /** What may be different on this engine. */
  readonly own: ReadonlyMap<string, unknown>;
  readonly log: unknown;
  readonly logAgain: unknown;
}

async function tellOn(on: EngineUnderTest): Promise<Left> {
  const clock = manualClock();
  const url = await on.freshUrl();
  const leave = async (): Promise<Omit<Left, "logAgain"> & { readonly namespace: string }> => {
    await using engine = await on.openOnClock(url, clock);
    const { own, namespace, told, answered } = await tellAgain(engine, clock);
    console.log(`the story on ${on.name}: ${told.length} questions, ${answered.size} tools`);
    return { own, namespace, log: await engine.dump(namespace, wholeLog) };
  };
  const { own, namespace, log } = await leave();
  await using again = await on.openOnClock(url, clock);
  return { own, log, logAgain: await again.dump(namespace, wholeLog) };
}

const others = engines.filter(({ name }) => name !== "memory");
/** Told once for all tests, by whichever of them comes first. */
const left = new Map<string, Promise<Left>>();
const leftOn = (on: EngineUnderTest): Promise<Left> => {
  const known = left.get(on.name) ?? tellOn(on);
  left.set(on.name, known);
  return known;
};

for (const on of others)
  describe(`the story on ${on.name}`, () => {
    test("gets the answers that it gets on memory, one by one, and is still there when the store is opened again", async () => {
      const { log, logAgain } = await leftOn(on);
      expect(on.durable).toBe(true);
      expect(logAgain).toEqual(log);
    });
  });

for (const { tool, field } of differences)
  test(`${tool} ${field} is listed as a difference between engines, and is one`, async () => {
    const told = [model, ...(await Promise.all(others.map(leftOn)))];
    const values = told.map(({ own }) => JSON.stringify(own.get(`${tool} ${field}`)));
    expect(values.length).toBeGreaterThan(1);
    expect(new Set(values).size).toBeGreaterThan(1);
  });

describe("the story shows an engine", () => {
  test.each(["droppedChecks", "forgottenRequestKeys", "tornCommits", "lostLogRecords", "shortLives"] satisfies Fault[])("with the fault %s", async (fault) => {
    const clock = manualClock();
    await expect(tellAgain(faults[fault](new MemoryEngine(clock)), clock)).rejects.toThrow(Unlike);
  });
});
