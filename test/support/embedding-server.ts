import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Words that this "model" takes for the same: each line is one direction. What is on no line is a direction of its own, which few texts share. */
const meanings = ["cellar basement underground", "flood water wet leak", "bill invoice payment", "dog puppy hound", "train railway locomotive"].map((line) => line.split(" "));
const dimensions = 72;

function vectorOf(text: string): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) {
    const meaning = meanings.findIndex((words) => words.includes(word));
    const own = meanings.length + ([...word].reduce((sum, character) => (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521, 7) % (dimensions - meanings.length));
    const at = meaning === -1 ? own : meaning;
    vector[at] = (vector[at] ?? 0) + (meaning === -1 ? 0.2 : 1);
  }
  return vector;
}

interface EmbeddingRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly model: string;
  readonly input: readonly string[];
}

export interface EmbeddingServer {
  /** As a user would give it. */
  readonly url: string;
  readonly requests: EmbeddingRequest[];
  /** Instead of a good answer, until it is set back to undefined. */
  misbehave: ((response: ServerResponse, good: object) => void) | undefined;
}

/** A real endpoint that speaks OpenAI's `/v1/embeddings`, with a model whose vectors can be foretold. */
export async function openEmbeddingServer(): Promise<EmbeddingServer> {
  const state: { requests: EmbeddingRequest[]; misbehave: EmbeddingServer["misbehave"] } = { requests: [], misbehave: undefined };
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const { model, input } = JSON.parse(body) as { model: string; input: string[] };
      state.requests.push({ path: request.url ?? "", headers: request.headers, model, input });
      // In another order than asked: the index counts.
      const good = { object: "list", model, data: input.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) })).reverse() };
      if (state.misbehave !== undefined) return state.misbehave(response, good);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(good));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(state, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
}
