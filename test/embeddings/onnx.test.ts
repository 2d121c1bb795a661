import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openOnnxEmbedder } from "../../src/embeddings/onnx-embedder.ts";
import { readWordPiece } from "../../src/embeddings/word-piece.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "retry", "##ing", "the", "queue", "cafe", ",", "数", "据", "un", "##able", "$"];
const tokenizer = {
  model: { type: "WordPiece", vocab: Object.fromEntries(words.map((word, id) => [word, id])), unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 20 },
  normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
  pre_tokenizer: { type: "BertPreTokenizer" },
};

test.each<[string, readonly string[]]>([
  ["Retrying the queue", ["retry", "##ing", "the", "queue"]],
  ["the CAFÉ, unable", ["the", "cafe", ",", "un", "##able"]],
  ["数据queue", ["数", "据", "queue"]],
  ["queue$the\u0000\u200b\tqueue", ["queue", "$", "the", "queue"]],
  ["queues unknown", ["[UNK]", "[UNK]"]],
  [`the ${"retry".repeat(5)}`, ["the", "[UNK]"]],
  ["", []],
])("%j becomes %j", (text, pieces) => {
  expect(
    readWordPiece(tokenizer)
      .encode(text)
      .map((id) => words[id]),
  ).toEqual(["[CLS]", ...pieces, "[SEP]"]);
});

test("a long text is cut to what the model takes, with its marks", () => {
  const ids = readWordPiece({ ...tokenizer, truncation: { max_length: 8 } }).encode("queue ".repeat(50));
  expect(ids.map((id) => words[id])).toEqual(["[CLS]", ...Array.from({ length: 6 }, () => "queue"), "[SEP]"]);
  expect(readWordPiece(tokenizer).encode("queue ".repeat(500))).toHaveLength(256);
});

test.each([
  ["model", { ...tokenizer, model: { type: "Unigram" } }, 'model "Unigram" is not supported'],
  ["model", { ...tokenizer, model: { type: "BPE" } }, 'model "BPE" is not supported'],
  ["normalizer", { ...tokenizer, normalizer: { type: "Precompiled" } }, 'normalizer "Precompiled" is not supported'],
  ["pre_tokenizer", { ...tokenizer, pre_tokenizer: { type: "Metaspace" } }, 'pre_tokenizer "Metaspace" is not supported'],
  ["vocabulary", { ...tokenizer, model: { ...tokenizer.model, vocab: { "[CLS]": 0 } } }, "the vocabulary has no [SEP]"],
])("a tokenizer with another %s is refused by name", (_part, file, message) => {
  expect(() => readWordPiece(file)).toThrow(`tokenizer.json: ${message}`);
});

test("what is missing is named: the model, the tokenizer, the runtime", async () => {
  const folder = await temporaryFolder();
  await expect(openOnnxEmbedder(folder)).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining("there is no model.onnx in") });
  await mkdir(join(folder, "onnx"));
  await writeFile(join(folder, "onnx", "model.onnx"), "");
  await expect(openOnnxEmbedder(folder)).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining("tokenizer.json must be a readable JSON file") });
  await writeFile(join(folder, "tokenizer.json"), JSON.stringify(tokenizer));
  await expect(openOnnxEmbedder(folder)).rejects.toMatchObject({
    code: "invalid_input",
    message: "--embeddings: onnx: needs the package onnxruntime-node, which is not installed",
    hint: expect.stringContaining("npm install --prefix"),
  });
});
