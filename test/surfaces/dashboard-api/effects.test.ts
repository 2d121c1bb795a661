import { expect, test } from "vitest";
import { beginEffect } from "../../../src/domain/effects/begin-effect.ts";
import { finishEffect } from "../../../src/domain/effects/finish-effect.ts";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { ActivityAnswer, EffectResolution, EffectShown, EffectsAnswer, Overview } from "../../../src/surfaces/dashboard/api.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { openApi, refusalOf } from "./open-api.ts";

const ns = "/api/ns/team";

async function open() {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const scope = { store: openNamespaceStore(engine, "team", clock), clock, writer: "program", agent: "payer" };
  const begin = async (name: string, liveMs: number, run?: string) => {
    const begun = await beginEffect(scope, { identity: { name, run, tool: "pay", args: { amount: 10 } }, liveMs });
    if (begun.outcome !== "begun") throw new Error(begun.outcome);
    return begun;
  };
  const done = await begin("done", 1_000, "run-1");
  await finishEffect(scope, { ...done, outcome: { state: "done", answer: { receipt: 7 } } });
  const lost = await begin("lost", 1_000);
  clock.advance(1_000);
  const alive = await begin("alive", 60_000);
  return { ...openApi({ engine, clock }), ids: { done: done.id, lost: lost.id, alive: alive.id }, tokens: { done: done.token, lost: lost.token, alive: alive.token } };
}

test("effects are listed with the unknown ones first, by state and by run", async () => {
  const { get, ids } = await open();
  const idsOf = async (query: Record<string, string>) => (await get<EffectsAnswer>(`${ns}/effects`, query)).effects.map(({ id }) => id);
  expect(await idsOf({})).toEqual([ids.lost, ids.alive, ids.done]);
  expect(await idsOf({ state: "done" })).toEqual([ids.done]);
  expect(await idsOf({ run: "run-1" })).toEqual([ids.done]);
  const { next } = await get<EffectsAnswer>(`${ns}/effects`, { limit: "1" });
  expect(await idsOf({ limit: "1", cursor: String(next) })).toEqual([ids.alive]);
  expect(await refusalOf(get(`${ns}/effects`, { state: "lost" }))).toMatchObject({ code: "invalid_input" });
  expect(await refusalOf(get(`${ns}/effects`, { run: "a/b" }))).toMatchObject({ code: "invalid_input" });
});

test("one effect is shown with what came back", async () => {
  const { get, ids } = await open();
  expect(await get<EffectShown>(`${ns}/effect`, { id: ids.done })).toMatchObject({
    effect: { state: "done", name: "done", agent: "payer" },
    answer: { receipt: 7 },
    answerKept: true,
  });
  expect(await refusalOf(get(`${ns}/effect`, { id: `fx-${"0".repeat(20)}` }))).toMatchObject({ code: "not_found" });
});

test("a person resolves what is unknown, and nothing else; the overview names it until then", async () => {
  const { get, post, ids, tokens } = await open();
  const stuck = async () => (await get<Overview>(`${ns}/overview`)).stuck.filter(({ kind }) => kind === "effect");
  expect(await stuck()).toMatchObject([{ id: ids.lost, token: tokens.lost, title: "lost", why: "was begun by payer, and it is not known whether it took place" }]);
  for (const name of ["alive", "done"] as const)
    expect(await refusalOf(post(`${ns}/effects/resolve`, { id: ids[name], token: tokens[name], as: "failed" }))).toMatchObject({ code: "conflict" });
  expect(await refusalOf(post(`${ns}/effects/resolve`, { id: ids.lost, as: "failed" }))).toMatchObject({ code: "invalid_input" });
  expect(await refusalOf(post(`${ns}/effects/resolve`, { id: ids.lost, token: tokens.lost - 1, as: "failed" }))).toMatchObject({ code: "conflict" });
  expect(await post<EffectResolution>(`${ns}/effects/resolve`, { id: ids.lost, token: tokens.lost, as: "failed", reason: "not on the statement" })).toEqual({ state: "failed" });
  expect(await get<EffectShown>(`${ns}/effect`, { id: ids.lost })).toMatchObject({
    effect: { state: "failed", resolved: "caller", reason: "not on the statement", writer: "someone" },
  });
  expect((await get<ActivityAnswer>(`${ns}/activity`, { kind: "effect" })).items[0]).toMatchObject({ operation: "resolved", title: "lost", writer: "someone" });
});
