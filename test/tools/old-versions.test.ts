import { expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { manualClock } from "../support/manual-clock.ts";
import { openTools } from "./open-tools.ts";

test("a version that history no longer has is compacted; one that never was is not found", async () => {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const { call, fails } = openTools({ engine, clock });
  for (const i of [1, 2, 3]) {
    await call("state_set", { key: "k", value: i });
    await call("session_save", { session_id: "s", context: { i } });
  }
  expect(await call("state_get", { key: "k", version: 1 })).toMatchObject({ found: true, value: 1 });
  while ((await engine.compact("test", { ageMs: 0, revisions: 0, tombstones: 0 }, 1_000)).more);
  expect((await fails("state_get", { key: "k", version: 1 })).code).toBe("compacted");
  expect((await fails("session_restore", { session_id: "s", version: 2 })).code).toBe("compacted");
  expect(await call("state_get", { key: "k", version: 3 })).toMatchObject({ found: true, value: 3 });
  expect(await call("state_get", { key: "k", version: 4 })).toMatchObject({ found: false });
  expect(await call("session_restore", { session_id: "s", version: 4 })).toMatchObject({ found: false });
  expect(await call("state_get", { key: "never", version: 1 })).toMatchObject({ found: false });
});
