import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { listEffects, readEffect } from "../../../src/domain/effects/find-effects.ts";
import { resolveEffect } from "../../../src/domain/effects/resolve-effect.ts";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { HoldfastError } from "../../../src/kernel/errors.ts";
import type { Store } from "../../../src/store/store.ts";
import { redactedJson } from "../../../src/tools/secret-switch.ts";
import { manualClock } from "../../support/manual-clock.ts";
import type { Answer } from "../../support/mcp-connection.ts";
import { envelope } from "../../support/mcp-connection.ts";
import { mortalStore } from "../../support/proxy/mortal-store.ts";
import type { ProxyConnection, ProxyConnectionOptions } from "../../support/proxy/proxy-connection.ts";
import { answerAll, openProxy } from "../../support/proxy/proxy-connection.ts";

const tools = { send: "effect" };
const marker = "holdfast/effect";
const textOf = ({ result }: Answer): string => result.content.map(({ text }: { text: string }) => text).join("\n");
const received = (proxy: ProxyConnection): Promise<Answer> => proxy.upstream.next(({ method }) => method === "tools/call");
const effects = async (proxy: Pick<ProxyConnection, "scope">) => (await listEffects(proxy.scope, { limit: 100 })).effects;
const onlyId = async (proxy: ProxyConnection): Promise<string> => (await effects(proxy)).map(({ id }) => id).join();
const isIn = async (proxy: ProxyConnection, state: string): Promise<void> => expect(await effects(proxy)).toMatchObject([{ state, tool: "send" }]);
/** Another proxy on the same store, as after a restart. */
const beside = (proxy: ProxyConnection, engine: MemoryEngine, options: ProxyConnectionOptions = {}): ProxyConnection =>
  openProxy({ tools, clock: proxy.clock, engine, ...options });
const machine = (options: ProxyConnectionOptions = {}) => {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  return { clock, engine, proxy: openProxy({ tools, clock, engine, ...options }) };
};

describe("a call of a tool with an effect", () => {
  test("is recorded as intended before it leaves, and its answer before it is passed on, in two commits", async () => {
    let release: () => void = () => {};
    let held: Promise<void> | undefined;
    let commits = 0;
    const gated = (store: Store): Store => ({
      ...store,
      async commit(commit) {
        commits += 1;
        await held;
        return store.commit(commit);
      },
    });
    await using proxy = openProxy({ tools, store: gated });
    held = new Promise((resolve) => {
      release = resolve;
    });
    const { id, answer } = proxy.call("send", { to: "ann" });
    await proxy.clock.settle();
    expect(proxy.upstream.lines).toEqual([]);
    release();
    const call = await received(proxy);
    await isIn(proxy, "intended");
    held = new Promise((resolve) => {
      release = resolve;
    });
    proxy.upstream.sendText(`{"jsonrpc": "2.0", "id": ${call.id}, "result": {"content": [ ]}}\n`);
    await proxy.clock.settle();
    expect(proxy.lines).toEqual([]);
    release();
    await answer;
    expect(proxy.lines).toEqual([`{"jsonrpc": "2.0", "id": ${id}, "result": {"content": [ ]}}`]);
    await isIn(proxy, "done");
    expect(commits).toBe(2);
  });

  test("reaches the upstream as the client wrote it", async () => {
    await using proxy = openProxy({ tools });
    const line = '{ "id":77 ,"jsonrpc":"2.0","method":"tools/call","params":{"name":"send","_meta":{"progressToken":12345678901234567890},"arguments":{"x":1.50}}}';
    proxy.sendText(`${line}\n`);
    await received(proxy);
    expect(proxy.upstream.lines).toEqual([line]);
  });

  test("calls reach the upstream in the client's order", async () => {
    await using proxy = openProxy({ tools });
    for (let n = 0; n < 20; n += 1) proxy.call("send", { n });
    await proxy.clock.settle();
    expect(proxy.upstream.lines.map((line) => JSON.parse(line).params.arguments.n)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });
});

describe("the same call again", () => {
  test("gets the recorded answer, marked as such in words and in _meta, whatever the order of its arguments", async () => {
    await using proxy = openProxy({ tools });
    const { calls } = answerAll(proxy.upstream);
    expect((await proxy.call("send", { a: 1, b: { c: 2, d: 3 } }).answer).result).toEqual({ content: [{ type: "text", text: "call 1" }] });
    const again = await proxy.call("send", { b: { d: 3, c: 2 }, a: 1 }).answer;
    expect(calls).toHaveLength(1);
    const id = await onlyId(proxy);
    expect(again.result._meta[marker]).toEqual({ id, state: "done", answered_from_record: true, done_at: "2027-01-15T08:00:00.000Z", attempts: 1 });
    expect(again.result.isError).toBeUndefined();
    expect(again.result.content[0]).toEqual({ type: "text", text: "call 1" });
    expect(again.result.content[1].text).toContain(`recorded answer of 2027-01-15T08:00:00.000Z (effect ${id})`);
    expect(again.result.content[1].text).toContain("additional argument holdfast_ordinal: 2");
  });

  test("is made again on purpose, once for each ordinal, which the upstream does not see", async () => {
    await using proxy = openProxy({ tools });
    const { calls } = answerAll(proxy.upstream);
    for (const args of [{ a: 1 }, { a: 1, holdfast_ordinal: 2 }, { a: 1, holdfast_ordinal: 2 }, { a: 1, holdfast_ordinal: 1 }]) await proxy.call("send", args).answer;
    expect(calls.map(({ args }) => args)).toEqual([{ a: 1 }, { a: 1 }]);
    expect(textOf(await proxy.call("send", { a: 1, holdfast_ordinal: 2 }).answer)).toContain("holdfast_ordinal: 3");
    expect(textOf(await proxy.call("send", { a: 1, holdfast_ordinal: 0 }).answer)).toContain("holdfast_ordinal: must be a whole number from 1");
  });

  test("is made again after the window, and in another proxy's name", async () => {
    const { engine, proxy: first, clock } = machine({ repeatMs: 60_000 });
    await using proxy = first;
    const { calls } = answerAll(proxy.upstream);
    await proxy.call("send").answer;
    await proxy.call("send").answer;
    expect(calls).toHaveLength(1);
    await using other = beside(proxy, engine, { upstreamName: "other" });
    const others = answerAll(other.upstream);
    await other.call("send").answer;
    expect(others.calls).toHaveLength(1);
    clock.advance(60_001);
    await proxy.call("send").answer;
    expect(calls).toHaveLength(2);
  });

  test.each([[""], ["[]"]])("is not made with numbers that cannot be read exactly, also in a batch (%s)", async (around) => {
    await using proxy = openProxy({ tools });
    const [open = "", close = ""] = around;
    proxy.sendText(`${open}{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"send","arguments":{"a":[12345678901234567891]}}}${close}\n`);
    expect(textOf(await proxy.answer("n"))).toContain("the number 12345678901234567891 has more digits than can be kept; pass it as text");
    expect(proxy.upstream.lines).toEqual([]);
  });

  test("that is in flight elsewhere waits for that answer, for a time", async () => {
    const { engine, proxy: first, clock } = machine();
    await using proxy = first;
    await using other = beside(proxy, engine);
    proxy.call("send");
    const call = await received(proxy);
    const waiting = other.call("send");
    await clock.advanceBy(5_000);
    expect(other.lines).toEqual([]);
    proxy.upstream.send({ jsonrpc: "2.0", id: call.id, result: { content: [{ type: "text", text: "once" }] } });
    expect(textOf(await waiting.answer)).toMatch(/^once\nThis call was made before/);
    expect(other.upstream.lines).toEqual([]);
    proxy.call("send", { n: 2 });
    await received(proxy);
    const impatient = other.call("send", { n: 2 });
    await clock.advanceBy(31_000);
    const answer = await impatient.answer;
    expect(answer.result).toMatchObject({ isError: true, _meta: { [marker]: { state: "intended" } } });
    expect(textOf(answer)).toContain("has been in flight since");
    expect(other.upstream.lines).toEqual([]);
  });

  test("does not hold up other calls while it waits", async () => {
    const { engine, proxy: first } = machine();
    await using proxy = first;
    await using other = beside(proxy, engine);
    proxy.call("send");
    await received(proxy);
    other.call("send");
    other.call("send", { n: 2 });
    expect((await received(other)).params?.arguments).toEqual({ n: 2 });
  });

  test("whose answer was too large to be recorded says so, and is not made again", async () => {
    await using proxy = openProxy({ tools });
    const { answer } = proxy.call("send");
    const call = await received(proxy);
    proxy.upstream.send({ jsonrpc: "2.0", id: call.id, result: { content: [{ type: "text", text: "x".repeat(1_100_000) }] } });
    expect(textOf(await answer)).toHaveLength(1_100_000);
    expect(textOf(await proxy.call("send").answer)).toMatch(/^Its answer was too large to be recorded/);
  });

  test("with arguments of any size is known", async () => {
    await using proxy = openProxy({ tools });
    const { calls } = answerAll(proxy.upstream);
    const text = "y".repeat(1_200_000);
    for (const last of ["1", "2", "1"]) await proxy.call("send", { text: text + last }).answer;
    expect(calls).toHaveLength(2);
  });
});

describe("an outcome that is unknown", () => {
  test("is reported when the upstream dies in the middle, listed, and not tried again until it is resolved", async () => {
    const { engine, proxy: first } = machine();
    await using proxy = first;
    const { answer } = proxy.call("send", { to: "ann" });
    await received(proxy);
    proxy.upstream.die();
    const id = await onlyId(proxy);
    expect((await answer).result).toMatchObject({ isError: true, _meta: { [marker]: { id, state: "unknown", reason: "the upstream was ended by SIGKILL" } } });
    expect(textOf(await answer)).toContain(`holdfast effect resolve ${id}`);
    expect(await proxy.ended).toBe(false);
    await using next = beside(proxy, engine);
    const { calls } = answerAll(next.upstream);
    expect(textOf(await next.call("send", { to: "ann" }).answer)).toContain("the upstream was ended by SIGKILL");
    expect(calls).toEqual([]);
    await resolveEffect(next.scope, { id, as: "failed" });
    expect(textOf(await next.call("send", { to: "ann" }).answer)).toBe("call 1");
    expect((await readEffect(next.scope, id))?.attempts).toBe(2);
  });

  test("is what is left of a proxy that died, once its time is over; until then the call counts as in flight", async () => {
    const mortal = mortalStore();
    const { engine, proxy: first, clock } = machine({ liveMs: 10_000, store: mortal.wrap });
    await using proxy = first;
    proxy.call("send");
    await received(proxy);
    mortal.die();
    await using next = openProxy({ tools, clock, engine, waitMs: 0 });
    expect(textOf(await next.call("send").answer)).toContain("in flight since");
    await clock.advanceBy(10_001);
    expect(textOf(await next.call("send").answer)).toContain("the process that made it was lost");
    expect(next.upstream.lines).toEqual([]);
  });

  test("that is resolved as done gives the answer that was given with it", async () => {
    const { engine, proxy: first } = machine();
    await using proxy = first;
    const { answer } = proxy.call("send");
    await received(proxy);
    proxy.upstream.die();
    await answer;
    const id = await onlyId(proxy);
    await resolveEffect(proxy.scope, { id, as: "done", answer: { result: { content: [{ type: "text", text: "seen by hand" }] } } });
    await using next = beside(proxy, engine);
    const again = await next.call("send").answer;
    expect(textOf(again)).toMatch(/^seen by hand\n.*resolved as done/);
    expect(again.result._meta[marker].resolved).toBe("caller");
  });

  test.each([
    ["retry", "call 1", 1],
    ["assume-done", "assumed done by policy", 0],
  ])("is settled by the policy %s", async (unknown, text, made) => {
    const { engine, proxy: first } = machine();
    await using proxy = first;
    const { answer } = proxy.call("send");
    await received(proxy);
    proxy.upstream.die();
    await answer;
    await using next = beside(proxy, engine, { tools: { send: { kind: "effect", unknown } } });
    const { calls } = answerAll(next.upstream);
    expect(textOf(await next.call("send").answer)).toContain(text);
    expect(calls).toHaveLength(made);
  });

  test("is kept in flight by signs of life, however long a call takes", async () => {
    await using proxy = openProxy({ tools, liveMs: 3_000 });
    const { answer } = proxy.call("send");
    const call = await received(proxy);
    for (let second = 0; second < 60; second += 1) await proxy.clock.advanceBy(1_000);
    await isIn(proxy, "intended");
    proxy.upstream.send({ jsonrpc: "2.0", id: call.id, result: { content: [] } });
    await answer;
    await isIn(proxy, "done");
  });

  test("is not what a client that leaves makes of a call: its answer is waited for and recorded", async () => {
    const { engine, proxy: first, clock } = machine();
    await using proxy = first;
    proxy.call("send");
    const call = await received(proxy);
    proxy.stdin.end();
    await clock.advanceBy(5_000);
    proxy.upstream.send({ jsonrpc: "2.0", id: call.id, result: { content: [{ type: "text", text: "done" }] } });
    expect(await proxy.ended).toBe(true);
    await using next = beside(proxy, engine);
    expect(textOf(await next.call("send").answer)).toMatch(/^done\n/);
  });

  test("is what becomes of it when that answer does not come in time", async () => {
    const { proxy: first, clock } = machine({ endMsMax: 10_000 });
    await using proxy = first;
    proxy.call("send");
    await received(proxy);
    proxy.stdin.end();
    await clock.advanceBy(10_001);
    await proxy.ended;
    await isIn(proxy, "unknown");
  });
});

describe("a reconciling tool", () => {
  const rules = { send: { kind: "effect", reconcile: "find" }, find: "read-only" };
  /** A call that was lost, and a proxy whose upstream is asked what became of it. */
  async function lostCall(over: Readonly<Record<string, unknown>> = {}): Promise<ProxyConnection> {
    const { engine, proxy } = machine();
    const { answer } = proxy.call("send", { to: "ann" });
    await received(proxy);
    proxy.upstream.die();
    await answer;
    return openProxy({ tools: { ...rules, ...over }, clock: proxy.clock, engine });
  }

  test.each([
    ["finds it", { structuredContent: { found: true }, content: [{ type: "text", text: "there" }] }, "done", /^there\n.*resolved as done/],
    ["finds some", { content: [{ type: "text", text: '{"found":[{"id":1}]}' }] }, "done", /resolved as done/],
    ["does not answer", { isError: true, content: [] }, "unknown", /It is unknown/],
    ["does not find it, which may be too early", { structuredContent: { found: false } }, "unknown", /It is unknown/],
    ["does not say", { content: [{ type: "text", text: "yes" }] }, "unknown", /It is unknown/],
    ["says something else", { structuredContent: { count: 1 } }, "unknown", /It is unknown/],
  ])("that %s", async (_what, result, state, text) => {
    await using proxy = await lostCall();
    const { answer } = proxy.call("send", { to: "ann" });
    const asked = await received(proxy);
    expect(asked.params).toEqual({ name: "find", arguments: { to: "ann" } });
    proxy.upstream.send({ jsonrpc: "2.0", id: asked.id, result });
    expect(textOf(await answer)).toMatch(text);
    await isIn(proxy, state);
    expect(proxy.upstream.lines).toHaveLength(1);
  });

  test.each([[{ found: false }], [{ found: [] }], [{ found: null }]])("that does not find it (%j) lets the call be made where a rule says so", async (structuredContent) => {
    await using proxy = await lostCall({ send: { ...rules.send, reconcileAbsent: "failed" } });
    const { answer } = proxy.call("send", { to: "ann" });
    const asked = await received(proxy);
    proxy.upstream.send({ jsonrpc: "2.0", id: asked.id, result: { content: [], structuredContent } });
    const call = await received(proxy);
    expect(call.params?.name).toBe("send");
    proxy.upstream.send({ jsonrpc: "2.0", id: call.id, result: { content: [{ type: "text", text: "sent" }] } });
    expect(textOf(await answer)).toBe("sent");
  });

  test("is not called where it has an effect itself", async () => {
    await using proxy = await lostCall({ find: "effect" });
    expect(textOf(await proxy.call("send", { to: "ann" }).answer)).toContain("It is unknown");
    expect(proxy.upstream.lines).toEqual([]);
    expect(proxy.logged.map(({ event }) => event)).toContain("reconcile_tool_refused");
  });

  test("may look at another member, and is given the key", async () => {
    await using proxy = await lostCall({ send: { kind: "effect", reconcile: "find", reconcileMember: "items", idempotentKeyField: "key" } });
    const id = await onlyId(proxy);
    const { answer } = proxy.call("send", { to: "ann", key: "made up by the model" });
    const asked = await received(proxy);
    expect(asked.params?.arguments).toEqual({ to: "ann", key: id });
    proxy.upstream.send({ jsonrpc: "2.0", id: asked.id, result: { content: [], structuredContent: { items: [1] } } });
    expect(textOf(await answer)).toContain("resolved as done");
  });
});

describe("errors of the upstream", () => {
  const error = (code: number) => ({ error: { code, message: "no" } });
  test.each([
    ["wrong parameters did not take effect", error(-32_602), {}, "failed"],
    ["no such method", error(-32_601), {}, "failed"],
    ["a page to visit first", error(-32_042), {}, "failed"],
    ["an internal error may have", error(-32_603), {}, "done"],
    ["another error may have", error(-32_000), {}, "done"],
    ["an error of the tool may have", { result: { isError: true, content: [{ type: "text", text: "no" }] } }, {}, "done"],
    ["which a rule may deny", { result: { isError: true, content: [] } }, { errors: "retryable" }, "failed"],
    ["an answer that is none", {}, {}, "unknown"],
  ])("%s", async (_what, answer, rule, state) => {
    await using proxy = openProxy({ tools: { send: { kind: "effect", ...rule } } });
    const first = proxy.call("send");
    const call = await received(proxy);
    proxy.upstream.send({ jsonrpc: "2.0", id: call.id, ...answer });
    expect(await first.answer).toEqual({ jsonrpc: "2.0", id: first.id, ...answer });
    await isIn(proxy, state);
    const second = proxy.call("send");
    if (state === "failed") return void (await received(proxy));
    const again = await second.answer;
    expect(proxy.upstream.lines).toHaveLength(1);
    if ("error" in answer) expect(again.error).toMatchObject({ code: answer.error.code, message: "no", data: { [marker]: { answered_from_record: true } } });
    else expect(again.result.isError).toBe(true);
  });

  test("an answer that asks for input is no end: the call with the input is made, once", async () => {
    await using proxy = openProxy({ tools });
    const meta = envelope;
    const first = proxy.call("send", { a: 1 }, meta);
    const call = await received(proxy);
    proxy.upstream.send({ jsonrpc: "2.0", id: call.id, result: { resultType: "input_required", requestState: "s", inputRequests: {} } });
    expect((await first.answer).result.resultType).toBe("input_required");
    proxy.send({ jsonrpc: "2.0", id: "more", method: "tools/call", params: { name: "send", arguments: { a: 1 }, requestState: "s", inputResponses: {}, _meta: meta } });
    const more = await received(proxy);
    expect(more.params?.requestState).toBe("s");
    proxy.upstream.send({ jsonrpc: "2.0", id: "more", result: { resultType: "complete", content: [{ type: "text", text: "sent" }] } });
    await proxy.answer("more");
    const again = await proxy.call("send", { a: 1 }, meta).answer;
    expect(again.result.resultType).toBe("complete");
    expect(textOf(again)).toMatch(/^sent\nThis call was made before/);
    expect(proxy.upstream.lines).toHaveLength(2);
  });
});

describe("a call that the client cancels", () => {
  const cancel = (proxy: ProxyConnection, requestId: number): void => proxy.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });

  test("before it left is not made, and may be made later", async () => {
    await using proxy = openProxy({ tools });
    const { id } = proxy.call("send");
    cancel(proxy, id);
    await proxy.clock.settle();
    expect(proxy.upstream.lines).toEqual([]);
    await isIn(proxy, "failed");
    proxy.call("send");
    await received(proxy);
  });

  test("is cancelled at the upstream, whose answer counts if it comes", async () => {
    await using proxy = openProxy({ tools });
    const { id, answer } = proxy.call("send");
    await received(proxy);
    cancel(proxy, id);
    await proxy.upstream.next(({ method }) => method === "notifications/cancelled");
    proxy.upstream.send({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "too late" }] } });
    await answer;
    await isIn(proxy, "done");
  });

  test("is unknown when the upstream says nothing, until it does", async () => {
    await using proxy = openProxy({ tools, cancelMsMax: 2_000 });
    const { id } = proxy.call("send");
    await received(proxy);
    cancel(proxy, id);
    await proxy.clock.advanceBy(2_001);
    await isIn(proxy, "unknown");
    expect(proxy.lines).toEqual([]);
    proxy.upstream.send({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "very late" }] } });
    await proxy.clock.settle();
    await isIn(proxy, "done");
    expect(textOf(await proxy.call("send").answer)).toMatch(/^very late/);
  });
});

describe("a store that fails", () => {
  const failing =
    (at: (n: number) => boolean, code: "unavailable" | "outcome_unknown") =>
    (store: Store): Store => {
      let n = 0;
      return {
        ...store,
        async commit(commit) {
          n += 1;
          if (at(n)) throw new HoldfastError(code, "The store cannot be reached.");
          return store.commit(commit);
        },
      };
    };

  test("before the call leaves: it does not leave", async () => {
    await using proxy = openProxy({ tools, store: failing((n) => n === 1, "unavailable") });
    const answer = await proxy.call("send").answer;
    expect(answer.result).toMatchObject({ isError: true, _meta: { [marker]: { code: "unavailable", state: "not_made" } } });
    expect(textOf(answer)).toContain("This call was not made: The store cannot be reached.");
    expect(proxy.upstream.lines).toEqual([]);
  });

  test("for a moment when the answer came: it is recorded later, and passed on then", async () => {
    await using proxy = openProxy({ tools, store: failing((n) => n >= 2 && n <= 4, "unavailable") });
    answerAll(proxy.upstream);
    const { answer } = proxy.call("send");
    await proxy.clock.advanceBy(2_000);
    expect(textOf(await answer)).toBe("call 1");
    await isIn(proxy, "done");
  });

  test("for longer: the client learns what the upstream said, and that it is not recorded", async () => {
    await using proxy = openProxy({ tools, store: failing((n) => n >= 2, "unavailable") });
    answerAll(proxy.upstream);
    const { answer } = proxy.call("send");
    await proxy.clock.advanceBy(10_000);
    expect((await answer).result).toMatchObject({ isError: true, _meta: { [marker]: { state: "unrecorded" } } });
    expect(textOf(await answer)).toMatch(/could not be recorded: The store cannot be reached\.[\s\S]*\ncall 1$/);
  });
});

describe("the key that an upstream takes", () => {
  test("is the effect's id, the same in every attempt, whatever key the model made up", async () => {
    await using proxy = openProxy({ tools: { send: { kind: "effect", idempotentKeyField: "key", errors: "retryable" } } });
    const keys: unknown[] = [];
    for (const key of ["a", "b"]) {
      const { answer } = proxy.call("send", { to: "ann", key });
      const call = await received(proxy);
      keys.push(call.params?.arguments);
      proxy.upstream.send({ jsonrpc: "2.0", id: call.id, result: { isError: true, content: [] } });
      await answer;
    }
    const id = await onlyId(proxy);
    expect(keys).toEqual([
      { to: "ann", key: id },
      { to: "ann", key: id },
    ]);
  });

  test("is not put into a call with numbers that would change", async () => {
    await using proxy = openProxy({ tools: { send: { kind: "effect", idempotentKeyField: "key" } } });
    proxy.sendText('{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"send","arguments":{"n":12345678901234567890}}}\n');
    expect(textOf(await proxy.answer("n"))).toContain("the number 12345678901234567890 has more digits than can be kept");
  });
});

const isCallOf = ({ method, params }: Answer, args: Readonly<Record<string, unknown>>): boolean => method === "tools/call" && isDeepStrictEqual(params?.arguments, args);

test("no secret of an answer, of an error or of a reconciled answer is stored", async () => {
  const secret = `ghp_${"a1B2".repeat(9)}`;
  const rules = { send: { kind: "effect", errors: "retryable", reconcile: "find" }, find: "read-only" } as const;
  await using proxy = openProxy({ tools: rules, withoutSecrets: redactedJson });
  const answers = [
    { result: { content: [], note: secret } },
    { result: { isError: true, content: [{ type: "text", text: secret }] } },
    { error: { code: -32_602, message: secret } },
  ];
  for (const [n, answer] of answers.entries()) {
    const call = proxy.call("send", { n });
    const { id } = await proxy.upstream.next((message) => isCallOf(message, { n }));
    proxy.upstream.send({ jsonrpc: "2.0", id, ...answer });
    expect(JSON.stringify(await call.answer)).toContain(secret);
  }
  proxy.call("send", { n: "lost" });
  const lost = await proxy.upstream.next((message) => isCallOf(message, { n: "lost" }));
  proxy.upstream.send({ jsonrpc: "2.0", id: lost.id });
  await proxy.clock.settle();
  proxy.call("send", { n: "lost" });
  const found = await proxy.upstream.next(({ params }) => params?.name === "find");
  proxy.upstream.send({ jsonrpc: "2.0", id: found.id, result: { content: [], structuredContent: { found: secret } } });
  await proxy.clock.settle();
  const states = (await effects(proxy)).map(({ state }) => state).sort();
  expect(states).toEqual(["done", "done", "failed", "failed"]);
  const stored = JSON.stringify((await proxy.scope.store.log({ ranges: [{ start: "" }] })).rows);
  expect(stored).toContain("[redacted:");
  expect(stored).not.toContain(secret);
});
