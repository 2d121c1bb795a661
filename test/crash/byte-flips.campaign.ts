import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import { exportLines } from "../../src/transfer/files/export-lines.ts";
import { readExport } from "../../src/transfer/files/read-export.ts";
import { FlippedStore, flipBytes, tally } from "../support/byte-flips.ts";
import { manualClock } from "../support/manual-clock.ts";
import { scaled } from "../support/scale.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const flips = scaled(1_000, 50);
const seed = 20_261;

test.each(["", "-wal", "-bell"] as const)("changed bytes in the store's file%s, one at a time: detected or harmless", async (part) => {
  const flipped = await flipBytes(await FlippedStore.make(await temporaryFolder()), part, flips, seededRandom(seed));
  console.log(part, tally(flipped));
  expect(flipped.filter(({ verdict }) => verdict === "silent" || verdict === "internal")).toEqual([]);
});

test("changed bytes in an export, one at a time: all refused", async () => {
  const engine = new MemoryEngine(manualClock());
  for (let i = 0; i < 60; i += 1)
    await engine.commit("test", [
      prepareCommit({ writer: "w", request: { key: `r${i}`, fingerprint: "f", note: i }, writes: [{ op: "put", key: `k${i % 20}`, value: { i, text: "x".repeat(50) } }] }),
    ]);
  const lines: string[] = [];
  for await (const line of exportLines([{ engine, namespace: "test" }], "test")) lines.push(line);
  const whole = Buffer.from(lines.join(""));
  const path = join(await temporaryFolder(), "export.jsonl");
  const random = seededRandom(seed);
  const accepted: number[] = [];
  for (let i = 0; i < flips; i += 1) {
    const offset = random(whole.length);
    const bytes = Buffer.from(whole);
    bytes[offset] = (bytes[offset] as number) ^ (1 + random(255));
    writeFileSync(path, bytes);
    try {
      for await (const _part of readExport(path));
      accepted.push(offset);
    } catch (error) {
      if (!isHoldfastError(error) || error.code === "internal") throw error;
    }
  }
  expect(accepted).toEqual([]);
});
