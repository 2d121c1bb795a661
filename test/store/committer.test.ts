import { expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { limits } from "../../src/store/limits.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { PreparedCommit } from "../../src/store/store.ts";
import { manualClock } from "../support/manual-clock.ts";

/** The memory engine, with the batches that it was given. */
function openWatched(batchTurn?: (writer: string) => Promise<void> | undefined) {
  const clock = manualClock();
  const batches: (readonly PreparedCommit[])[] = [];
  const engine = new (class extends MemoryEngine {
    override commit(namespace: string, batch: readonly PreparedCommit[]): ReturnType<MemoryEngine["commit"]> {
      batches.push(batch);
      return super.commit(namespace, batch);
    }
  })(clock);
  const store = openNamespaceStore(engine, "test", clock, { batchTurn });
  const put = (key: string, characters: number, writer = "w") => store.commit({ writer, writes: [{ op: "put", key, value: "x".repeat(characters) }] });
  return { batches, put };
}

test("a batch carries a bounded number of bytes, and a commit that has more goes alone", async () => {
  const { batches, put } = openWatched();
  const sizes = [400_000, 400_000, 400_000, 1, 1_048_570, 1, 1];
  await Promise.all(sizes.map((size, i) => put(`k${i}`, size)));
  for (const batch of batches) expect(batch.length === 1 || batch.reduce((sum, { bytes }) => sum + bytes, 0) <= limits.batchBytesMax).toBe(true);
  expect(batches.map(({ length }) => length)).toEqual([2, 2, 1, 2]);
});

test("each batch waits for its first writer's turn, and takes along what came meanwhile", async () => {
  const turns: { readonly writer: string; readonly go: () => void }[] = [];
  let asked: () => void = () => {};
  const { batches, put } = openWatched(
    (writer) =>
      new Promise((go) => {
        turns.push({ writer, go });
        asked();
      }),
  );
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const first = put("a", 1, "ann");
  await isAsked;
  expect(batches).toHaveLength(0);
  const second = put("b", 1, "bob");
  turns[0]?.go();
  expect([(await first).ok, (await second).ok]).toEqual([true, true]);
  expect(batches.map(({ length }) => length)).toEqual([2]);
  expect(turns.map(({ writer }) => writer)).toEqual(["ann"]);
});
