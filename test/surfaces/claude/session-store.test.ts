import { afterAll, describe, expect, test } from "vitest";
import type { FoldSessionSummary } from "../../../src/claude.ts";
import { HoldfastSessionStore } from "../../../src/claude.ts";
import type { Holdfast } from "../../../src/index.ts";
import { connectHoldfast, HoldfastError, openHoldfast } from "../../../src/index.ts";
import { randomHex } from "../../../src/kernel/ids.ts";
import { openManual } from "../../library/manual-library.ts";
import { sharedEngines } from "../../support/engines.ts";
import type { HttpProcess } from "../../support/http-process.ts";
import { startHttpProcess } from "../../support/http-process.ts";
import { sharedBuild } from "../../support/shared-builds.ts";
import { entry, sessionContracts } from "./session-contracts.ts";

const main = { projectKey: "-srv-app", sessionId: "5f0c2a52-6f0b-4a3e-9d53-0c4c5b1f7a11" };

/** In the manner of the SDK's own, which the campaign uses: the last title and the number of entries. */
const fold: FoldSessionSummary = (previous, { sessionId }, entries) => {
  const data: Record<string, unknown> = { ...previous?.data };
  for (const { title } of entries) if (title !== undefined) data.title = title;
  return { sessionId, mtime: 0, data: { ...data, entries: ((data.entries as number | undefined) ?? 0) + entries.length } };
};

let server: Promise<HttpProcess> | undefined;
afterAll(async () => (await server)?.[Symbol.asyncDispose]());
const ways: readonly { readonly name: string; open(): Promise<Holdfast> }[] = [
  ...sharedEngines.map((on) => ({ name: on.name, open: async () => openHoldfast({ store: await on.freshUrl() }) })),
  {
    name: "a server",
    async open() {
      server ??= sharedBuild("executable").then((program) => startHttpProcess(program, ["--store", "memory:", "--rate-limit", "1000000"]));
      return connectHoldfast((await server).url, { namespace: `n-${randomHex(12)}` });
    },
  },
];

for (const { name, open } of ways)
  describe(`a session store on ${name}`, () => {
    test.each(sessionContracts)("%s", async (_rule, check) => {
      await using holdfast = await open();
      await using store = new HoldfastSessionStore(holdfast, { foldSessionSummary: fold });
      await check(store);
    });

    test("stores entries larger than a value and batches larger than a commit, whole and in order", async () => {
      await using holdfast = await open();
      await using store = new HoldfastSessionStore(holdfast);
      // Surrogate pairs at every place where a chunk could be cut, and text that takes more bytes in a request than in memory.
      const large = entry({ uuid: "large", text: `a${"😀\\".repeat(900_000)}` });
      const entries = [entry({ uuid: "first" }), large, ...Array.from({ length: 300 }, (_, i) => entry({ uuid: `u${i}`, text: "ö".repeat(1_000) }))];
      await store.append(main, entries);
      await store.append(main, [entry({ uuid: "last", nested: JSON.parse("[".repeat(100) + "]".repeat(100)) })]);
      const loaded = await store.load(main);
      expect(loaded?.length).toBe(entries.length + 1);
      expect(loaded?.slice(0, -1)).toEqual(entries);
      expect(loaded?.at(-1)?.uuid).toBe("last");
    });

    test("stores each entry with a uuid once, in whichever store or batch it comes again", async () => {
      await using holdfast = await open();
      const [a, b, c] = ["a", "b", "c"].map((uuid) => entry({ uuid }));
      {
        await using store = new HoldfastSessionStore(holdfast);
        await store.append(main, [a, b, a] as never);
        await store.append(main, [b] as never);
      }
      await using other = new HoldfastSessionStore(holdfast);
      await other.append(main, [a, b, c] as never);
      expect((await other.load(main))?.map(({ uuid }) => uuid)).toEqual(["a", "b", "c"]);
      // Titles and other marks have no uuid, and may be the same twice.
      await other.append(main, [entry({ mark: 1 }), entry({ mark: 1 })]);
      await other.append(main, [entry({ mark: 1 })]);
      expect(await other.load(main)).toHaveLength(6);
    });
  });

/** A store of transcripts whose commits fail as the test says: before they happen, or after, with their answer lost. */
function failing(holdfast: Holdfast): { readonly holdfast: Holdfast; next: ("before" | "after")[]; commits: number } {
  const control = {
    next: [] as ("before" | "after")[],
    commits: 0,
    holdfast: {
      ...holdfast,
      state: {
        ...holdfast.state,
        async commit(...args: Parameters<Holdfast["state"]["commit"]>) {
          control.commits += 1;
          const when = control.next.shift();
          if (when === "before") throw new HoldfastError("unavailable", "The store cannot be reached; nothing was changed.");
          const result = await holdfast.state.commit(...args);
          if (when === "after") throw new HoldfastError("outcome_unknown", "The answer was lost.");
          return result;
        },
      },
    } satisfies Holdfast,
  };
  return control;
}

describe("a batch", () => {
  test("whose answer was lost is stored once when the SDK repeats it, even without uuids", async () => {
    const { holdfast } = openManual();
    const control = failing(holdfast);
    const store = new HoldfastSessionStore(control.holdfast);
    const batch = [entry({ mark: "title" }), entry({ uuid: "a" })];
    await store.append(main, [entry({ uuid: "0" })]);
    control.next = ["after", "after"];
    await expect(store.append(main, batch)).rejects.toMatchObject({ code: "outcome_unknown" });
    await expect(store.append(main, batch)).rejects.toMatchObject({ code: "outcome_unknown" });
    await store.append(main, batch);
    expect(await store.load(main)).toEqual([entry({ uuid: "0" }), ...batch]);
  });

  test("that the SDK gives up is stored before the next one, and by flush", async () => {
    const { holdfast } = openManual();
    const control = failing(holdfast);
    const store = new HoldfastSessionStore(control.holdfast);
    await store.append(main, [entry({ n: 0 })]);
    control.next = ["before", "after", "before"];
    for (let attempt = 0; attempt < 3; attempt += 1) await expect(store.append(main, [entry({ n: 1 })])).rejects.toThrow();
    await store.append(main, [entry({ n: 2 })]);
    control.next = ["before"];
    await expect(store.append(main, [entry({ n: 3 })])).rejects.toMatchObject({ code: "unavailable" });
    await store.flush();
    expect((await store.load(main))?.map(({ n }) => n)).toEqual([0, 1, 2, 3]);
  });

  test("of several commits is visible whole or not at all, and a lost answer between them does no harm", async () => {
    const { holdfast } = openManual();
    const control = failing(holdfast);
    const store = new HoldfastSessionStore(control.holdfast);
    await store.append(main, [entry({ n: 0 })]);
    const batch = Array.from({ length: 10 }, (_, n) => entry({ n, text: "x".repeat(150_000) }));
    for (const when of ["before", "after"] as const) {
      control.next = [];
      control.commits = 0;
      // In the middle of the batch.
      control.next = [undefined as never, when];
      await expect(store.append(main, batch)).rejects.toThrow();
      expect(control.commits).toBe(2);
      expect((await store.reader.load(main))?.length).toBe(when === "before" ? 1 : 11);
      await store.append(main, batch);
      expect((await store.reader.load(main))?.length).toBe(when === "before" ? 11 : 21);
    }
    expect((await store.load(main))?.map(({ n }) => n)).toEqual([0, ...batch.map(({ n }) => n), ...batch.map(({ n }) => n)]);
  });

  test("with anything but objects of JSON changes nothing and names the entry", async () => {
    const { holdfast } = openManual();
    const store = new HoldfastSessionStore(holdfast);
    for (const wrong of [null, "text", [], { n: 1n }])
      await expect((async () => store.append(main, [entry({}), wrong as never]))()).rejects.toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining("entries[1]"),
      });
    expect(await store.load(main)).toBeNull();
    await expect((async () => store.append({ ...main, projectKey: "" }, []))()).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining("projectKey") });
  });
});

/** Two hosts on one store whose time is the test's. */
function twoHosts() {
  const { holdfast, clock } = openManual();
  const lost: unknown[] = [];
  const host = (name: string) => new HoldfastSessionStore(holdfast, { host: name, leaseMs: 9_000, clock, onLost: (each) => lost.push([name, each.heldBy]) });
  return { holdfast, clock, lost, blue: host("blue"), green: host("green") };
}

describe("a live session", () => {
  test("is refused to a second host by name when it resumes it, for as long as the first keeps it", async () => {
    const { blue, green, clock } = twoHosts();
    await blue.append(main, [entry({ n: 1 })]);
    await clock.advanceBy(120_000);
    const refused = { code: "claim_held", message: expect.stringContaining(blue.holder) };
    await expect(green.load(main)).rejects.toMatchObject(refused);
    await expect(green.append(main, [entry({ n: 2 })])).rejects.toMatchObject(refused);
    await expect(green.delete(main)).rejects.toMatchObject(refused);
    expect(await green.reader.load(main)).toEqual([entry({ n: 1 })]);
    await expect(green.reader.append(main, [entry({})])).rejects.toMatchObject({ code: "read_only" });
    await blue.release(main.sessionId);
    expect(await green.load(main)).toEqual([entry({ n: 1 })]);
    await expect(blue.load(main)).rejects.toMatchObject({ code: "claim_held", message: expect.stringContaining("green") });
    await green.close();
    expect(await blue.load(main)).toEqual([entry({ n: 1 })]);
    await blue.close();
    expect(clock.sleeping()).toBe(0);
  });

  test("that a host took over accepts no batch of the host before, not even after it was released or deleted", async () => {
    const { holdfast, blue, green, lost, clock } = twoHosts();
    await blue.append(main, [entry({ n: 1 })]);
    // The process of blue is suspended: nothing is renewed.
    await holdfast.leases.release(`claude/${main.projectKey}/${main.sessionId}`, { agent: blue.holder });
    expect(await green.load(main)).toHaveLength(1);
    await clock.advanceBy(3_000);
    expect(lost).toEqual([["blue", green.holder]]);
    await expect(blue.append(main, [entry({ n: "stale" })])).rejects.toMatchObject({ code: "claim_held" });
    await green.append(main, [entry({ n: 2 })]);
    await green.release(main.sessionId);
    await expect(blue.append({ ...main, subpath: "subagents/agent-1" }, [entry({ n: "stale" })])).rejects.toMatchObject({
      code: "lease_lost",
      message: expect.stringContaining("green"),
    });
    expect((await green.reader.load(main))?.map(({ n }) => n)).toEqual([1, 2]);
    expect(await green.listSubkeys(main)).toEqual([]);
    await green.delete(main);
    await expect(blue.append(main, [entry({ n: "stale" })])).rejects.toMatchObject({ code: "lease_lost" });
    // Only a new load brings it up to date. Nothing stale waits.
    expect(await blue.load(main)).toBeNull();
    await blue.flush();
    expect(await green.reader.load(main)).toBeNull();
    expect(lost).toHaveLength(1);
  });

  test("whose lease lapsed while the store was out of reach continues if no other host began to work on it", async () => {
    const { holdfast, blue, green, lost, clock } = twoHosts();
    await blue.append(main, [entry({ n: 1 })]);
    await holdfast.leases.release(`claude/${main.projectKey}/${main.sessionId}`, { agent: blue.holder });
    // A new title from another host is no work on the session.
    await green.append(main, [entry({ n: "title" })]);
    await clock.advanceBy(3_000);
    await blue.append(main, [entry({ n: 2 })]);
    expect((await blue.load(main))?.map(({ n }) => n)).toEqual([1, "title", 2]);
    expect(lost).toEqual([]);
  });

  test("whose lease lapses in the middle of a change is acquired again; if that happens every time, the batch waits and is not called lost", async () => {
    const { holdfast } = openManual();
    let lapses = 0;
    /** As on a machine so slow that the lease expires before the next write arrives. */
    const lapsing = async (leases: readonly { readonly resource: string }[] | undefined): Promise<void> => {
      if (lapses <= 0 || leases === undefined) return;
      lapses -= 1;
      for (const { resource } of leases) await holdfast.leases.release(resource, { agent: store.holder });
    };
    const state: Holdfast["state"] = {
      ...holdfast.state,
      async set(key, value, options) {
        await lapsing(options?.lease && [options.lease]);
        return holdfast.state.set(key, value, options);
      },
      async commit(input, options) {
        await lapsing(input.leases);
        return holdfast.state.commit(input, options);
      },
    };
    const store = new HoldfastSessionStore({ state, leases: holdfast.leases }, { onLost: () => expect.unreachable() });
    for (const n of [1, 2]) {
      lapses = 2;
      await store.append(main, [entry({ n })]);
    }
    for (const session of [main, { ...main, sessionId: "new" }]) {
      lapses = 100;
      await expect(store.append(session, [entry({ n: 3 })])).rejects.toMatchObject({ code: "unavailable" });
      lapses = 0;
      await store.flush();
    }
    expect((await store.load(main))?.map(({ n }) => n)).toEqual([1, 2, 3]);
    expect(await store.load({ ...main, sessionId: "new" })).toEqual([entry({ n: 3 })]);
  });

  test("is released again by a host that only changed its title", async () => {
    const { blue, green } = twoHosts();
    await blue.append(main, [entry({ n: 1 })]);
    await blue.release(main.sessionId);
    await green.append(main, [entry({ n: "title" })]);
    expect(await blue.load(main)).toHaveLength(2);
  });
});

describe("the keys of sessions", () => {
  test("fit and stay apart, however long or odd the names are", async () => {
    const { holdfast } = openManual();
    await using store = new HoldfastSessionStore(holdfast);
    const names = ["a", "a/b", "~", "%7E", "%2F", "é", "🙂".repeat(200), `${"x".repeat(1_000)}1`, `${"x".repeat(1_000)}2`, "a ", ".."];
    const keys = names.flatMap((projectKey) => names.map((sessionId) => ({ projectKey, sessionId, subpath: sessionId })));
    for (const key of keys) for (const each of [key, { ...key, subpath: undefined }]) await store.append(each, [entry({ each: JSON.stringify(each) })]);
    for (const key of keys) for (const each of [key, { ...key, subpath: undefined }]) expect(await store.reader.load(each)).toEqual([entry({ each: JSON.stringify(each) })]);
    for (const name of names) expect((await store.listSessions(name)).map(({ sessionId }) => sessionId).sort()).toEqual([...names].sort());
  });
});
