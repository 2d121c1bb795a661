import { describe, expect, test } from "vitest";
import { listEffects } from "../../../src/domain/effects/find-effects.ts";
import { claimRun } from "../../../src/domain/workflows/claims.ts";
import { createRun } from "../../../src/domain/workflows/workflows.ts";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { manualClock } from "../../support/manual-clock.ts";
import type { ProxyConnection } from "../../support/proxy/proxy-connection.ts";
import { answerAll, openProxy } from "../../support/proxy/proxy-connection.ts";

const tools = { send: "effect" };
const key = "holdfast/effect";

/** A store with a run that `worker` has claimed. */
async function openRun() {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const scope = { store: openNamespaceStore(engine, "test", clock), clock, writer: "tester" };
  await createRun(scope, { runId: "r1", name: "nightly" });
  const claim = async (agentId: string): Promise<number> => {
    const claimed = await claimRun(scope, { runId: "r1", agentId, ttlMs: 60_000 });
    if (!claimed.ok) throw new Error("The run is claimed.");
    return claimed.token;
  };
  return { clock, engine, claim };
}
const textOf = async (call: ReturnType<ProxyConnection["call"]>): Promise<string> => (await call.answer).result.content.map(({ text }: { text: string }) => text).join("\n");

describe("calls that are part of a run", () => {
  test("are distinguished by step, ordinal and name, and are answered from the record within each", async () => {
    const { claim, ...machine } = await openRun();
    const token = await claim("a");
    await using proxy = openProxy({ tools, ...machine });
    const { calls } = answerAll(proxy.upstream);
    const places = [{ step: 1 }, { step: 1 }, { step: 2 }, { step: 2, ordinal: 2 }, { step: "two" }, { name: "hello" }, { name: "hello", step: 9 }];
    const answers: string[] = [];
    for (const place of places) answers.push((await textOf(proxy.call("send", { a: 1 }, { [key]: { run: "r1", token, ...place } }))).split("\n")[0] as string);
    expect(answers).toEqual(["call 1", "call 1", "call 2", "call 3", "call 4", "call 5", "call 5"]);
    expect(calls).toHaveLength(5);
    expect((await listEffects(proxy.scope, { limit: 10, run: "r1" })).effects).toHaveLength(5);
  });

  test("cannot be begun by a worker that was replaced, and are by the one that replaced it", async () => {
    const { claim, ...machine } = await openRun();
    const stale = await claim("a");
    await using old = openProxy({ tools, ...machine, place: { run: "r1", token: stale } });
    const { calls } = answerAll(old.upstream);
    machine.clock.advance(60_001);
    const token = await claim("b");
    expect(await textOf(old.call("send"))).toMatch(/^This call was not made: /);
    expect((await old.call("send").answer).result._meta[key].code).toBe("claim_lost");
    expect(calls).toEqual([]);
    await using now = openProxy({ tools, ...machine, place: { run: "r1", token, step: 1 } });
    answerAll(now.upstream);
    expect(await textOf(now.call("send"))).toBe("call 1");
    expect((await listEffects(now.scope, { limit: 10, run: "r1" })).effects).toMatchObject([{ run: "r1", step: 1, state: "done" }]);
  });

  test("under one name with other arguments are a conflict, never another call's answer", async () => {
    await using proxy = openProxy({ tools });
    const { calls } = answerAll(proxy.upstream);
    await proxy.call("send", { to: "ann" }, { [key]: { name: "welcome" } }).answer;
    const other = await proxy.call("send", { to: "bob" }, { [key]: { name: "welcome" } }).answer;
    expect(other.result).toMatchObject({ isError: true, _meta: { [key]: { code: "conflict" } } });
    expect(calls).toHaveLength(1);
    expect(await textOf(proxy.call("send", { to: "ann" }, { [key]: { name: "welcome" } }))).toContain('another name than "welcome"');
  });

  test.each([
    [{ run: "r1" }, `_meta["${key}"].token: is required with run`],
    [{ ordinal: 0 }, `_meta["${key}"].ordinal: must be a whole number from 1`],
    [{ name: "" }, `_meta["${key}"].name: must be text of 1 to 256 characters`],
    [{ nmae: "x" }, `_meta["${key}"].nmae: unknown field; allowed: run, token, step, ordinal, name`],
    ["x", `_meta["${key}"]: must be an object of run, token, step, ordinal, name`],
  ])("are refused where they say %j", async (place, problem) => {
    await using proxy = openProxy({ tools });
    expect(await textOf(proxy.call("send", {}, { [key]: place }))).toContain(problem);
    expect(proxy.upstream.lines).toEqual([]);
  });
});
