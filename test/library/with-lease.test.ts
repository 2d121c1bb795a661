import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/index.ts";
import { withLease } from "../../src/index.ts";
import { libraries } from "./libraries.ts";
import { openManual } from "./manual-library.ts";

for (const { name, open } of libraries())
  describe(`withLease, ${name}`, () => {
    test("holds the lease while the work runs and releases it afterwards, whatever the work comes to", async () => {
      await using holdfast = await open();
      const done = await withLease(holdfast, "deploy", { ttlMs: 60_000 }, async (lease, signal) => {
        expect(signal.aborted).toBe(false);
        expect(await withLease(holdfast, "deploy", { ttlMs: 60_000, agent: "a2" }, () => "both")).toMatchObject({ ok: false, heldBy: "a1" });
        return (await holdfast.state.set("k", 1, { lease })).ok;
      });
      expect(done).toEqual({ ok: true, value: true });
      await expect(withLease(holdfast, "deploy", { ttlMs: 60_000 }, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
      expect((await holdfast.leases.list()).leases).toEqual([]);
    });

    test("waits in line for it, and its writes are the next holder's no more", async () => {
      await using holdfast = await open();
      const first = await holdfast.leases.acquire("deploy", { ttlMs: 60_000, agent: "a2" });
      const waiting = withLease(holdfast, "deploy", { ttlMs: 60_000, waitMs: 60_000 }, ({ token }) => token);
      await holdfast.leases.release("deploy", { agent: "a2" });
      const got = await waiting;
      expect(got.ok && first.ok && got.value > first.token).toBe(true);
    });
  });

describe("withLease keeps the lease", () => {
  test("alive for as long as the work takes", async () => {
    const { holdfast, clock } = openManual();
    let finish: (value: string) => void = () => {};
    const running = withLease(
      holdfast,
      "deploy",
      { ttlMs: 9_000, clock },
      () =>
        new Promise<string>((resolve) => {
          finish = resolve;
        }),
    );
    await clock.advanceBy(60_000);
    expect((await holdfast.leases.list()).leases).toMatchObject([{ holder: "a1" }]);
    finish("built");
    expect(await running).toEqual({ ok: true, value: "built" });
    expect(clock.sleeping()).toBe(0);
  });

  test("and when it is taken away, the signal aborts with the reason and the call rejects", async () => {
    const { holdfast, clock } = openManual();
    const running = withLease(
      holdfast,
      "deploy",
      { ttlMs: 9_000, clock },
      (_, signal) => new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("stopped"))),
    );
    await clock.settle();
    await holdfast.leases.release("deploy");
    await holdfast.leases.acquire("deploy", { ttlMs: 60_000, agent: "a2" });
    const refused = expect(running).rejects.toMatchObject({ code: "lease_lost", message: expect.stringContaining('"a2"') });
    await clock.advanceBy(3_000);
    await refused;
    expect((await holdfast.leases.list()).leases).toMatchObject([{ holder: "a2" }]);
  });

  test("and when the store stays silent, the signal aborts before another can hold it", async () => {
    const { holdfast, clock } = openManual();
    // Every renewal hangs; when it would have been carried out, nobody knows.
    const silent: Pick<Holdfast, "leases"> = { leases: { ...holdfast.leases, renew: () => new Promise<never>(() => {}) } };
    let stoppedAtMs = 0;
    const startedAtMs = clock.nowMs();
    const running = withLease(silent, "deploy", { ttlMs: 9_000, clock }, async (_, signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      stoppedAtMs = clock.nowMs();
    });
    const refused = expect(running).rejects.toMatchObject({ code: "lease_lost" });
    await clock.advanceBy(8_100);
    await refused;
    expect(stoppedAtMs - startedAtMs).toBe(8_100);
    expect(await holdfast.leases.acquire("deploy", { ttlMs: 1_000, agent: "a2" })).toMatchObject({ ok: false, heldBy: "a1" });
    await clock.advanceBy(900);
    expect(await holdfast.leases.acquire("deploy", { ttlMs: 1_000, agent: "a2" })).toMatchObject({ ok: true });
  });
});
