import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { HoldfastError } from "../kernel/errors.ts";
import type { Embedder } from "../search/embedder.ts";
import { readWordPiece } from "./word-piece.ts";

/** The part of onnxruntime-node that is used. */
interface OnnxRuntime {
  readonly InferenceSession: { create(path: string, options?: object): Promise<OnnxSession> };
  readonly Tensor: new (type: "int64", data: BigInt64Array, dimensions: readonly number[]) => OnnxTensor;
}
interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(inputs: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>;
}
interface OnnxTensor {
  readonly data: ArrayLike<number | bigint>;
  readonly dims: readonly number[];
}

/**
 * A sentence model in a folder, in its published form: `model.onnx` (or `onnx/model.onnx`), `tokenizer.json`, and, if present, `1_Pooling/config.json`
 * and `config_sentence_transformers.json`. The user installs the runtime; Holdfast does not include one.
 */
export async function openOnnxEmbedder(folder: string): Promise<Embedder> {
  const modelPath = [join(folder, "model.onnx"), join(folder, "onnx", "model.onnx")].find((path) => existsSync(path));
  if (modelPath === undefined) throw new HoldfastError("invalid_input", `--embeddings: there is no model.onnx in ${folder}`);
  const tokenizer = readWordPiece(await requireJson(join(folder, "tokenizer.json")));
  const pooling = (await readJson(join(folder, "1_Pooling", "config.json"))) as { readonly pooling_mode_cls_token?: boolean } | undefined;
  const { prompts = {} } = ((await readJson(join(folder, "config_sentence_transformers.json"))) ?? {}) as { readonly prompts?: Readonly<Record<string, string>> };
  const takesFirst = pooling?.pooling_mode_cls_token === true;
  const runtime = requireRuntime(folder);
  const session = await runtime.InferenceSession.create(modelPath, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  const prefixes = { stored: prompts.passage ?? prompts.document ?? "", asked: prompts.query ?? "" };
  return {
    modelId: `onnx:${(await digestOf(modelPath)).slice(0, 16)}${takesFirst ? ":first" : ""}${prefixes.stored}${prefixes.asked}`,
    async embed(texts, as, signal) {
      const vectors: ArrayLike<number>[] = [];
      // One text at a time: padding to the longest would change the last digits of the other vectors.
      for (const text of texts) {
        signal.throwIfAborted();
        vectors.push(await embedOne(runtime, session, tokenizer.encode(prefixes[as] + text), takesFirst));
      }
      return vectors;
    },
  };
}

async function embedOne({ Tensor }: OnnxRuntime, session: OnnxSession, ids: readonly number[], takesFirst: boolean): Promise<ArrayLike<number>> {
  const tensor = (value: (id: number) => number): OnnxTensor =>
    new Tensor(
      "int64",
      BigInt64Array.from(ids, (id) => BigInt(value(id))),
      [1, ids.length],
    );
  const inputs: Readonly<Record<string, OnnxTensor>> = { input_ids: tensor((id) => id), attention_mask: tensor(() => 1), token_type_ids: tensor(() => 0) };
  const outputs = await session.run(Object.fromEntries(session.inputNames.flatMap((name) => (inputs[name] === undefined ? [] : [[name, inputs[name]]]))));
  const { data, dims } = (outputs.sentence_embedding ?? outputs.last_hidden_state ?? outputs[session.outputNames[0] ?? ""]) as OnnxTensor;
  const width = dims.at(-1) as number;
  // The output is either one vector for the whole sentence, or one for each token.
  const rows = dims.length === 2 || takesFirst ? 1 : ids.length;
  return Array.from({ length: width }, (_, i) => {
    let sum = 0;
    for (let row = 0; row < rows; row += 1) sum += Number(data[row * width + i]);
    return sum / rows;
  });
}

const runtimePackage = "onnxruntime-node";

/** Resolved from the model's folder, the working directory, then Holdfast's own installation. */
function requireRuntime(folder: string): OnnxRuntime {
  for (const from of [join(folder, "from"), join(process.cwd(), "from"), import.meta.url]) {
    const load = createRequire(from);
    let path: string;
    try {
      path = load.resolve(runtimePackage);
    } catch {
      continue;
    }
    return load(path) as OnnxRuntime;
  }
  throw new HoldfastError("invalid_input", `--embeddings: onnx: needs the package ${runtimePackage}, which is not installed`, {
    hint: `Install it beside the model: npm install --prefix ${folder} ${runtimePackage}`,
  });
}

async function readJson(path: string): Promise<unknown> {
  return existsSync(path) ? requireJson(path) : undefined;
}

async function requireJson(path: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
    throw new SyntaxError("not an object");
  } catch (cause) {
    throw new HoldfastError("invalid_input", `--embeddings: ${path} must be a readable JSON file`, { cause });
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}
