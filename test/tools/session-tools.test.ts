import { describe, expect, test } from "vitest";
import { openTools, startSeconds } from "./open-tools.ts";

describe("sessions", () => {
  test("what was saved is restored, with both times", async () => {
    const { call, clock } = openTools();
    const context = JSON.parse('{"files":["a.ts"],"__proto__":{"x":1}}');
    expect(await call("session_save", { session_id: "s", context })).toEqual({ ok: true, session_id: "s", version: 1, expires_at: null });
    clock.advance(2_500);
    await call("session_save", { session_id: "s", context: { files: [] } });
    expect(await call("session_restore", { session_id: "s" })).toEqual({
      found: true,
      session_id: "s",
      context: { files: [] },
      version: 2,
      saved_at: startSeconds,
      updated_at: startSeconds + 2.5,
    });
    expect(JSON.stringify((await call("session_restore", { session_id: "s", version: 1 })).context)).toBe(JSON.stringify(context));
  });

  test("an unknown session, an unknown version and an expired session are found:false", async () => {
    const { call, clock } = openTools();
    const nothing = { found: false, session_id: "s", context: null, version: 0, saved_at: null, updated_at: null };
    expect(await call("session_restore", { session_id: "s" })).toEqual(nothing);
    await call("session_save", { session_id: "s", context: {}, ttl_seconds: 1 });
    expect(await call("session_restore", { session_id: "s", version: 7 })).toEqual(nothing);
    clock.advance(1_000);
    expect(await call("session_restore", { session_id: "s" })).toEqual(nothing);
  });

  test("a save against another version changes nothing", async () => {
    const { call } = openTools();
    await call("session_save", { session_id: "s", context: { n: 1 } });
    expect(await call("session_save", { session_id: "s", context: { n: 2 }, expected_version: 0 })).toEqual({
      ok: false,
      reason: "conflict",
      session_id: "s",
      expected_version: 0,
      actual_version: 1,
    });
    expect((await call("session_save", { session_id: "s", context: { n: 2 }, expected_version: 1 })).version).toBe(2);
  });

  test.each([[[]], ["text"], [null], [1]])("the context %j is refused: it must be an object", async (context) => {
    const { fails } = openTools();
    expect(await fails("session_save", { session_id: "s", context })).toMatchObject({ code: "invalid_input", message: "context: required; must be a JSON object" });
  });
});
