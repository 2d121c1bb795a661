import { describe, expect, test } from "vitest";
import { passTime, settle } from "../support/scope.ts";
import { openTools, startSeconds } from "./open-tools.ts";

const ada = { resource_id: "deploy", holder_id: "ada" };
const bob = { resource_id: "deploy", holder_id: "bob" };

describe("leases", () => {
  test("a free lease is acquired with a token and an end", async () => {
    const { call } = openTools();
    expect(await call("lease_acquire", { ...ada, ttl_seconds: 10 })).toEqual({
      acquired: true,
      resource_id: "deploy",
      holder: "ada",
      token: 1,
      expires_at: startSeconds + 10,
      reason: null,
    });
  });

  test("a held lease is refused with its holder and its end", async () => {
    const { call } = openTools();
    await call("lease_acquire", { ...ada, ttl_seconds: 10 });
    expect(await call("lease_acquire", { ...bob, ttl_seconds: 10 })).toEqual({
      acquired: false,
      resource_id: "deploy",
      holder: "ada",
      token: null,
      expires_at: startSeconds + 10,
      reason: "held",
    });
  });

  test("the holder acquiring again keeps its token and gets the new TTL", async () => {
    const { call, clock } = openTools();
    const { token } = await call("lease_acquire", { ...ada, ttl_seconds: 10 });
    clock.advance(5_000);
    expect(await call("lease_acquire", { ...ada, ttl_seconds: 20 })).toMatchObject({ acquired: true, token, expires_at: startSeconds + 25 });
  });

  test("every new holder gets a larger token, after release and after lapse", async () => {
    const { call, clock } = openTools();
    const tokens = [(await call("lease_acquire", { ...ada, ttl_seconds: 10 })).token];
    await call("lease_release", ada);
    tokens.push((await call("lease_acquire", { ...bob, ttl_seconds: 10 })).token);
    clock.advance(10_000);
    tokens.push((await call("lease_acquire", { ...ada, ttl_seconds: 10 })).token);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(3);
  });

  test("release is false for the wrong holder, the wrong token and a lapsed lease", async () => {
    const { call, clock } = openTools();
    const { token } = await call("lease_acquire", { ...ada, ttl_seconds: 10 });
    expect(await call("lease_release", bob)).toEqual({ released: false, resource_id: "deploy" });
    expect((await call("lease_release", { ...ada, token: token + 7 })).released).toBe(false);
    expect(await call("lease_release", { ...ada, token })).toEqual({ released: true, resource_id: "deploy" });
    expect((await call("lease_release", ada)).released).toBe(false);
    await call("lease_acquire", { ...ada, ttl_seconds: 1 });
    clock.advance(1_000);
    expect((await call("lease_release", ada)).released).toBe(false);
  });

  test("renewing keeps the token; lapsed or another's is false and names the holder", async () => {
    const { call, clock } = openTools();
    const { token } = await call("lease_acquire", { ...ada, ttl_seconds: 10 });
    clock.advance(4_000);
    expect(await call("lease_renew", { ...ada, ttl_seconds: 10 })).toEqual({ renewed: true, resource_id: "deploy", expires_at: startSeconds + 14, token, holder: "ada" });
    expect(await call("lease_renew", { ...bob, ttl_seconds: 10 })).toEqual({ renewed: false, resource_id: "deploy", expires_at: null, token: null, holder: "ada" });
    expect((await call("lease_renew", { ...ada, ttl_seconds: 10, token: token + 1 })).renewed).toBe(false);
    clock.advance(10_000);
    expect(await call("lease_renew", { ...ada, ttl_seconds: 10 })).toMatchObject({ renewed: false, holder: null });
  });

  test("renewing shortens only when asked for less explicitly", async () => {
    const { call } = openTools();
    await call("lease_acquire", { ...ada, ttl_seconds: 100 });
    expect((await call("lease_renew", { ...ada, ttl_seconds: 5 })).expires_at).toBe(startSeconds + 5);
  });

  test("those who wait are served in the order they came", async () => {
    const { call } = openTools();
    await call("lease_acquire", { ...ada, ttl_seconds: 60 });
    const served: string[] = [];
    const queue = ["bob", "cyd", "dan"].map(async (holder_id, i) => {
      await settle(20 * i);
      const answer = await call("lease_acquire", { resource_id: "deploy", holder_id, ttl_seconds: 60, wait_seconds: 50 });
      expect(answer.acquired).toBe(true);
      served.push(holder_id);
      await call("lease_release", { resource_id: "deploy", holder_id });
    });
    await settle(100);
    expect(served).toEqual([]);
    await call("lease_release", ada);
    await Promise.all(queue);
    expect(served).toEqual(["bob", "cyd", "dan"]);
  });

  test("when waiting runs out the answer has the place in line", async () => {
    const { call, clock } = openTools();
    await call("lease_acquire", { ...ada, ttl_seconds: 600 });
    const waiting = call("lease_acquire", { ...bob, ttl_seconds: 10, wait_seconds: 3 });
    await passTime(clock, 3_500);
    expect(await waiting).toEqual({ acquired: false, resource_id: "deploy", holder: "ada", token: null, expires_at: startSeconds + 600, reason: "held", queue_position: 1 });
  });

  test("the holder's name stands in history beside the writer", async () => {
    const { call } = openTools({ writer: "os-user" });
    await call("lease_acquire", { ...ada, ttl_seconds: 60 });
    expect((await call("history_log", { kind: "lease" })).entries[0]).toMatchObject({ op: "acquire", key: "deploy", agent_id: "ada", writer: "os-user" });
  });
});
