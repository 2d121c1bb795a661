import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openEngine } from "../../../src/engines/open-store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import type { ActivityItem } from "../../../src/surfaces/dashboard/api.ts";
import type { ServerSentEvent } from "../../../src/surfaces/dashboard/api-route.ts";
import { engineNamed } from "../../support/engines.ts";
import { openApi, openMemoryApi } from "./open-api.ts";

const tell = ({ event, data }: ServerSentEvent): string => {
  const { operation, subject, times } = data as ActivityItem;
  return event === "change" ? `${operation} ${subject}${times === undefined ? "" : ` ×${times}`}` : event;
};

/** Reads events until so many have come, then hangs up. */
async function take(api: ReturnType<typeof openMemoryApi>, query: Record<string, string>, count: number, lastEventId?: string): Promise<ServerSentEvent[]> {
  const stop = new AbortController();
  const events: ServerSentEvent[] = [];
  const advancing = (async () => {
    while (!stop.signal.aborted) await api.clock.advanceBy(200);
  })();
  for await (const event of await api.events(query, stop.signal, lastEventId)) {
    events.push(event);
    if (events.length === count) stop.abort();
  }
  await advancing;
  return events;
}

describe("events", () => {
  test("greet with the present revision, then tell what comes after it", async () => {
    const api = openMemoryApi();
    await api.agent("state_set", { key: "before", value: 1 });
    const taken = take(api, {}, 3);
    await api.clock.settle();
    await api.agent("state_set", { key: "a", value: 1 });
    await api.agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 5 });
    const events = await taken;
    expect(events.map(tell)).toEqual(["hello", "set a", "acquired deploy"]);
    expect(events[0]).toMatchObject({ id: "1", data: { revision: 1 } });
    expect(events.map(({ id }) => id)).toEqual(["1", "2", "3"]);
  });

  test("continue after a revision, or after the id of the last one received, also from the middle of a commit", async () => {
    const api = openMemoryApi();
    await api.agent("state_set", { key: "a", value: 1 });
    await api.agent("state_commit", { writes: ["x", "y", "z"].map((key) => ({ key, value: 1 })) });
    await api.agent("state_set", { key: "b", value: 1 });
    const all = await take(api, { after: "0" }, 6);
    expect(all.map(tell)).toEqual(["hello", "set a", "set x", "set y", "set z", "set b"]);
    for (const [i, { id }] of all.entries()) {
      const rest = all.slice(i + 1).map(tell);
      expect((await take(api, { after: id as string }, rest.length + 1)).map(tell)).toEqual(["hello", ...rest]);
      expect((await take(api, { after: "0" }, rest.length + 1, id)).map(tell)).toEqual(["hello", ...rest]);
    }
  });

  test("tell equal changes in a row as one, and the others each", async () => {
    const api = openMemoryApi();
    for (let i = 0; i < 5; i += 1) await api.agent("state_set", { key: "a", value: i });
    await api.agent("state_set", { key: "b", value: 1 });
    await api.agent("state_set", { key: "a", value: 9 });
    const events = await take(api, { after: "0" }, 4);
    expect(events.map(tell)).toEqual(["hello", "set a ×5", "set b", "set a"]);
    expect(events[1]?.id).toBe("5");
  });

  test("say that everything must be read again when the past is no longer kept, and continue from there", async () => {
    const api = openMemoryApi();
    for (let i = 0; i < 10; i += 1) await api.agent("state_set", { key: "a", value: i });
    await api.engine.compact("team", { ageMs: 1e12, revisions: 2, tombstones: 10 }, 1_000);
    const taken = take(api, { after: "3" }, 3);
    await api.clock.settle();
    await api.agent("state_set", { key: "b", value: 1 });
    expect((await taken).map(tell)).toEqual(["hello", "compacted", "set b"]);
  });

  test("say it too to a reader whose revision this store does not have yet", async () => {
    const api = openMemoryApi();
    await api.agent("state_set", { key: "a", value: 1 });
    const [, restart] = await take(api, { after: "99" }, 2);
    expect(restart).toMatchObject({ id: "1", event: "compacted", data: { revision: 1 } });
  });

  test("do not tell one by one what a reader is far behind of: it reads everything again", async () => {
    const api = openMemoryApi();
    const { store } = api.base;
    for (let made = 0; made < 7_000; made += 500)
      await Promise.all(
        Array.from({ length: 500 }, (_, i) =>
          store.commit({ writes: [{ op: "put", key: `state/${made + i}`, value: 1, record: { kind: "state", op: "set", subject: String(made + i) } }], writer: "fleet" }),
        ),
      );
    const events = await take(api, { after: "0" }, 502);
    expect(events.filter(({ event }) => event === "change")).toHaveLength(500);
    expect(events.at(-1)).toMatchObject({ event: "compacted", id: "7000" });
  });
});

describe.each(["memory", "SQLite"])("events while writers race on %s", (name) => {
  test("lose nothing and repeat nothing, however often the reader hangs up and comes back", async () => {
    await using engine = await openEngine(await engineNamed(name).freshUrl());
    const api = openApi({ engine, clock: systemClock });
    const writers = 6;
    const each = 60;
    const written: string[] = [];
    const racing = Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        for (let i = 0; i < each; i += 1) {
          const keys = [`w${writer}/${i}`, ...(i % 5 === 0 ? [`w${writer}/${i}/more`] : [])];
          await api.agent("state_commit", { writes: keys.map((key) => ({ key, value: i })), agent_id: `worker-${writer}` });
          written.push(...keys);
          if (i % 10 === 0) await turn();
        }
      }),
    );
    const seen: string[] = [];
    let last = "0";
    let visits = 0;
    const expected = writers * (each + each / 5);
    // A writer that fails fails the test at once: the reader would wait for ever.
    let failed = false;
    racing.catch(() => {
      failed = true;
    });
    while (seen.length < expected && !failed) {
      const stop = new AbortController();
      // Hangs up at a place that has nothing to do with where a commit or a page ends.
      let left = 1 + ((visits * 7) % 23);
      visits += 1;
      for await (const { id, event, data } of await api.events({ after: last }, stop.signal)) {
        if (event === "change") seen.push((data as ActivityItem).subject);
        expect(event).not.toBe("compacted");
        last = id as string;
        left -= 1;
        if (left <= 0 || seen.length === expected) stop.abort();
      }
    }
    await racing;
    expect(seen.toSorted()).toEqual(written.toSorted());
    expect(new Set(seen).size).toBe(expected);
    expect(visits).toBeGreaterThan(10);
  });
});
