import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { embeddingSettingsOf } from "../../src/embeddings/embedding-settings.ts";
import { openEndpointEmbedder } from "../../src/embeddings/endpoint-embedder.ts";
import { openEmbeddingServer } from "../support/embedding-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const signal = new AbortController().signal;

test("vectors come in the order of the texts, whatever the order of the answer", async () => {
  const { url } = await openEmbeddingServer();
  const embedder = openEndpointEmbedder({ url: `${url}/embeddings/`, model: "toy" });
  const [dog, hound, train] = await embedder.embed(["dog", "hound", "train"], "asked", signal);
  expect(dog).toEqual(hound);
  expect(dog).not.toEqual(train);
});

test.each<[string, unknown]>([
  ["no data", {}],
  ["too few", { data: [{ index: 0, embedding: [1, 2] }] }],
  ["no numbers", { data: [0, 1].map((index) => ({ index, embedding: ["a"] })) }],
  ["nothing in it", { data: [0, 1].map((index) => ({ index, embedding: [] })) }],
  ["too long", { data: [0, 1].map((index) => ({ index, embedding: Array.from({ length: 4_097 }, () => 1) })) }],
  ["one twice", { data: [0, 0].map((index) => ({ index, embedding: [1, 2] })) }],
  ["an index beyond", { data: [0, 7].map((index) => ({ index, embedding: [1, 2] })) }],
  ["different lengths", { data: [[1], [1, 2]].map((embedding, index) => ({ index, embedding })) }],
])("an answer with %s is refused", async (_what, answer) => {
  const server = await openEmbeddingServer();
  server.misbehave = (response) => void response.end(JSON.stringify(answer));
  await expect(openEndpointEmbedder({ url: server.url, model: "toy" }).embed(["a", "b"], "asked", signal)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/^The embedding endpoint /),
  });
});

test("an endless answer, a redirect and what is not JSON are refused, and no message has the key", async () => {
  const server = await openEmbeddingServer();
  const embedder = openEndpointEmbedder({ url: server.url, model: "toy", key: "sesame-4711" });
  const problemWith = async (misbehave: typeof server.misbehave): Promise<string> => {
    server.misbehave = misbehave;
    const error: Error = await embedder.embed(["a"], "asked", signal).then(
      () => new Error("was accepted"),
      (each) => each,
    );
    return `${error.stack} ${JSON.stringify(error.cause)}`;
  };
  const problems = [
    await problemWith((response) => {
      const more = (): void => {
        while (response.write("x".repeat(65_536)));
        response.once("drain", more);
      };
      more();
    }),
    await problemWith((response) => void response.writeHead(307, { location: "http://192.0.2.1/v1/embeddings" }).end()),
    await problemWith((response) => void response.end("<html>")),
    await problemWith((response) => void response.writeHead(401).end("sesame-4711 is wrong")),
  ];
  expect(problems.map((problem) => /The embedding endpoint ([^.]+)\./.exec(problem)?.[1])).toEqual([
    "sent more than 8388608 bytes",
    "cannot be reached",
    "sent something that is not JSON",
    "answered with status 401",
  ]);
  expect(problems.join("\n")).not.toContain("sesame");
  expect(server.requests.every(({ headers }) => headers.authorization === "Bearer sesame-4711")).toBe(true);
});

test("nothing is configured by default", () => {
  expect(embeddingSettingsOf(readConfig({}, {}))).toBeUndefined();
});

test("an endpoint needs a model, and leave where it is on another machine", async () => {
  const settings = (flags: Record<string, string | boolean>, environment = {}) => embeddingSettingsOf(readConfig(flags, environment));
  expect(() => settings({ embeddings: "http://127.0.0.1:1/v1" })).toThrow("--embeddings: needs the name of a model");
  expect(() => settings({ embeddings: "http://models.example/v1", "embeddings-model": "m" })).toThrow(
    "--embeddings: models.example is another machine; every note and every question would be sent to it",
  );
  expect(settings({ embeddings: "https://models.example/v1", "embeddings-model": "m", "embeddings-remote": true }, { HOLDFAST_EMBEDDINGS_KEY: "k" })).toMatchObject({
    key: "k",
    isRemote: true,
  });
  for (const bad of ["models.example", "ftp://x/v1", "http://user:secret@127.0.0.1/v1", "onnx:"])
    expect(() => settings({ embeddings: bad })).toThrow("--embeddings: must be the http://");
  const file = join(await temporaryFolder(), "key");
  await writeFile(file, "from-a-file\n");
  expect(settings({ embeddings: "http://localhost:1", "embeddings-model": "m", "embeddings-key-file": file })).toMatchObject({ key: "from-a-file", isRemote: false });
  await writeFile(file, "two words");
  expect(() => settings({ embeddings: "http://localhost:1", "embeddings-model": "m", "embeddings-key-file": file })).toThrow(
    "--embeddings-key-file: must be a file that holds one key",
  );
});
