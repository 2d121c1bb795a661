import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The conformance suite leaves it to engines elsewhere to bring everything at once; those in this process must not. */
test.each([
  ["memory", async () => new MemoryEngine()],
  ["SQLite", async () => openSqliteEngine({ path: join(await temporaryFolder(), "store.db") })],
])("the %s engine stops at so many characters, live and in the past", async (_, open) => {
  const engine = await open();
  onTestFinished(() => engine[Symbol.asyncDispose]());
  const store = openNamespaceStore(engine, "test", systemClock);
  for (let i = 0; i < 10; i += 1) await store.commit({ writer: "w", writes: [{ op: "put", key: `k${i}`, value: "x".repeat(98) }] });
  for (const at of [undefined, 10]) {
    const { entries, more, rest } = await store.read({ start: "k" }, { at, charactersMax: 250 });
    expect([entries.map(({ key }) => key), more, rest]).toEqual([["k0", "k1", "k2"], false, [{ start: "k3" }]]);
  }
});
