import { describe, expect, test } from "vitest";
import type { StateChange } from "../../src/index.ts";
import { libraries } from "./libraries.ts";

/** A call as a program without types makes it. */
type Loose = (...args: unknown[]) => Promise<unknown>;

for (const { name, open } of libraries())
  describe(`the library, ${name}`, () => {
    test("state: compare and set, delete, list, commit, past versions", async () => {
      await using holdfast = await open();
      const { state } = holdfast;
      await state.set("a", 1);
      expect(await state.set("a", 2, { expectedVersion: 0 })).toMatchObject({ ok: false, actualVersion: 1, current: { value: 1 } });
      expect(await state.set("a", 2, { expectedVersion: 1 })).toMatchObject({ ok: true, version: 2 });
      expect(await state.get("a", { version: 1 })).toMatchObject({ value: 1 });
      expect(await state.get("none")).toBeUndefined();
      expect(
        await state.commit({
          writes: [
            { op: "set", key: "b", value: true },
            { op: "delete", key: "a" },
          ],
          expected: [{ key: "a", version: 2 }],
        }),
      ).toMatchObject({ ok: true });
      expect((await state.list()).entries).toMatchObject([{ key: "b", value: true }]);
      expect(await state.delete("b")).toMatchObject({ ok: true, deleted: true });
    });

    test("a write under a lease lands only with the current token", async () => {
      await using holdfast = await open();
      const lease = await holdfast.leases.acquire("deploy", { ttlMs: 60_000 });
      if (!lease.ok) throw new Error("The lease was free.");
      expect(await holdfast.state.set("k", 1, { lease: { resource: "deploy", token: lease.token } })).toMatchObject({ ok: true });
      expect(await holdfast.leases.acquire("deploy", { ttlMs: 60_000, agent: "a2" })).toMatchObject({ ok: false, heldBy: "a1" });
      expect(await holdfast.leases.renew("deploy", { ttlMs: 60_000 })).toMatchObject({ ok: true, token: lease.token });
      expect((await holdfast.leases.list()).leases).toMatchObject([{ resource: "deploy", holder: "a1" }]);
      expect(await holdfast.leases.release("deploy")).toEqual({ released: true });
      await expect(holdfast.state.set("k", 2, { lease: { resource: "deploy", token: lease.token } })).rejects.toMatchObject({ code: "lease_lost" });
    });

    test("watch gives every change in order and ends when the loop is left or the signal aborts", async () => {
      await using holdfast = await open();
      await holdfast.state.set("w/0", 0);
      const seen: StateChange[] = [];
      const watching = (async () => {
        for await (const change of holdfast.state.watch({ prefix: "w/", after: 0 })) {
          seen.push(change);
          if (seen.length === 3) return;
        }
      })();
      await holdfast.state.set("w/1", 1);
      await holdfast.state.delete("w/0");
      await watching;
      expect(seen.map(({ op, key, revision }) => [op, key, revision])).toEqual([
        ["set", "w/0", 1],
        ["set", "w/1", 2],
        ["delete", "w/0", 3],
      ]);
      const stop = new AbortController();
      const aborted = (async () => {
        for await (const _ of holdfast.state.watch({ key: "quiet" }, stop.signal)) throw new Error("Nothing changes.");
      })();
      stop.abort();
      await aborted;
    });

    test("waitFor resolves with the newer version as soon as it is there", async () => {
      await using holdfast = await open();
      const waiting = holdfast.state.waitFor("k", { versionAbove: 0, timeoutMs: 10_000 });
      await holdfast.state.set("k", "there");
      expect(await waiting).toMatchObject({ value: "there", version: 1 });
    });

    test("workflows: create, claim the next, checkpoint, hand back, resume, finish", async () => {
      await using holdfast = await open();
      const { workflows } = holdfast;
      const { runId } = await workflows.create({ name: "nightly", tags: { queue: "n" }, input: { day: 1 } });
      expect((await workflows.find({ claimable: true })).runs).toMatchObject([{ runId, status: "created" }]);
      const claim = await workflows.claim({ tags: { queue: "n" } });
      expect(claim).toMatchObject({ ok: true, runId, agentId: "a1" });
      expect(await workflows.claim({ runId }, { agent: "a2" })).toMatchObject({ ok: false, heldBy: "a1" });
      await expect(workflows.checkpoint(runId, 1, "x", { agent: "a2" })).rejects.toMatchObject({ code: "claim_held" });
      expect(await workflows.checkpoint(runId, 1, { done: 1 })).toMatchObject({ lastStep: 1 });
      expect(await workflows.renew(runId)).toMatchObject({ ok: true });
      expect(await workflows.giveBack(runId)).toEqual({ released: true });
      expect(await workflows.claim({ runId }, { agent: "a2" })).toMatchObject({ ok: true });
      expect(await workflows.resume(runId)).toMatchObject({ input: { day: 1 }, steps: [{ step: 1, output: { done: 1 } }] });
      expect(await workflows.finish(runId, { status: "done", result: 42 }, { agent: "a2" })).toMatchObject({ status: "done" });
      expect(await workflows.get(runId)).toMatchObject({ status: "done", result: 42 });
    });

    test("sessions and history", async () => {
      await using holdfast = await open();
      expect(await holdfast.sessions.save("s", { topic: 1 })).toMatchObject({ ok: true, version: 1 });
      expect(await holdfast.sessions.save("s", { topic: 2 }, { expectedVersion: 5 })).toMatchObject({ ok: false, actualVersion: 1 });
      await holdfast.sessions.save("s", { topic: 2 });
      expect(await holdfast.sessions.restore("s", { version: 1 })).toMatchObject({ context: { topic: 1 } });
      expect(await holdfast.sessions.restore("none")).toBeUndefined();
      const { entries } = await holdfast.history({ name: "s" });
      expect(entries).toMatchObject([
        { kind: "session", op: "save", version: 2, agent: "a1" },
        { kind: "session", op: "save", version: 1 },
      ]);
    });

    test("a request key gives the first answer again, and is a conflict with other arguments", async () => {
      await using holdfast = await open();
      const first = await holdfast.workflows.create({ name: "w" }, { requestKey: "r" });
      expect(await holdfast.workflows.create({ name: "w" }, { requestKey: "r" })).toEqual(first);
      await expect(holdfast.workflows.create({ name: "other" }, { requestKey: "r" })).rejects.toMatchObject({ code: "request_key_reused" });
      await expect(holdfast.state.set("k", 1, { requestKey: "r" })).rejects.toMatchObject({ code: "request_key_reused" });
    });

    test("options that are left out or are no numbers are refused by their names instead of waiting for ever", async () => {
      await using holdfast = await open();
      const { leases, state } = holdfast as unknown as { leases: Record<string, Loose>; state: Record<string, Loose> };
      for (const [call, field] of [
        [() => leases.acquire?.("x"), "ttlMs"],
        [() => leases.acquire?.("x", {}), "ttlMs"],
        [() => leases.renew?.("x"), "ttlMs"],
        [() => leases.acquire?.("x", { ttlMs: 1_000, waitMs: Number.NaN }), "waitMs"],
        [() => state.waitFor?.("x"), "versionAbove"],
        [() => state.waitFor?.("x", { versionAbove: Number.NaN, timeoutMs: 1 }), "versionAbove"],
        [() => state.waitFor?.("x", { versionAbove: 0 }), "timeoutMs"],
        [() => state.waitFor?.("x", { versionAbove: 0, timeoutMs: Number.NaN }), "timeoutMs"],
        [() => state.waitFor?.("x", { versionAbove: 0, timeoutMs: Number.POSITIVE_INFINITY }), "timeoutMs"],
      ] as const)
        await expect(call(), String(call)).rejects.toMatchObject({ code: "invalid_input", details: { field } });
    });

    test("watching an empty key is refused", async () => {
      await using holdfast = await open();
      await expect(holdfast.state.watch({ key: "" })[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "invalid_input", details: { field: "key" } });
    });

    test("an error that is said to be harmless leaves the effect to be done again", async () => {
      await using holdfast = await open();
      const pay = { tool: "pay", args: null };
      const isHarmless = (error: unknown) => error instanceof RangeError;
      await expect(holdfast.effects.once(pay, () => Promise.reject(new RangeError("refused")), { isHarmless })).rejects.toThrow(RangeError);
      expect((await holdfast.effects.list()).effects).toMatchObject([{ state: "failed" }]);
      expect(await holdfast.effects.once(pay, () => "paid", { isHarmless })).toMatchObject({ ok: true, answer: "paid" });
    });

    test("an effect by its parts: begun under a lease, kept alive, reported", async () => {
      await using holdfast = await open();
      const { effects } = holdfast;
      const lease = await holdfast.leases.acquire("bank", { ttlMs: 60_000 });
      if (!lease.ok) throw new Error("The lease was free.");
      const begun = await effects.begin({ tool: "pay", args: null }, { guard: { resource: "bank", token: lease.token } });
      if (begun.outcome !== "begun") throw new Error("It was new.");
      expect((await effects.keepAlive(begun, { liveMs: 120_000 })).liveUntilMs).toBeGreaterThan(begun.liveUntilMs);
      expect(await effects.finish(begun, { state: "done", answer: 7 })).toEqual({ id: begun.id, state: "done" });
      expect(await effects.get(begun.id)).toMatchObject({ state: "done", answer: 7, agent: "a1" });
      await holdfast.leases.release("bank");
      await expect(effects.begin({ tool: "pay", args: 2 }, { guard: { resource: "bank", token: lease.token } })).rejects.toMatchObject({ code: "lease_lost" });
    });
  });
