import { expect, test } from "vitest";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { HoldfastError } from "../../../src/kernel/errors.ts";
import { batchAnswerCharactersMax } from "../../../src/surfaces/mcp/http/handshake-era.ts";
import type { Era } from "../../support/mcp-connection.ts";
import { eras } from "../../support/mcp-connection.ts";
import type { Endpoint } from "../../support/mcp-endpoint.ts";
import { headersFor, openEndpoint, requestOf } from "../../support/mcp-endpoint.ts";
import { soon } from "../../support/soon.ts";

/** Counts the reads of large values; `hold` makes them wait, as a store on another machine would, until `release`. */
class CountingEngine extends MemoryEngine {
  largeReads = 0;
  release: () => void = () => {};
  #held: Promise<void> | undefined;

  hold(): void {
    this.#held = new Promise((resolve) => {
      this.release = resolve;
    });
  }

  override async read(...args: Parameters<MemoryEngine["read"]>): ReturnType<MemoryEngine["read"]> {
    const snapshot = await super.read(...args);
    if (!snapshot.entries.some(({ value }) => typeof value === "string" && value.length > 10_000)) return snapshot;
    this.largeReads += 1;
    await this.#held;
    return snapshot;
  }
}

/** One value fits into an answer; the second is read to see that it does not. */
const readsPerList = 2;
const listLarge = (era: Era, id: number) => requestOf(era, id, "tools/call", { name: "state_list", arguments: { prefix: "large/", values: true } });
const getSmall = (era: Era, id: number) => requestOf(era, id, "tools/call", { name: "state_get", arguments: { key: "small" } });

async function openLarge(options: Parameters<typeof openEndpoint>[0] = {}): Promise<{ readonly endpoint: Endpoint; readonly engine: CountingEngine }> {
  const engine = new CountingEngine();
  const endpoint = await openEndpoint({ ...options, engine });
  const set = (key: string, value: unknown) => endpoint.post("handshake", requestOf("handshake", 1, "tools/call", { name: "state_set", arguments: { key, value } }));
  for (let i = 0; i < 10; i += 1) await set(`large/${i}`, "x".repeat(900_000));
  await set("small", 1);
  engine.largeReads = 0;
  return { endpoint, engine };
}

const postBatch = (endpoint: Endpoint, messages: readonly object[], caller?: string) =>
  endpoint.send({ headers: { ...headersFor("handshake", {}), "mcp-protocol-version": "2025-03-26" }, body: JSON.stringify(messages), caller });

test.each(eras.flatMap((era) => [true, false].map((fastPath) => ({ era, fastPath }))))(
  "large answers are built a few at a time, however many are asked for at once ($era era, fast path: $fastPath)",
  async ({ era, fastPath }) => {
    const { endpoint, engine } = await openLarge({ fastPath });
    await using _ = endpoint;
    engine.hold();
    const answers = Array.from({ length: 12 }, (_, id) => endpoint.post(era, listLarge(era, id)));
    // Each of these comes after all of those, and is answered.
    for (let id = 0; id < 20; id += 1) await endpoint.post(era, getSmall(era, id), { caller: "quiet" });
    expect(engine.largeReads).toBeLessThanOrEqual(3);
    expect(endpoint.inFlight).toBe(12);
    engine.release();
    for (const { message } of await Promise.all(answers)) expect(message.result.structuredContent.entries).toHaveLength(1);
    expect(engine.largeReads).toBe(12 * readsPerList);
  },
);

test("one caller's large answers leave room for another's", async () => {
  const { endpoint, engine } = await openLarge();
  await using _ = endpoint;
  engine.hold();
  const answers = Array.from({ length: 20 }, (_, id) => endpoint.post("stateless", listLarge("stateless", id), { caller: "hostile" }));
  await soon(() => expect([endpoint.inFlight, engine.largeReads]).toEqual([20, 1]));
  const { message } = await endpoint.post("stateless", getSmall("stateless", 1), { caller: "quiet" });
  expect(message.result.structuredContent.value).toBe(1);
  // A large one too: it does not stand behind the nineteen that wait for memory.
  answers.push(endpoint.post("stateless", listLarge("stateless", 1), { caller: "quiet" }));
  await soon(() => expect(engine.largeReads).toBe(2));
  engine.release();
  await Promise.all(answers);
});

test("memory that a caller's answers took is free again, also when the caller went away", async () => {
  const { endpoint } = await openLarge();
  await using _ = endpoint;
  for (let round = 0; round < 3; round += 1) {
    const left = Array.from({ length: 8 }, async (_, id) => {
      const controller = new AbortController();
      const answer = fetch(endpoint.url, {
        method: "POST",
        headers: headersFor("stateless", listLarge("stateless", id)) as Record<string, string>,
        body: JSON.stringify(listLarge("stateless", id)),
        signal: controller.signal,
      });
      const { body } = await answer;
      await body?.cancel();
      controller.abort();
    });
    await Promise.allSettled(left);
  }
  const { message } = await endpoint.post("stateless", listLarge("stateless", 1));
  expect(message.result.structuredContent.entries).toHaveLength(1);
});

test("the messages of a batch are answered one after the other, and others are served in between", async () => {
  const { endpoint, engine } = await openLarge();
  await using _ = endpoint;
  const get = (id: number) => requestOf("handshake", id, "tools/call", { name: "state_get", arguments: { key: "large/1" } });
  const batch = postBatch(
    endpoint,
    Array.from({ length: 64 }, (_, id) => get(id)),
    "hostile",
  );
  await endpoint.post("handshake", getSmall("handshake", 1), { caller: "quiet" });
  expect(engine.largeReads).toBeLessThan(64);
  await batch;
});

test("each message of a batch is charged; those above the rate are refused under their own ids and do nothing", async () => {
  let charged = 0;
  const charge = (): void => {
    charged += 1;
    if (charged > 9) throw new HoldfastError("rate_limited", "Too many.");
  };
  await using endpoint = await openEndpoint({ charge });
  const { message } = await postBatch(
    endpoint,
    Array.from({ length: 64 }, (_, id) => requestOf("handshake", id, "tools/call", { name: "state_set", arguments: { key: `k/${id}`, value: id } })),
  );
  expect(charged).toBe(63);
  expect(message.map(({ id }: { id: number }) => id)).toEqual(Array.from({ length: 64 }, (_, id) => id));
  expect(message.filter(({ result }: { result?: object }) => result !== undefined)).toHaveLength(10);
  expect(message[10].error).toMatchObject({ code: -32_000, data: { code: "rate_limited" } });
  const list = await endpoint.post("handshake", requestOf("handshake", 1, "tools/call", { name: "state_list", arguments: { prefix: "k/" } }));
  expect(list.message.result.structuredContent.keys).toHaveLength(10);
});

test("the answers to one batch are bounded together; what comes after is refused and not run", async () => {
  const { endpoint, engine } = await openLarge();
  await using _ = endpoint;
  const { text, message } = await postBatch(
    endpoint,
    Array.from({ length: 64 }, (_, id) => listLarge("handshake", id)),
  );
  expect(engine.largeReads).toBe(5 * readsPerList);
  expect(text.length).toBeLessThan(2.5 * batchAnswerCharactersMax);
  expect(message).toHaveLength(64);
  expect(message[63].error).toMatchObject({ data: { code: "limit_exceeded" } });
});

test("a message of a batch that waits does not hold up those behind it", async () => {
  await using endpoint = await openEndpoint();
  const wait = requestOf("handshake", 1, "tools/call", { name: "state_get", arguments: { key: "k", wait_for_version_above: 0, wait_seconds: 50 } });
  const set = requestOf("handshake", 2, "tools/call", { name: "state_set", arguments: { key: "k", value: "woken" } });
  const { message } = await postBatch(endpoint, [wait, set]);
  expect(message[0].result.structuredContent.value).toBe("woken");
});
