import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { HoldfastOptions, Json } from "../../src/index.ts";
import { HoldfastError, isHoldfastError, openHoldfast } from "../../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-library-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const openMemory = (options: HoldfastOptions = {}) => openHoldfast({ store: "memory:", agent: "a1", ...options });

describe("the embedded library", () => {
  test("keeps state in a file that the next opening finds", async () => {
    const store = `sqlite:${join(folder, "state.db")}`;
    const first = await openHoldfast({ store, writer: "program" });
    expect(await first.state.set("k", { a: [1] })).toMatchObject({ ok: true, version: 1 });
    await first.close();
    await first.close();
    const second = await openHoldfast({ store });
    expect(await second.state.get("k")).toMatchObject({ value: { a: [1] }, version: 1, updatedBy: "program" });
    expect(await second.health()).toMatchObject({ engine: "sqlite" });
    await second.close();
  });

  test("wrong use rejects with a HoldfastError that names the option", async () => {
    await expect(openHoldfast({ stroe: "memory:" } as object)).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(/^stroe: unknown option; allowed: store, /),
    });
    await expect(openHoldfast({ store: "mysql://x" })).rejects.toMatchObject({ code: "invalid_input", message: expect.stringMatching(/^store: /) });
    await expect(openHoldfast({ store: "memory:", claimTtlMs: 1 })).rejects.toMatchObject({ message: expect.stringMatching(/^claimTtlMs: must be .*from 1s to 7d/) });
    await using holdfast = await openHoldfast({ store: "memory:" });
    const refused = await holdfast.leases.acquire("x", { ttlMs: 1_000 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(HoldfastError);
    expect(isHoldfastError(refused, "invalid_input")).toBe(true);
    await expect(holdfast.state.set("", 1)).rejects.toMatchObject({ code: "invalid_input" });
    expect((await holdfast.leases.acquire("x", { ttlMs: 1_000, agent: "me" })).ok).toBe(true);
  });

  test("a value that cannot be JSON is refused by its name, also under a request key", async () => {
    await using holdfast = await openMemory();
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    for (const value of [cyclic, deep, 1n, { a: [1n] }]) {
      const refused = { code: "invalid_input", details: { field: "value" } };
      await expect(holdfast.state.set("k", value as Json, { requestKey: "r" })).rejects.toMatchObject(refused);
      await expect(holdfast.state.commit({ writes: [{ op: "set", key: "k", value: value as Json }] }, { requestKey: "r" })).rejects.toMatchObject({
        code: "invalid_input",
        details: { field: "writes" },
      });
    }
  });

  test("namespaces of one store do not see each other", async () => {
    const store = `sqlite:${join(folder, "spaces.db")}`;
    await using one = await openHoldfast({ store, namespace: "one" });
    await using two = await openHoldfast({ store, namespace: "two" });
    await one.state.set("k", 1);
    expect(await two.state.get("k")).toBeUndefined();
    expect([one.namespace, two.namespace]).toEqual(["one", "two"]);
  });

  test("an effect is done once, whichever process opens the store, until an unknown one is resolved", async () => {
    const store = `sqlite:${join(folder, "effects.db")}`;
    const pay = { run: "run-1", step: 3, tool: "pay", args: { to: "ann", amount: 10 } };
    let paid = 0;
    const perform = async () => {
      paid += 1;
      return { receipt: paid };
    };
    const first = await openHoldfast({ store, agent: "a1" });
    expect(await first.effects.once(pay, perform)).toMatchObject({ ok: true, answer: { receipt: 1 }, repeated: false });
    await first.close();
    await using holdfast = await openHoldfast({ store, agent: "a2" });
    const { effects } = holdfast;
    expect(await effects.once(pay, perform)).toMatchObject({ ok: true, answer: { receipt: 1 }, repeated: true, attempts: 1 });
    expect(await effects.once({ ...pay, ordinal: 2 }, perform)).toMatchObject({ ok: true, answer: { receipt: 2 }, repeated: false });
    expect(paid).toBe(2);
    const broken = { ...pay, step: 4 };
    await expect(effects.once(broken, () => Promise.reject(new Error("timeout")))).rejects.toThrow("timeout");
    const refused = await effects.once(broken, perform);
    expect(refused).toMatchObject({ ok: false, reason: "unknown", agent: "a2" });
    expect((await effects.list({ limit: 1 })).effects).toMatchObject([{ id: refused.id, state: "unknown", reason: "timeout" }]);
    expect(await effects.resolve({ id: refused.id, as: "failed", reason: "the bank has none" })).toMatchObject({ state: "failed" });
    expect(await effects.once(broken, perform)).toMatchObject({ ok: true, answer: { receipt: 3 }, attempts: 2 });
  });
});
