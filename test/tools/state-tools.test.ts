import { describe, expect, test } from "vitest";
import { settle } from "../support/scope.ts";
import { openTools, startSeconds } from "./open-tools.ts";

describe("state_set and state_get", () => {
  test("a written value is read back with its version, revision, time and author", async () => {
    const { call } = openTools();
    expect(await call("state_set", { key: "plan", value: { steps: [1, 2] }, agent_id: "ada" })).toEqual({ ok: true, key: "plan", version: 1, revision: 1, expires_at: null });
    expect(await call("state_get", { key: "plan" })).toEqual({
      key: "plan",
      value: { steps: [1, 2] },
      found: true,
      version: 1,
      revision: 1,
      updated_at: startSeconds,
      updated_by: "tester",
      agent_id: "ada",
      expires_at: null,
    });
  });

  test("a missing key is found:false with a null value, not an error", async () => {
    const { call } = openTools();
    expect(await call("state_get", { key: "nothing" })).toEqual({
      key: "nothing",
      value: null,
      found: false,
      version: 0,
      revision: null,
      updated_at: null,
      updated_by: null,
      expires_at: null,
    });
  });

  test("a stored null is found", async () => {
    const { call } = openTools();
    await call("state_set", { key: "k", value: null });
    expect(await call("state_get", { key: "k" })).toMatchObject({ found: true, value: null, version: 1 });
  });

  test("the author is the authenticated writer, whatever name a caller gives itself", async () => {
    const { call } = openTools({ writer: "os-user" });
    await call("state_set", { key: "k", value: 1 });
    expect(await call("state_get", { key: "k" })).not.toHaveProperty("agent_id");
    await call("state_set", { key: "k", value: 2, agent_id: "root" });
    expect(await call("state_get", { key: "k" })).toMatchObject({ updated_by: "os-user", agent_id: "root" });
  });

  test("members named __proto__ and constructor come back untouched", async () => {
    const { call } = openTools();
    const text = '{"__proto__":{"admin":true},"constructor":1,"nested":[{"__proto__":null}]}';
    await call("state_set", { key: "k", value: JSON.parse(text) });
    expect(JSON.stringify((await call("state_get", { key: "k" })).value)).toBe(text);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test("a TTL with fractions ends to the millisecond, and reading never shows an expired value", async () => {
    const { call, clock } = openTools();
    // 16.1 * 1000 is 16100.000000000002 in binary fractions.
    expect((await call("state_set", { key: "k", value: 1, ttl_seconds: 16.1 })).expires_at).toBe(startSeconds + 16.1);
    clock.advance(16_099);
    expect((await call("state_get", { key: "k" })).found).toBe(true);
    clock.advance(1);
    expect(await call("state_get", { key: "k" })).toMatchObject({ found: false, value: null });
  });

  test("a TTL below a millisecond lasts one", async () => {
    const { call, clock } = openTools();
    await call("state_set", { key: "k", value: 1, ttl_seconds: 0.0000001 });
    expect((await call("state_get", { key: "k" })).found).toBe(true);
    clock.advance(1);
    expect((await call("state_get", { key: "k" })).found).toBe(false);
  });

  test("a write without ttl_seconds clears an earlier TTL", async () => {
    const { call, clock } = openTools();
    await call("state_set", { key: "k", value: 1, ttl_seconds: 5 });
    expect((await call("state_set", { key: "k", value: 2 })).expires_at).toBeNull();
    clock.advance(10_000);
    expect((await call("state_get", { key: "k" })).value).toBe(2);
  });

  test("expected_version 0 creates only; N compares and sets; a mismatch returns the current entry and writes nothing", async () => {
    const { call } = openTools();
    expect((await call("state_set", { key: "k", value: "a", expected_version: 0 })).version).toBe(1);
    expect(await call("state_set", { key: "k", value: "b", expected_version: 0, agent_id: "late" })).toEqual({
      ok: false,
      reason: "conflict",
      key: "k",
      expected_version: 0,
      actual_version: 1,
      current: { value: "a", version: 1, revision: 1, updated_at: startSeconds, updated_by: "tester", expires_at: null },
    });
    expect((await call("state_set", { key: "k", value: "b", expected_version: 1 })).version).toBe(2);
    expect(await call("state_set", { key: "other", value: 1, expected_version: 3 })).toMatchObject({ ok: false, reason: "conflict", actual_version: 0, current: null });
    expect((await call("state_get", { key: "other" })).found).toBe(false);
  });

  test("a version is never given twice, not after delete, not after expiry", async () => {
    const { call, clock } = openTools();
    const versions = [(await call("state_set", { key: "k", value: 1 })).version];
    await call("state_delete", { key: "k" });
    versions.push((await call("state_set", { key: "k", value: 1, ttl_seconds: 1 })).version);
    clock.advance(2_000);
    versions.push((await call("state_set", { key: "k", value: 1, expected_version: 0 })).version);
    expect(versions).toEqual([1, 2, 3]);
  });

  test("exactly one of many racing creators wins", async () => {
    const { call } = openTools();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => call("state_set", { key: "k", value: i, expected_version: 0 })));
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
  });

  test("the past can be read by version and by revision", async () => {
    const { call } = openTools();
    for (const value of ["a", "b", "c"]) await call("state_set", { key: "k", value });
    expect(await call("state_get", { key: "k", version: 2 })).toMatchObject({ found: true, value: "b", version: 2, revision: 2 });
    expect(await call("state_get", { key: "k", revision: 1 })).toMatchObject({ value: "a", version: 1 });
    expect(await call("state_get", { key: "k", version: 9 })).toMatchObject({ found: false, value: null });
  });

  test("a revision that has not happened is wrong input", async () => {
    const { fails } = openTools();
    expect(await fails("state_get", { key: "k", revision: 99 })).toMatchObject({ code: "invalid_input" });
  });

  test("a lease guards a write only while its token is current", async () => {
    const { call, fails, clock } = openTools();
    const { token } = await call("lease_acquire", { resource_id: "deploy", holder_id: "ada", ttl_seconds: 10 });
    const lease = { resource_id: "deploy", token };
    expect((await call("state_set", { key: "k", value: 1, lease })).ok).toBe(true);
    expect(await fails("state_set", { key: "k", value: 2, lease: { resource_id: "deploy", token: token + 1 } })).toMatchObject({ code: "lease_lost" });
    clock.advance(10_000);
    expect(await fails("state_set", { key: "k", value: 2, lease })).toMatchObject({ code: "lease_lost", hint: expect.any(String) });
    await call("lease_acquire", { resource_id: "deploy", holder_id: "bob", ttl_seconds: 10 });
    expect(await fails("state_delete", { key: "k", lease })).toMatchObject({ code: "lease_lost" });
    expect((await call("state_get", { key: "k" })).value).toBe(1);
  });

  test("the token of a run's claim guards a write too", async () => {
    const { call, fails } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    const { token } = await call("workflow_claim", { run_id, agent_id: "ada" });
    const lease = { resource_id: `workflow/${run_id}`, token };
    expect((await call("state_set", { key: "k", value: 1, lease })).ok).toBe(true);
    await call("lease_release", { resource_id: `workflow/${run_id}`, holder_id: "ada" });
    expect(await fails("state_set", { key: "k", value: 2, lease })).toMatchObject({ code: "lease_lost" });
  });
});

describe("waiting for a newer version", () => {
  test("ends when the version is there", async () => {
    const { call } = openTools();
    await call("state_set", { key: "k", value: 1 });
    const waiting = call("state_get", { key: "k", wait_for_version_above: 1, wait_seconds: 50 });
    await settle();
    await call("state_set", { key: "unrelated", value: 1 });
    await settle();
    await call("state_set", { key: "k", value: 2 });
    expect(await waiting).toMatchObject({ found: true, value: 2, version: 2 });
  });

  test("answers at once when it already is, and with what is there when the time is up", async () => {
    const { call, clock } = openTools();
    await call("state_set", { key: "k", value: 1 });
    expect(await call("state_get", { key: "k", wait_for_version_above: 0 })).toMatchObject({ version: 1 });
    const waiting = call("state_get", { key: "k", wait_for_version_above: 1 });
    await settle();
    clock.advance(29_999);
    await settle();
    expect(clock.sleeping()).toBe(1);
    clock.advance(1);
    expect(await waiting).toMatchObject({ found: true, version: 1 });
  });

  test("ends when the call is cancelled", async () => {
    const { call, clock } = openTools();
    const stop = new AbortController();
    const waiting = call("state_get", { key: "k", wait_for_version_above: 0, wait_seconds: 50 }, { signal: stop.signal });
    await settle();
    stop.abort();
    expect(await waiting).toMatchObject({ found: false });
    await settle();
    expect(clock.sleeping()).toBe(0);
  });
});

describe("state_delete", () => {
  test("ok is true exactly when a live key was removed", async () => {
    const { call, clock } = openTools();
    await call("state_set", { key: "k", value: 1 });
    expect(await call("state_delete", { key: "k" })).toEqual({ ok: true, key: "k", revision: 2 });
    expect(await call("state_delete", { key: "k" })).toEqual({ ok: false, key: "k", reason: "not_found" });
    await call("state_set", { key: "brief", value: 1, ttl_seconds: 1 });
    clock.advance(1_000);
    expect((await call("state_delete", { key: "brief" })).ok).toBe(false);
  });

  test("with another version than the current one it removes nothing and shows the entry", async () => {
    const { call } = openTools();
    await call("state_set", { key: "k", value: 1 });
    await call("state_set", { key: "k", value: 2 });
    expect(await call("state_delete", { key: "k", expected_version: 1 })).toMatchObject({
      ok: false,
      reason: "conflict",
      expected_version: 1,
      actual_version: 2,
      current: { value: 2 },
    });
    expect((await call("state_delete", { key: "k", expected_version: 2 })).ok).toBe(true);
  });
});

describe("state_list", () => {
  test("lists live keys in byte order, with values only when asked", async () => {
    const { call, clock } = openTools();
    for (const key of ["b", "\u{1F600}", "a/2", "\u{FF5E}", "a/1", "Z"]) await call("state_set", { key, value: key });
    await call("state_set", { key: "gone", value: 1, ttl_seconds: 1 });
    clock.advance(1_000);
    const all = await call("state_list");
    expect(all.keys).toEqual(["Z", "a/1", "a/2", "b", "\u{FF5E}", "\u{1F600}"]);
    expect(all.cursor).toBeNull();
    expect(all.entries).toBeUndefined();
    const { keys, entries } = await call("state_list", { values: false });
    expect(keys).toBeUndefined();
    expect(entries[1]).toEqual({ key: "a/1", version: 1, updated_at: startSeconds, expires_at: null });
    expect((await call("state_list", { prefix: "a/", values: true })).entries).toEqual([
      { key: "a/1", version: 1, updated_at: startSeconds, expires_at: null, value: "a/1" },
      { key: "a/2", version: 1, updated_at: startSeconds, expires_at: null, value: "a/2" },
    ]);
  });

  test.each(["%", "_", "*", "[", "\\", "A", "a%"])("the prefix %j means itself", async (prefix) => {
    const { call } = openTools();
    for (const key of ["abc", "a%b", "xyz", `${prefix}!`]) await call("state_set", { key, value: 1 });
    const expected = ["abc", "a%b", "xyz", `${prefix}!`].filter((key) => key.startsWith(prefix)).sort();
    expect((await call("state_list", { prefix })).keys).toEqual([...new Set(expected)]);
  });

  test.each([false, true])("pages of any size give every key once, values: %s", async (values) => {
    const { call } = openTools();
    const keys = Array.from({ length: 150 }, (_, i) => `k${String(i).padStart(3, "0")}`);
    await Promise.all([...keys, "other"].map((key) => call("state_set", { key, value: key })));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { entries: { key: string }[]; cursor: string | null } = await call("state_list", { prefix: "k", limit: 70, values, ...(cursor === null ? {} : { cursor }) });
      seen.push(...page.entries.map(({ key }) => key));
      cursor = page.cursor;
    } while (cursor !== null);
    expect(seen).toEqual(keys);
  });

  test("the default page has 100 keys", async () => {
    const { call } = openTools();
    await Promise.all(Array.from({ length: 101 }, (_, i) => call("state_set", { key: `k${i}`, value: 1 })));
    const page = await call("state_list");
    expect(page.keys).toHaveLength(100);
    expect((await call("state_list", { cursor: page.cursor })).keys).toHaveLength(1);
  });

  test("large values end the page early instead of making an unbounded answer, and the cursor continues", async () => {
    const { call } = openTools();
    const large = "x".repeat(225_000);
    for (let i = 0; i < 12; i += 1) await call("state_set", { key: `k${String(i).padStart(2, "0")}`, value: large });
    const first = await call("state_list", { values: true });
    const keysOf = (page: { entries: { key: string }[] }): string[] => page.entries.map(({ key }) => key);
    expect(first.entries.length).toBeGreaterThan(2);
    expect(JSON.stringify(first).length).toBeLessThan(1_500_000);
    const seen = keysOf(first);
    for (let page = first; page.cursor !== null; ) {
      page = await call("state_list", { values: true, cursor: page.cursor });
      seen.push(...keysOf(page));
    }
    expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => `k${String(i).padStart(2, "0")}`));
  });

  test("a cursor that no listing gave, or one of another prefix, is wrong input", async () => {
    const { call, fails } = openTools();
    for (const key of ["a1", "a2", "b1"]) await call("state_set", { key, value: 1 });
    const { cursor } = await call("state_list", { prefix: "a", limit: 1 });
    for (const wrong of ["", "!!", "c3RhdGU", Buffer.from("other a1").toString("base64url"), Buffer.from("state a\0").toString("base64url"), `${cursor}=`])
      expect(await fails("state_list", { prefix: "a", cursor: wrong })).toMatchObject({ code: "invalid_input", details: { field: "cursor" } });
    expect(await fails("state_list", { prefix: "b", cursor })).toMatchObject({ code: "invalid_input" });
  });
});

describe("state_commit", () => {
  test("writes and deletes land together at one revision", async () => {
    const { call } = openTools();
    await call("state_set", { key: "old", value: 1 });
    expect(
      await call("state_commit", {
        writes: [
          { key: "a", value: 1 },
          { key: "b", value: null, ttl_seconds: 2 },
          { key: "old", delete: true },
          { key: "never", delete: true },
        ],
        expected: [
          { key: "a", version: 0 },
          { key: "old", version: 1 },
        ],
      }),
    ).toEqual({
      ok: true,
      revision: 2,
      results: [
        { key: "a", version: 1, expires_at: null },
        { key: "b", version: 1, expires_at: startSeconds + 2 },
        { key: "old", version: 1, deleted: true, expires_at: null },
        { key: "never", version: 0, deleted: false, expires_at: null },
      ],
    });
    expect((await call("state_list")).keys).toEqual(["a", "b"]);
    expect((await call("state_get", { key: "a" })).revision).toBe((await call("state_get", { key: "b" })).revision);
  });

  test("one broken expectation, also of a key that is only read, writes nothing and names every conflict", async () => {
    const { call } = openTools();
    await call("state_set", { key: "seen", value: "x" });
    expect(
      await call("state_commit", {
        writes: [{ key: "a", value: 1 }],
        expected: [
          { key: "seen", version: 4 },
          { key: "absent", version: 2 },
          { key: "a", version: 0 },
        ],
      }),
    ).toEqual({
      ok: false,
      reason: "conflict",
      conflicts: [
        { key: "seen", expected_version: 4, actual_version: 1, current: expect.objectContaining({ value: "x", version: 1 }) },
        { key: "absent", expected_version: 2, actual_version: 0, current: null },
      ],
    });
    expect((await call("state_get", { key: "a" })).found).toBe(false);
  });

  test("every lease it names must be live and current", async () => {
    const { call, fails } = openTools();
    const one = await call("lease_acquire", { resource_id: "one", holder_id: "ada", ttl_seconds: 10 });
    const leases = [
      { resource_id: "one", token: one.token },
      { resource_id: "two", token: 1 },
    ];
    expect(await fails("state_commit", { writes: [{ key: "a", value: 1 }], leases })).toMatchObject({ code: "lease_lost", details: { resource_id: "two" } });
    expect((await call("state_commit", { writes: [{ key: "a", value: 1 }], leases: leases.slice(0, 1) })).ok).toBe(true);
  });

  test.each([
    [{ writes: [{ key: "a" }] }, "writes[0]"],
    [{ writes: [{ key: "a", value: 1, delete: true }] }, "writes[0]"],
    [{ writes: [{ key: "a", delete: true, ttl_seconds: 1 }] }, "writes[0].ttl_seconds"],
    [{ writes: [{ key: "a", value: 1, delete: false, ttl: 2 }] }, "writes[0].ttl"],
    [
      {
        writes: [
          { key: "a", value: 1 },
          { key: "a", value: 2 },
        ],
      },
      "key",
    ],
    [{ writes: [] }, "writes"],
  ])("%j is wrong input naming %s", async (args, field) => {
    const { fails } = openTools();
    expect(await fails("state_commit", args)).toMatchObject({ code: "invalid_input", details: { field } });
  });
});
