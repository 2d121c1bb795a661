import type { ApiRoute, ServerSentEvent } from "../../src/surfaces/dashboard/api-route.ts";

/** Routes that do as they are told, to see what the front does around them. */
export function openApiFixtures() {
  let released: () => void = () => {};
  const release = new Promise<void>((resolve) => {
    released = resolve;
  });
  const seen = { hanging: 0, aborted: 0, large: 0, streams: 0, endedStreams: 0, lastEventId: undefined as string | undefined, asked: 0 };
  const route = (method: ApiRoute["method"], path: string, handle: ApiRoute["handle"]): ApiRoute => ({ method, path, needs: "read", handle });

  async function* ticks(signal: AbortSignal, size: number): AsyncGenerator<ServerSentEvent> {
    seen.streams += 1;
    try {
      for (let id = 1; !signal.aborted; id += 1) {
        seen.asked += 1;
        yield { id: String(id), event: "tick", data: "x".repeat(size) };
        if (size === 0) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      }
    } finally {
      seen.endedStreams += 1;
    }
  }

  const routes: readonly ApiRoute[] = [
    /** Answers when it is released; says so when its caller goes away. */
    route("GET", "/api/fixture/hang", async ({ signal }) => {
      seen.hanging += 1;
      signal.addEventListener("abort", () => (seen.aborted += 1), { once: true });
      await release;
      return { json: "released" };
    }),
    route("POST", "/api/fixture/echo", async (request) => ({ json: await request.json() })),
    route("GET", "/api/fixture/large", async () => {
      seen.large += 1;
      return { json: "x".repeat(8_000_000) };
    }),
    route("GET", "/api/fixture/throw", async () => {
      throw new Error("secret inside: SELECT * FROM kv in /srv/data at password=hunter2");
    }),
    /** One event and then silence. */
    route("GET", "/api/fixture/quiet", async ({ signal, lastEventId }) => {
      seen.lastEventId = lastEventId;
      return { events: ticks(signal, 0) };
    }),
    /** As much as the caller takes. */
    route("GET", "/api/fixture/flood", async ({ signal }) => ({ events: ticks(signal, 100_000) })),
    /** Breaks in the middle. */
    route("GET", "/api/fixture/broken", async () => ({
      events: (async function* () {
        yield { event: "tick", data: 1 };
        throw new Error("secret inside");
      })(),
    })),
    /** Ignores its signal. */
    route("GET", "/api/fixture/deaf", async () => ({
      events: {
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise<never>(() => {}),
        }),
      },
    })),
    route("GET", "/api/fixture/hostile", async () => ({
      events: (async function* () {
        yield { id: "1\ndata: forged", event: "a\nevent: b", data: "line\nbreak\r\n\r\ndata: forged" };
      })(),
    })),
  ];
  return { routes, seen, release: () => released() };
}
