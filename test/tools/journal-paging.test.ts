import { describe, expect, test } from "vitest";
import { openFolderReader } from "../../src/domain/workspace/repository-reader.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openTools } from "./open-tools.ts";

const count = 30;
/** About 280 kB each: fourteen of them fill an answer. */
const long = { highlights: Array.from({ length: 100 }, () => "h".repeat(1_000)), activeFiles: Array.from({ length: 200 }, (_, i) => `src/${i}/${"f".repeat(880)}.ts`) };

async function withLongEntries() {
  const tools = openTools();
  for (let i = 0; i < count; i += 1) {
    tools.clock.advance(1_000);
    await tools.call("checkpoint", { workspace: "here", sessionId: `s${i}`, description: `Entry ${i}`, ...long });
  }
  return tools;
}
const descriptions = (data: { checkpoints: readonly { description: string }[] }): string[] => data.checkpoints.map(({ description }) => description);
const newestFirst = Array.from({ length: count }, (_, i) => `Entry ${count - 1 - i}`);

describe("entries that are too long to be sent together", () => {
  test.each(["compact", "detailed"] as const)("a timeline (%s) gives every entry once, over as many pages as it takes", async (format) => {
    const { call } = await withLongEntries();
    const seen: string[] = [];
    let cursor: string | null | undefined;
    let first: number | undefined;
    do {
      const { data, formattedOutput } = await call("checkpoint", { workspace: "here", range: "1h", limit: 20, format, ...(cursor ? { cursor } : {}) });
      for (const description of descriptions(data)) expect(formattedOutput).toContain(description);
      expect(formattedOutput.includes("older ones exist")).toBe(data.cursor !== null);
      seen.push(...descriptions(data));
      cursor = data.cursor;
      first ??= data.checkpoints.length;
    } while (cursor !== null);
    expect(seen).toEqual(newestFirst);
    // Only what is sent counts: twenty in the short form fit one page.
    expect(first === 20).toBe(format === "compact");
  });

  test("a search says how many of those it found it left out", async () => {
    const { call } = await withLongEntries();
    const { data } = await call("checkpoint", { workspace: "here", query: "entry", limit: count });
    expect(data.found).toBe(count);
    expect(data.checkpoints.length).toBeLessThan(count);
    expect(data.omitted).toBe(count - data.checkpoints.length);
    for (let i = 0; i < count; i += 1) await call("checkpoint", { workspace: "there", description: `Entry ${i}` });
    expect((await call("checkpoint", { workspace: "there", query: "entry", limit: count })).data).not.toHaveProperty("omitted");
  });

  test("a full restore counts what it gives and what it left out", async () => {
    const { call } = openTools();
    // Every character takes two in JSON: ten of these are more than an answer carries.
    const longer = { highlights: Array.from({ length: 100 }, () => '"'.repeat(1_000)), activeFiles: Array.from({ length: 200 }, () => '"'.repeat(1_000)) };
    for (let i = 0; i < 10; i += 1) await call("checkpoint", { workspace: "here", sessionId: `s${i}`, description: `Entry ${i}`, ...longer });
    const { data } = await call("checkpoint", { workspace: "here", depth: "full" });
    expect(data.checkpointsLoaded).toBe(data.checkpoints.length);
    expect(data.checkpointsLoaded).toBeLessThan(10);
    expect(data.checkpointsLoaded + data.omitted).toBe(10);
  });
});

test("a repeated save answers for the workspace it saved in, wherever the caller is by then", async () => {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const inFolder = async () => openTools({ engine, clock, server: { surroundings: { folder: await temporaryFolder(), home: "/nowhere", reader: openFolderReader() } } });
  const [first, second] = [await inFolder(), await inFolder()];
  const saved = await first.call("checkpoint", { description: "Done", sessionId: "s" }, { requestKey: "k" });
  const again = await second.call("checkpoint", { description: "Done", sessionId: "s" }, { requestKey: "k" });
  expect([again.data, again.meta.workspace.id]).toEqual([saved.data, saved.meta.workspace.id]);
  const elsewhere = await second.call("checkpoint", { description: "Done", sessionId: "s" });
  expect(elsewhere.meta.workspace.id).not.toBe(saved.meta.workspace.id);
});
