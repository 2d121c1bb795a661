import { describe, expect, test } from "vitest";
import { answerTextMax } from "../../src/domain/answer-text.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { openTools } from "./open-tools.ts";

/** Four of them fit into one answer. */
const large = "x".repeat(250_000);
const names = Array.from({ length: 32 }, (_, i) => `large-${String(i).padStart(2, "0")}`);

/** Thirty-two keys, eight answers together. */
async function openLarge() {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const tools = openTools({ engine, clock });
  for (const key of names) await tools.call("state_set", { key, value: large });
  return { ...tools, engine, clock };
}

describe("a refused write", () => {
  test("carries values only while they fit into one answer, says where it left one out, and names every conflict", async () => {
    const { call } = await openLarge();
    const refused = await call("state_commit", { writes: [{ key: "x", value: 1 }], expected: names.map((key) => ({ key, version: 99 })) });
    expect(JSON.stringify(refused).length).toBeLessThan(answerTextMax + 64 * 1024);
    expect(refused.conflicts.map(({ key }: { key: string }) => key)).toEqual(names);
    const [first, second, third, fourth, ...others] = refused.conflicts;
    for (const { current } of [first, second, third, fourth]) expect(current).toMatchObject({ value: large, version: 1 });
    for (const { current, actual_version } of others) {
      expect(actual_version).toBe(1);
      expect(current).toMatchObject({ value_omitted: true, version: 1, updated_by: "tester" });
      expect(current).not.toHaveProperty("value");
    }
  });

  test("one key named many times is not sent many times", async () => {
    const { call } = await openLarge();
    const refused = await call("state_commit", { writes: [{ key: "x", value: 1 }], expected: Array.from({ length: 128 }, () => ({ key: names[0], version: 99 })) });
    expect(refused.conflicts).toHaveLength(128);
    expect(JSON.stringify(refused).length).toBeLessThan(answerTextMax + 64 * 1024);
  });

  test("a small value behind a large one that did not fit is still there", async () => {
    const { call } = await openLarge();
    await call("state_set", { key: "small", value: 7 });
    const refused = await call("state_commit", { writes: [{ key: "x", value: 1 }], expected: [...names.slice(0, 5), "small"].map((key) => ({ key, version: 99 })) });
    expect(refused.conflicts.map(({ current }: { current: object }) => "value" in current)).toEqual([true, true, true, true, false, true]);
    expect(refused.conflicts[5].current).toMatchObject({ value: 7, version: 1 });
  });

  test("values that will not be sent are not read", async () => {
    const { call, engine } = await openLarge();
    let values = 0;
    const read = engine.read.bind(engine);
    engine.read = async (...args) => {
      const snapshot = await read(...args);
      values += snapshot.entries.filter(({ value }) => value !== null).length;
      return snapshot;
    };
    await call("state_commit", { writes: [{ key: "x", value: 1 }], expected: names.map((key) => ({ key, version: 99 })) });
    expect(values).toBeLessThanOrEqual(16);
  });

  test("values are those of the refusal, also when the key was written again before they were read", async () => {
    const { call, engine, clock } = await openLarge();
    await call("state_set", { key: "plan", value: "then" });
    const commit = engine.commit.bind(engine);
    engine.commit = async (namespace, batch) => {
      engine.commit = commit;
      const results = await commit(namespace, batch);
      await openNamespaceStore(engine, "test", clock).commit({ writes: [{ op: "put", key: "state/plan", value: "since" }], writer: "another" });
      return results;
    };
    expect(await call("state_set", { key: "plan", value: 1, expected_version: 9 })).toMatchObject({ ok: false, actual_version: 1, current: { value: "then", version: 1 } });
    expect((await call("state_get", { key: "plan" })).value).toBe("since");
  });
});
