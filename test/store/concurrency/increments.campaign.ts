import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { openEngine } from "../../../src/engines/open-store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { keyRange } from "../../../src/store/ranges.ts";
import type { Store } from "../../../src/store/store.ts";
import { checkHistoryEqualsState } from "../../../src/verify/checkers/history-equals-state.ts";
import type { Increment } from "../../../src/verify/checkers/lost-update.ts";
import { checkNoLostUpdate } from "../../../src/verify/checkers/lost-update.ts";
import { checkRevisions } from "../../../src/verify/checkers/revisions.ts";
import { readWhole } from "../../../src/verify/read-whole.ts";
import { sharedEngines } from "../../support/engines.ts";
import { scaled } from "../../support/scale.ts";
import { spawnWorker } from "../../support/spawn-worker.ts";

const processes = 16;
const each = scaled(500, 50);

async function audit(store: Store, increments: readonly Increment[]): Promise<void> {
  const { rows, entries, revision, nowMs } = await readWhole(store);
  const [entry] = entries;
  expect(entry?.value).toBe(processes * each);
  const final = { version: entry?.version ?? 0, value: entry?.value as number };
  expect(checkNoLostUpdate({ increments, unanswered: 0, final })).toEqual([]);
  const acknowledged = increments.map(({ client, version }) => ({ client, revision: version }));
  expect(checkRevisions({ rows, acknowledged, revision })).toEqual([]);
  const changesByWriter = Object.fromEntries(Array.from({ length: processes }, (_, i) => [`client ${i}`, each]));
  expect(checkHistoryEqualsState({ rows, entries, nowMs, changesByWriter })).toEqual([]);
}

for (const on of sharedEngines)
  describe(`increments (G3, G12) on ${on.name}`, () => {
    test(`${processes} processes × ${each} on one store make exactly ${processes * each}`, async () => {
      const url = await on.freshUrl();
      const workers = Array.from({ length: processes }, (_, i) =>
        spawnWorker<"ready" | { increments: Increment[]; conflicts: number }>("increment", { url, key: "counter", count: each, client: `client ${i}` }),
      );
      for (const worker of workers) expect(await worker.next()).toBe("ready");
      const startedMs = performance.now();
      for (const worker of workers) worker.send("go");
      const increments: Increment[] = [];
      let conflicts = 0;
      for (const worker of workers) {
        const answer = await worker.next();
        if (answer === "ready") throw new Error("A worker said ready twice.");
        increments.push(...answer.increments);
        conflicts += answer.conflicts;
        await worker.ended();
        expect(worker.errors()).toBe("");
      }
      console.log(`increments on ${on.name}: ${increments.length} by ${processes} processes, ${conflicts} conflicts; ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
      // Without conflicts the processes did not meet, and nothing was shown.
      expect(conflicts).toBeGreaterThan((processes * each) / 160);
      await using engine = await openEngine(url);
      await audit(openNamespaceStore(engine, "shared", systemClock), increments);
    });
  });

test(`${processes} concurrent callers × ${each} increments make exactly ${processes * each} (G3) on memory`, async () => {
  const store = openNamespaceStore(new MemoryEngine(), "shared", systemClock);
  const key = "counter";
  const increments: Increment[] = [];
  const client = async (name: string): Promise<void> => {
    for (let done = 0; done < each; ) {
      const [entry] = (await store.read(keyRange(key))).entries;
      const value = ((entry?.value as number | undefined) ?? 0) + 1;
      const result = await store.commit({ writer: name, checks: [{ key, version: entry?.version ?? 0 }], writes: [{ op: "put", key, value }] });
      if (!result.ok) continue;
      increments.push({ client: name, version: result.writes[0]?.version ?? 0, value });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: processes }, (_, i) => client(`client ${i}`)));
  await audit(store, increments);
});

test("the audit catches a store that does not look at the check", async () => {
  const store = openNamespaceStore(new MemoryEngine(), "shared", systemClock);
  const increments: Increment[] = [];
  const client = async (name: string): Promise<void> => {
    for (let i = 0; i < 10; i += 1) {
      const [entry] = (await store.read(keyRange("counter"))).entries;
      const value = ((entry?.value as number | undefined) ?? 0) + 1;
      const result = await store.commit({ writer: name, writes: [{ op: "put", key: "counter", value }] });
      if (result.ok) increments.push({ client: name, version: result.writes[0]?.version ?? 0, value });
    }
  };
  await Promise.all([client("a"), client("b")]);
  const [entry] = (await store.read(keyRange("counter"))).entries;
  const faults = checkNoLostUpdate({ increments, unanswered: 0, final: { version: entry?.version ?? 0, value: entry?.value as number } }).map((violation) => violation.fault);
  expect(faults).toContain("update_lost");
});
