import { expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { moveNamespace } from "../../src/transfer/stores/move-namespace.ts";
import { manualClock } from "../support/manual-clock.ts";
test("x", async () => {
  const clock = manualClock();
  const a = new MemoryEngine(clock), b = new MemoryEngine(clock);
  const store = openNamespaceStore(a, "n", clock);
  for (let i = 0; i < 3000; i++) await store.commit({ writes: [{ op: "put", key: `k${i % 500}`, value: i }], writer: "w", request: { key: `r${i}`, fingerprint: "f", note: i } });
  const t = performance.now();
  const result = await moveNamespace({ source: { engine: a, namespace: "n" }, destination: { engine: b, namespace: "n" }, by: "x", clock, staysOpen: false, destinationName: "memory:" });
  console.log(result, performance.now() - t);
  expect(result.ok).toBe(true);
});
