import { describe, expect, test } from "vitest";
import { openTools, startSeconds } from "./open-tools.ts";

describe("the five AgentCheckpoint tools", () => {
  test("values are JSON text both ways", async () => {
    const { call } = openTools();
    expect(await call("set_state", { key: "k", value: '{ "a": [1, null] }' })).toEqual({ status: "ok", key: "k", version: 1 });
    expect(await call("get_state", { key: "k" })).toEqual({ status: "ok", key: "k", value: '{"a":[1,null]}', version: 1, updated_at: startSeconds });
  });

  test("a missing key is not_found", async () => {
    const { call } = openTools();
    expect(await call("get_state", { key: "k" })).toEqual({ status: "not_found", key: "k" });
  });

  test("they see the keys of the state_ tools, and the other way round", async () => {
    const { call, clock } = openTools();
    await call("state_set", { key: "k", value: { n: 1 }, ttl_seconds: 1 });
    expect((await call("get_state", { key: "k" })).value).toBe('{"n":1}');
    expect((await call("force_set_state", { key: "k", value: "2" })).version).toBe(2);
    clock.advance(5_000);
    expect(await call("state_get", { key: "k" })).toMatchObject({ value: 2, version: 2, expires_at: null });
    expect((await call("history_log", { key: "k" })).total).toBe(2);
  });

  test("-1 writes unconditionally, 0 creates only, N compares and sets", async () => {
    const { call } = openTools();
    expect((await call("set_state", { key: "k", value: "1", expected_version: 0 })).status).toBe("ok");
    expect(await call("set_state", { key: "k", value: "2", expected_version: 0 })).toEqual({
      status: "conflict",
      key: "k",
      expected_version: 0,
      actual_version: 1,
      message: expect.stringContaining("exists already"),
    });
    expect((await call("set_state", { key: "k", value: "2", expected_version: -1 })).version).toBe(2);
    expect(await call("set_state", { key: "k", value: "3", expected_version: 1 })).toMatchObject({
      status: "conflict",
      expected_version: 1,
      actual_version: 2,
      message: expect.any(String),
    });
    expect(await call("set_state", { key: "k", value: "3", expected_version: 2 })).toEqual({ status: "ok", key: "k", version: 3 });
  });

  test("a guard on a missing key is not_found", async () => {
    const { call } = openTools();
    expect(await call("set_state", { key: "k", value: "1", expected_version: 3 })).toMatchObject({ status: "not_found", key: "k", message: expect.any(String) });
    expect((await call("get_state", { key: "k" })).status).toBe("not_found");
  });

  test.each(["", "hello", "{", "NaN", "undefined", "'x'", "1e400", "[-1e999]", "9007199254740993", '{"n":12345678901234567890}'])(
    "%j is an error status, an ordinary result, and writes nothing",
    async (value) => {
      const { call } = openTools();
      for (const tool of ["set_state", "force_set_state"]) expect(await call(tool, { key: "k", value })).toEqual({ status: "error", message: expect.stringMatching(/^value: /) });
      expect((await call("get_state", { key: "k" })).status).toBe("not_found");
    },
  );

  test("other negative versions are wrong input", async () => {
    const { fails } = openTools();
    expect(await fails("set_state", { key: "k", value: "1", expected_version: -2 })).toMatchObject({ code: "invalid_input", message: "expected_version: must be at least -1" });
  });

  test("exactly one racing writer wins, the others get conflict", async () => {
    const { call } = openTools();
    await call("set_state", { key: "k", value: "0" });
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => call("set_state", { key: "k", value: String(i), expected_version: 1 })));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill("conflict"), "ok"]);
  });

  test("a member named __proto__ survives", async () => {
    const { call } = openTools();
    await call("set_state", { key: "k", value: '{"__proto__":{"x":1}}' });
    expect((await call("get_state", { key: "k" })).value).toBe('{"__proto__":{"x":1}}');
  });

  test("deleted is true only if something was there", async () => {
    const { call } = openTools();
    await call("set_state", { key: "k", value: "1" });
    expect(await call("delete_state", { key: "k" })).toEqual({ status: "ok", key: "k", deleted: true });
    expect(await call("delete_state", { key: "k" })).toEqual({ status: "ok", key: "k", deleted: false });
  });
});

describe("list_state", () => {
  test("lists matching live keys in key order with version and time", async () => {
    const { call } = openTools();
    for (const key of ["task/2", "task/10", "Task/1", "task%", "other"]) await call("force_set_state", { key, value: "1" });
    expect(await call("list_state", { pattern: "task/%" })).toEqual({
      status: "ok",
      keys: [
        { key: "task/10", version: 1, updated_at: startSeconds },
        { key: "task/2", version: 1, updated_at: startSeconds },
      ],
      cursor: null,
    });
    const keysOf = async (pattern?: string) => (await call("list_state", pattern === undefined ? {} : { pattern })).keys.map(({ key }: { key: string }) => key);
    expect(await keysOf()).toEqual(["Task/1", "other", "task%", "task/10", "task/2"]);
    expect(await keysOf("_ask/_")).toEqual(["Task/1", "task/2"]);
    expect(await keysOf("task\\%")).toEqual(["task%"]);
    expect(await keysOf("%o%")).toEqual(["other"]);
    expect(await keysOf("nothing%")).toEqual([]);
  });

  test("a page is bounded, and its cursor continues without loss or repetition", async () => {
    const { call } = openTools();
    await Promise.all(Array.from({ length: 250 }, (_, i) => call("force_set_state", { key: `k${i}`, value: "1" })));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page: { keys: { key: string }[]; cursor: string | null } = await call("list_state", { pattern: "%1%", limit: 7, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.keys.length).toBeLessThanOrEqual(7);
      seen.push(...page.keys.map(({ key }) => key));
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    const expected = Array.from({ length: 250 }, (_, i) => `k${i}`).filter((key) => key.includes("1"));
    expect(seen).toEqual(expected.sort());
  });

  test.each(["a\\", "\ud800%", "a\0%"])("the pattern %j is wrong input", async (pattern) => {
    const { fails } = openTools();
    expect(await fails("list_state", { pattern })).toMatchObject({ code: "invalid_input", details: { field: "pattern" } });
  });
});
