import { expect, test } from "vitest";
import type { BeginInput } from "../../src/domain/effects/begin-effect.ts";
import { beginEffect } from "../../src/domain/effects/begin-effect.ts";
import { finishEffect } from "../../src/domain/effects/finish-effect.ts";
import type { TestTools } from "./open-tools.ts";
import { openTools } from "./open-tools.ts";

async function begun({ base }: TestTools, name: string, more: Partial<BeginInput> = {}): Promise<{ readonly id: string; readonly token: number }> {
  const result = await beginEffect({ ...base, agent: "ann" }, { identity: { name, run: "run-1", step: 2, tool: "pay", args: { amount: 10 } }, liveMs: 1_000, ...more });
  if (result.outcome !== "begun") throw new Error(JSON.stringify(result));
  return result;
}

async function openEffects() {
  const tools = openTools();
  const done = await begun(tools, "paid");
  await finishEffect(tools.base, { ...done, outcome: { state: "done", answer: { receipt: 7 } } });
  const lost = await begun(tools, "lost");
  tools.clock.advance(1_000);
  const alive = await begun(tools, "alive", { liveMs: 60_000 });
  return { ...tools, ids: { done: done.id, lost: lost.id, alive: alive.id } };
}

test("unknown effects are listed first, with what a reader needs to find out", async () => {
  const { call, ids, clock } = await openEffects();
  const { effects, cursor } = await call("effects", {});
  expect((effects as { id: string }[]).map(({ id }) => id)).toEqual([ids.lost, ids.alive, ids.done]);
  expect(cursor).toBeNull();
  expect(effects[0]).toEqual({
    id: ids.lost,
    state: "unknown",
    tool: "pay",
    name: "lost",
    run_id: "run-1",
    step: 2,
    args: '{"amount":10}',
    attempts: 1,
    token: expect.any(Number),
    agent_id: "ann",
    begun_at: (clock.nowMs() - 1_000) / 1_000,
    live_until: null,
    ended_at: null,
    reason: null,
    resolved_by: null,
  });
  expect((await call("effects", { run_id: "run-2" })).effects).toEqual([]);
});

test("one is shown with its answer", async () => {
  const { call, ids } = await openEffects();
  expect((await call("effects", { id: ids.done })).effects).toMatchObject([{ state: "done", answer: { receipt: 7 } }]);
});

test("an unknown one is resolved, and nothing else is", async () => {
  const { call, fails, ids, base } = await openEffects();
  expect((await call("effects", { id: ids.lost, as: "done", reason: "on the statement" })).effects).toMatchObject([
    { state: "done", reason: "on the statement", resolved_by: base.writer },
  ]);
  expect(await fails("effects", { id: ids.lost, as: "done", token: 1 })).toMatchObject({ code: "conflict", message: expect.stringContaining("begun again since") });
  expect(await fails("effects", { id: ids.alive, as: "failed" })).toMatchObject({ code: "conflict" });
  expect(await fails("effects", { id: ids.done, as: "failed" })).toMatchObject({ code: "conflict" });
});

test("arguments that do not go together are refused by name", async () => {
  const { fails, ids } = await openEffects();
  expect(await fails("effects", { as: "done" })).toMatchObject({ code: "invalid_input", details: { field: "id" } });
  expect(await fails("effects", { id: ids.done, run_id: "run-1" })).toMatchObject({ code: "invalid_input", details: { field: "run_id" } });
  expect(await fails("effects", { id: "" })).toMatchObject({ code: "invalid_input", details: { field: "id" } });
  expect(await fails("effects", { id: `fx-${"0".repeat(20)}` })).toMatchObject({ code: "not_found" });
});

test("long lists come in pages", async () => {
  const tools = openTools();
  for (let i = 0; i < 60; i += 1) await begun(tools, `n${i}`);
  tools.clock.advance(1_000);
  const first = await tools.call("effects", {});
  const second = await tools.call("effects", { cursor: first.cursor });
  const ids = [...(first.effects as { id: string }[]), ...(second.effects as { id: string }[])].map(({ id }) => id);
  expect([first.effects.length, second.effects.length, new Set(ids).size, second.cursor]).toEqual([50, 10, 60, null]);
});
