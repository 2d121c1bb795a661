import { readFileSync } from "node:fs";
import { HoldfastError, invalidInput } from "../kernel/errors.ts";
import { isLoopbackAddress } from "../kernel/loopback-address.ts";

/** The settings as given, and the origin of each. */
interface Given {
  readonly embeddings?: string;
  readonly embeddingsModel?: string;
  readonly embeddingsRemote: boolean;
  readonly embeddingsKey?: string;
  readonly embeddingsKeyFile?: string;
  readonly origins: Readonly<Record<"embeddings" | "embeddingsKeyFile", string>>;
}

export type EmbeddingSettings =
  | { readonly kind: "onnx"; readonly folder: string }
  | { readonly kind: "endpoint"; readonly url: string; readonly model: string; readonly key?: string; readonly isRemote: boolean };

const keyForm = /^[\x21-\x7e]{1,8192}$/;

/** Undefined if no model is configured: then none of this is loaded, and no model is ever called. */
export function embeddingSettingsOf({ embeddings, embeddingsModel, embeddingsRemote, embeddingsKey, embeddingsKeyFile, origins }: Given): EmbeddingSettings | undefined {
  if (embeddings === undefined) return undefined;
  if (embeddings.startsWith("onnx:")) return { kind: "onnx", folder: embeddings.slice("onnx:".length) };
  const { hostname } = new URL(embeddings);
  const isRemote = !isLoopbackAddress(hostname);
  if (isRemote && !embeddingsRemote)
    throw new HoldfastError("invalid_input", `${origins.embeddings}: ${hostname} is another machine; every note and every question would be sent to it`, {
      hint: "Pass --embeddings-remote if that is what you want.",
      details: { field: origins.embeddings },
    });
  if (embeddingsModel === undefined)
    throw new HoldfastError("invalid_input", `${origins.embeddings}: needs the name of a model as the endpoint knows it`, {
      hint: "Pass --embeddings-model NAME.",
      details: { field: "--embeddings-model" },
    });
  return { kind: "endpoint", url: embeddings, model: embeddingsModel, key: embeddingsKey ?? readKey(embeddingsKeyFile, origins.embeddingsKeyFile), isRemote };
}

function readKey(path: string | undefined, origin: string): string | undefined {
  if (path === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (cause) {
    throw new HoldfastError("invalid_input", `${origin}: must be a readable file that holds one key`, { cause, details: { field: origin } });
  }
  if (!keyForm.test(text)) throw invalidInput(origin, "must be a file that holds one key: visible characters without a space");
  return text;
}
