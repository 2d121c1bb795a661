import { describe, expect, test } from "vitest";
import { listEffects } from "../../../src/domain/effects/find-effects.ts";
import { resolveEffect } from "../../../src/domain/effects/resolve-effect.ts";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { HoldfastError } from "../../../src/kernel/errors.ts";
import type { Store } from "../../../src/store/store.ts";
import { manualClock } from "../../support/manual-clock.ts";
import type { Answer } from "../../support/mcp-connection.ts";
import type { ProxyConnection } from "../../support/proxy/proxy-connection.ts";
import { answerAll, openProxy } from "../../support/proxy/proxy-connection.ts";

const tools = { send: "effect" };
const liveMs = 10_000;
const textOf = ({ result }: Answer): string => result.content.map(({ text }: { text: string }) => text).join("\n");
const states = async ({ scope }: Pick<ProxyConnection, "scope">) => (await listEffects(scope, { limit: 100 })).effects.map(({ state }) => state);
const sent = (proxy: ProxyConnection): readonly string[] => proxy.upstream.lines.filter((line) => line.includes('"send"'));

/** A store whose commits stand still, or fail, for as long as a test says. */
function gate() {
  let held: Promise<void> | undefined;
  let release = (): void => {};
  let isDown = false;
  const wrap = (store: Store): Store => ({
    ...store,
    async commit(commit) {
      await held;
      if (isDown) throw new HoldfastError("unavailable", "The store cannot be reached.");
      return store.commit(commit);
    },
  });
  return {
    wrap,
    hold: () => {
      held = new Promise((resolve) => {
        release = resolve;
      });
    },
    release: () => {
      held = undefined;
      release();
    },
    setDown: (now: boolean) => {
      isDown = now;
    },
  };
}

/** A call that was begun and waits for its turn: the one before it waits for the upstream's list. */
async function callInLine() {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const store = gate();
  const proxy = openProxy({ tools, clock, engine, liveMs, askMsMax: 3_600_000, store: store.wrap });
  proxy.call("read");
  const list = await proxy.upstream.next(({ method }) => method === "tools/list");
  const call = proxy.call("send", { to: "ann" });
  await clock.settle();
  expect(await states(proxy)).toEqual(["intended"]);
  const giveTurn = async (): Promise<void> => {
    proxy.upstream.send({ jsonrpc: "2.0", id: list.id, result: { tools: [{ name: "read", annotations: { readOnlyHint: true } }] } });
    await clock.settle();
  };
  return { clock, engine, store, proxy, call, giveTurn };
}

describe("a call that waits for its turn", () => {
  /** The process stands still for longer than its live time; meanwhile somebody looks, and another proxy makes the call. */
  async function overtaken() {
    const line = await callInLine();
    const { clock, engine, store, proxy } = line;
    store.hold();
    clock.advance(liveMs + 1);
    await clock.settle();
    await using other = openProxy({ tools, clock, engine, liveMs });
    const { calls } = answerAll(other.upstream);
    const [effect] = (await listEffects(other.scope, { limit: 1 })).effects;
    expect(effect?.state).toBe("unknown");
    await resolveEffect(other.scope, { id: String(effect?.id), as: "failed" });
    await other.call("send", { to: "ann" }).answer;
    expect(calls).toHaveLength(1);
    return { ...line, proxy };
  }

  test("is not sent once a sign of life was refused, and the client learns that it was not made", async () => {
    const { clock, store, proxy: first, call, giveTurn } = await overtaken();
    await using proxy = first;
    store.release();
    await clock.settle();
    expect(textOf(await call.answer)).toMatch(/^This call was not made: The effect fx-\w+ was reported as done already/);
    await giveTurn();
    expect(sent(proxy)).toEqual([]);
    expect(await states(proxy)).toEqual(["done"]);
    const refusals = () => proxy.logged.filter(({ event }) => event === "call_not_kept_alive").length;
    expect(refusals()).toBe(1);
    await clock.advanceBy(3 * liveMs);
    expect(refusals()).toBe(1);
  });

  test("is not sent where its turn comes before the refusal", async () => {
    const { clock, store, proxy: first, call, giveTurn } = await overtaken();
    await using proxy = first;
    await giveTurn();
    expect(sent(proxy)).toEqual([]);
    store.release();
    await clock.settle();
    expect(textOf(await call.answer)).toContain("This call was not made");
    expect(sent(proxy)).toEqual([]);
  });

  test("is sent after the store has confirmed that the record is still its own", async () => {
    const { clock, store, proxy: first, giveTurn } = await callInLine();
    await using proxy = first;
    store.hold();
    clock.advance(liveMs + 1);
    await giveTurn();
    expect(sent(proxy)).toEqual([]);
    store.release();
    await clock.settle();
    expect(sent(proxy)).toHaveLength(1);
  });

  test("is not sent where the store cannot say so, and is known not to have happened", async () => {
    const { clock, store, proxy: first, call, giveTurn } = await callInLine();
    await using proxy = first;
    store.setDown(true);
    clock.advance(liveMs + 1);
    await giveTurn();
    store.setDown(false);
    await clock.advanceBy(1_000);
    expect(textOf(await call.answer)).toContain("This call was not made: The store cannot be reached.");
    expect(sent(proxy)).toEqual([]);
    expect(await states(proxy)).toEqual(["failed"]);
  });

  test("is not sent where the client cancels it, and is known not to have happened", async () => {
    const { clock, proxy: first, call, giveTurn } = await callInLine();
    await using proxy = first;
    proxy.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: call.id } });
    await clock.settle();
    expect(await states(proxy)).toEqual(["failed"]);
    await giveTurn();
    expect(sent(proxy)).toEqual([]);
    expect(proxy.lines).toEqual([]);
  });
});
