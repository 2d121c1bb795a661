import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { WordedRow } from "../../bench/recall/blind.ts";
import { measureBlind, renderBlind } from "../../bench/recall/blind.ts";
import { openOnnxEmbedder } from "../../src/embeddings/onnx-embedder.ts";
import { toShortVector } from "../../src/search/short-vector.ts";
import { VectorTable } from "../../src/search/vector-table.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const model = async () => openOnnxEmbedder((await promisify(execFile)(process.execPath, ["scripts/test-services/sentence-model.mjs"])).stdout.trim());

test("a real model puts sentences of one meaning near one another", async () => {
  const embedder = await model();
  const texts = ["The queue retries a failed job seven times.", "How often is a broken task tried again?", "Roses should be cut back in spring."];
  const vectors = (await embedder.embed(texts, "stored", new AbortController().signal)).map((values) => toShortVector(values));
  const table = new VectorTable(384);
  for (const [i, vector] of vectors.entries()) if (vector !== undefined) table.put(`t${i}`, 1, [vector]);
  const nearness = table.compare(vectors.slice(0, 1).flatMap((vector) => vector ?? []));
  expect(nearness.of("t0")?.cosine).toBeCloseTo(1, 2);
  expect(nearness.of("t1")?.cosine).toBeGreaterThan(0.4);
  expect(nearness.of("t2")?.cosine).toBeLessThan(0.2);
});

test("with a real model, plain notes asked for in other words are named that words alone leave out, and answers stay as they are", async () => {
  const rows: WordedRow[] = [];
  for (const embedder of [undefined, await model()])
    for await (const row of measureBlind({ folder: await temporaryFolder(), set: "tune", size: 41, embedder, progress: () => {} })) {
      console.log(renderBlind(row));
      rows.push(row);
    }
  const found = (system: string): WordedRow => rows.find((row) => row.system.startsWith(system) && row.saved === "plain" && row.asked === "one question") as WordedRow;
  const [words, both] = [found("Holdfast"), found("Holdfast, onnx:")];
  expect(both.either["other words"]).toBeGreaterThan(words.either["other words"] + 0.2);
  expect(both.items["other words"]).toBe(words.items["other words"]);
});
