import { expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import { readVersion } from "../../src/store/read-version.ts";
import type { LogPage, LogQuery } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";

const text = "x".repeat(10_000);
const versions = 200;

/** Remembers the most text that one page of its log has had. */
class MeasuredEngine extends MemoryEngine {
  longestPage = 0;

  override async log(namespace: string, query: LogQuery): Promise<LogPage> {
    const page = await super.log(namespace, query);
    this.longestPage = Math.max(this.longestPage, JSON.stringify(page.rows.map(({ value }) => value)).length);
    return page;
  }
}

/** Many long versions of one key. */
async function openLong() {
  const clock = manualClock();
  const engine = new MeasuredEngine(clock);
  const store = openNamespaceStore(engine, "test", clock);
  for (let i = 1; i <= versions; i += 1) await store.commit({ checks: [], writes: [{ op: "put", key: "k", value: `${i} ${text}` }], writer: "ann" });
  return { engine, store };
}

test("an old version of a key is found without reading the values of the others", async () => {
  const { engine, store } = await openLong();
  expect((await readVersion(store, "k", 3))?.value).toBe(`3 ${text}`);
  expect(await readVersion(store, "k", versions + 1)).toBeUndefined();
  expect(engine.longestPage).toBeLessThan(2 * text.length);
});

test("a watcher that is far behind holds a few values at a time", async () => {
  const { engine, store } = await openLong();
  const seen: number[] = [];
  for await (const { revision } of store.watch(everything, 0, new AbortController().signal)) {
    seen.push(revision);
    if (seen.length === versions) break;
  }
  expect(seen).toEqual(Array.from({ length: versions }, (_, i) => i + 1));
  expect(engine.longestPage).toBeLessThan(60 * text.length);
});
