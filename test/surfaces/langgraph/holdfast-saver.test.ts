import type { Checkpoint, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Holdfast } from "../../../src/index.ts";
import { HoldfastSaver } from "../../../src/langgraph.ts";
import { libraries } from "../../library/libraries.ts";

const place = { configurable: { thread_id: "t", checkpoint_ns: "" } };
const loop = { source: "loop", step: 0, parents: {} } as const;

/** A checkpoint whose channels all have this version. */
const checkpointWith = (values: Readonly<Record<string, unknown>>, version = 1): Checkpoint => ({
  ...emptyCheckpoint(),
  id: uuid6(0),
  channel_values: { ...values },
  channel_versions: Object.fromEntries(Object.keys(values).map((channel) => [channel, version])),
});

async function listed(tuples: AsyncIterable<CheckpointTuple>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { checkpoint } of tuples) ids.push(checkpoint.id);
  return ids;
}

for (const library of libraries()) {
  describe(`a saver ${library.name}`, () => {
    const open = async (): Promise<{ readonly holdfast: Holdfast; readonly saver: HoldfastSaver }> => {
      const holdfast = await library.open();
      onTestFinished(() => holdfast.close());
      return { holdfast, saver: new HoldfastSaver(holdfast) };
    };

    test("returns values of any size and kind as they were", async () => {
      const { saver } = await open();
      const values = {
        long: "é".repeat(300_000),
        bytes: new Uint8Array(200_000).map((_, i) => i % 251),
        fewBytes: new Uint8Array([0, 255]),
        map: new Map([["a", new Set([1, 2])]]),
        none: null,
        text: "\ud800 alone",
      };
      const checkpoint = checkpointWith(values);
      const metadata = { ...loop, extra: "x".repeat(100_000) };
      const config = await saver.put(place, checkpoint, metadata, checkpoint.channel_versions);
      await saver.putWrites(config, [["long", "y".repeat(150_000)]], "task");
      const tuple = await saver.getTuple(place);
      expect(tuple?.checkpoint).toEqual(checkpoint);
      expect(tuple?.metadata).toEqual(metadata);
      expect(tuple?.pendingWrites).toEqual([["task", "long", "y".repeat(150_000)]]);
    });

    test("stores a long value once, whatever number of checkpoints carry it", async () => {
      const { holdfast, saver } = await open();
      const first = checkpointWith({ long: "z".repeat(200_000), step: 0 });
      let config = await saver.put(place, first, loop, first.channel_versions);
      const sizeOf = async (): Promise<number> => JSON.stringify((await holdfast.state.list({ limit: 1_000 })).entries).length;
      const before = await sizeOf();
      for (let step = 1; step <= 10; step += 1) {
        const next = { ...first, id: uuid6(0), channel_values: { ...first.channel_values, step }, channel_versions: { long: 1, step: step + 1 } };
        config = await saver.put(config, next, { ...loop, step }, { step: step + 1 });
      }
      expect((await saver.getTuple(place))?.checkpoint.channel_values).toEqual({ ...first.channel_values, step: 10 });
      expect((await sizeOf()) - before).toBeLessThan(30_000);
    });

    test("keeps the first writes of a task that runs twice, and the last error", async () => {
      const { saver } = await open();
      const config = await saver.put(place, checkpointWith({}), loop, {});
      await saver.putWrites(
        config,
        [
          ["a", 1],
          ["b", 2],
        ],
        "task",
      );
      await saver.putWrites(
        config,
        [
          ["a", 9],
          ["b", 9],
          ["c", 3],
        ],
        "task",
      );
      for (const message of ["one", "two"]) await saver.putWrites(config, [["__error__", { message }]], "task");
      expect((await saver.getTuple(config))?.pendingWrites).toEqual([
        ["task", "__error__", { message: "two" }],
        ["task", "a", 1],
        ["task", "b", 2],
        ["task", "c", 3],
      ]);
    });

    test("orders writes by the task's path, then the task, then their number", async () => {
      const { saver } = await open();
      const config = await saver.put(place, checkpointWith({}), loop, {});
      await saver.putWrites(
        config,
        Array.from({ length: 11 }, (_, i) => ["c", `last ${i}`]),
        "z",
        "~pull, 02",
      );
      await saver.putWrites(config, [["c", "beyond the first plane"]], "a", "~pull, \u{10000}");
      await saver.putWrites(config, [["c", "of the first plane"]], "b", "~pull, \ue000");
      await saver.putWrites(config, [["c", "without a path"]], "m");
      const order = (await saver.getTuple(config))?.pendingWrites?.map(([, , value]) => value);
      expect(order).toEqual(["without a path", ...Array.from({ length: 11 }, (_, i) => `last ${i}`), "of the first plane", "beyond the first plane"]);
    });

    test("lists more checkpoints than fit on a page, newest first, before and up to a limit", async () => {
      const { saver } = await open();
      const ids = Array.from({ length: 130 }, () => uuid6(0));
      for (const [step, id] of ids.entries()) await saver.put(place, { ...emptyCheckpoint(), id }, { ...loop, step: step % 2, parents: { a: "b" } }, {});
      const newest = ids.toReversed();
      expect(await listed(saver.list(place))).toEqual(newest);
      expect(await listed(saver.list({}, { limit: 3 }))).toEqual(newest.slice(0, 3));
      expect(await listed(saver.list(place, { before: { configurable: { checkpoint_id: ids[2] } } }))).toEqual([ids[1], ids[0]]);
      expect(await listed(saver.list(place, { filter: { step: 1, parents: { a: "b" } }, limit: 2 }))).toEqual([ids[129], ids[127]]);
      expect(await listed(saver.list(place, { filter: { step: 7 } }))).toEqual([]);
      expect(await listed(saver.list(place, { limit: 0 }))).toEqual([]);
    });

    test("keeps threads and namespaces apart whatever their names are, and deletes one thread alone", async () => {
      const { holdfast, saver } = await open();
      const names = ["a", "a/b", "a%2Fb", "~a", "x".repeat(300), `~${"0".repeat(64)}`, "\u{1f600}"];
      const places = names.flatMap((thread) => ["", "a", "b/c", "y".repeat(200)].map((ns) => ({ configurable: { thread_id: thread, checkpoint_ns: ns } })));
      for (const each of places) {
        const { thread_id, checkpoint_ns } = each.configurable;
        const checkpoint = checkpointWith({ own: `${thread_id} ${checkpoint_ns}` });
        await saver.putWrites(await saver.put(each, checkpoint, loop, checkpoint.channel_versions), [["own", thread_id]], "task/1");
      }
      const ownOf = async (each: (typeof places)[number]): Promise<unknown> => (await saver.getTuple(each))?.checkpoint.channel_values.own;
      for (const each of places) expect(await ownOf(each)).toBe(`${each.configurable.thread_id} ${each.configurable.checkpoint_ns}`);
      await saver.deleteThread("a");
      for (const each of places) expect((await ownOf(each)) === undefined).toBe(each.configurable.thread_id === "a");
      for (const name of names) await saver.deleteThread(name);
      expect((await holdfast.state.list()).entries).toEqual([]);
    });

    test("stores a checkpoint of more values than fit into one commit", async () => {
      const { saver } = await open();
      const checkpoint = checkpointWith(Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`channel ${i}`, i % 3 === 0 ? "v".repeat(48_000) : i])));
      await saver.put(place, checkpoint, loop, checkpoint.channel_versions);
      expect((await saver.getTuple(place))?.checkpoint).toEqual(checkpoint);
    });

    test("two branches of a thread do not share a version of a channel", async () => {
      const { saver } = await open();
      const versions = new Set(Array.from({ length: 100 }, () => saver.getNextVersion(7.25)));
      expect(versions.size).toBe(100);
      for (const version of versions) expect(Math.floor(version)).toBe(8);
      expect(Math.floor(saver.getNextVersion(undefined))).toBe(1);
    });

    test.each([
      ["a thread", { configurable: {} }, "thread_id"],
      ["a checkpoint", { configurable: { thread_id: "t" } }, "checkpoint_id"],
    ])("names %s that writes lack", async (_what, config, field) => {
      const { saver } = await open();
      await expect(saver.putWrites(config, [["a", 1]], "task")).rejects.toMatchObject({ code: "invalid_input", details: { field } });
    });
  });
}
