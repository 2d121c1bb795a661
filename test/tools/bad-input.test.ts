import { describe, expect, test } from "vitest";
import { catalog } from "../../src/tools/catalog.ts";
import { openTools } from "./open-tools.ts";

const tenYears = 315_360_000;
const ttl = `must be above 0 and at most ${tenYears} (ten years); fractions are allowed`;
const labelRule = "must be 1 to 256 bytes of well-formed text without NUL";
const tagsRule = "must map names (1 to 64 bytes) to strings (at most 128 bytes), at most 16 of them";

const table: readonly (readonly [name: string, args: unknown, message: string])[] = [
  ["state_set", undefined, "key: required; must be a string\nvalue: required; any JSON value"],
  ["state_set", "text", "arguments: must be an object, not a string"],
  ["state_set", [], "arguments: must be an object, not a list"],
  ["state_set", null, "key: required; must be a string\nvalue: required; any JSON value"],
  ["state_set", { key: 1, value: 1 }, "key: must be a string, not a number"],
  ["state_set", { key: "", value: 1 }, "key: must be a non-empty string"],
  ["state_set", { key: "a\0b", value: 1 }, "key: must not contain the NUL character"],
  ["state_set", { key: "\ud800", value: 1 }, "key: must be well-formed Unicode (it contains a lone surrogate)"],
  ["state_set", { key: "k", value: 1, ttl_seconds: 0 }, `ttl_seconds: ${ttl}`],
  ["state_set", { key: "k", value: 1, ttl_seconds: -1 }, `ttl_seconds: ${ttl}`],
  ["state_set", { key: "k", value: 1, ttl_seconds: tenYears + 1 }, `ttl_seconds: ${ttl}`],
  ["state_set", { key: "k", value: 1, expected_version: -1 }, "expected_version: must be at least 0"],
  ["state_set", { key: "k", value: 1, expected_version: 1.5 }, "expected_version: must be a whole number, not a fraction"],
  ["state_set", { key: "k", value: 1, expected_version: 2 ** 53 }, "expected_version: must be at most 9007199254740991"],
  ["state_set", { key: "k", value: 1, agent_id: "a\0" }, `agent_id: ${labelRule}`],
  ["state_set", { key: "k", value: 1, agent_id: "\ud800" }, `agent_id: ${labelRule}`],
  ["state_set", { key: "k", value: 1, agent_id: "x".repeat(257) }, `agent_id: ${labelRule}`],
  ["state_set", { key: "k", value: 1, lease: { resource_id: "r" } }, "lease.token: required; must be a whole number"],
  ["state_set", { key: "k", value: 1, lease: { resource_id: "r", token: 1, extra: 1 } }, "unknown argument: lease.extra; allowed: resource_id, token"],
  ["state_set", { key: "k", value: 1, ttl: 5 }, "unknown argument: ttl; allowed: key, value, ttl_seconds, expected_version, lease, agent_id"],
  [
    "state_set",
    JSON.parse('{"key":"k","value":1,"__proto__":{"agent_id":"x"}}'),
    "unknown argument: __proto__; allowed: key, value, ttl_seconds, expected_version, lease, agent_id",
  ],
  [
    "state_set",
    { kee: "k", value: 1, ttl_seconds: "x", vlaue: 2 },
    "key: required; must be a string\nttl_seconds: must be a number, not a string\nunknown argument: kee; allowed: key, value, ttl_seconds, expected_version, lease, agent_id\nunknown argument: vlaue; allowed: key, value, ttl_seconds, expected_version, lease, agent_id",
  ],
  ["state_get", { key: "k", version: 1, revision: 1 }, "version: give at most one of version, revision and wait_for_version_above"],
  ["state_get", { key: "k", version: 0 }, "version: must be at least 1"],
  ["state_get", { key: "k", wait_seconds: 5 }, "wait_seconds: allowed only with wait_for_version_above"],
  ["state_get", { key: "k", wait_for_version_above: 0, wait_seconds: 56 }, "wait_seconds: must be at most 55"],
  ["state_get", { key: "k", wait_for_version_above: 0, wait_seconds: -1 }, "wait_seconds: must be at least 0"],
  ["state_list", { limit: 0 }, "limit: must be at least 1"],
  ["state_list", { limit: 1_001 }, "limit: must be at most 1000"],
  ["state_list", { prefix: "\ud800" }, "prefix: must be at most 512 bytes of well-formed text without NUL"],
  ["state_list", { prefix: "a\0" }, "prefix: must be at most 512 bytes of well-formed text without NUL"],
  ["state_list", { prefix: "x".repeat(513) }, "prefix: must be at most 512 bytes of well-formed text without NUL"],
  ["state_list", { values: "yes" }, "values: must be true or false, not a string"],
  ["state_commit", { writes: { key: "a" } }, "writes: must be a list, not an object"],
  ["state_commit", { writes: [{ value: 1 }, 5] }, "writes[0].key: required; must be a string\nwrites[1]: must be an object, not a number"],
  ["state_commit", { writes: Array.from({ length: 129 }, (_, i) => ({ key: `k${i}`, value: 1 })) }, "writes: must have at most 128"],
  ["set_state", { key: "k", value: { a: 1 } }, "value: must be a string, not an object"],
  ["workflow_create", { name: "w", tags: { a: 1 } }, `tags: ${tagsRule}`],
  ["workflow_create", { name: "w", tags: ["a"] }, `tags: ${tagsRule}`],
  ["workflow_create", { name: "w", tags: { "": "x" } }, `tags: ${tagsRule}`],
  ["workflow_create", { name: "w", tags: { ["n".repeat(65)]: "x" } }, `tags: ${tagsRule}`],
  ["workflow_create", { name: "w", tags: { a: "v".repeat(129) } }, `tags: ${tagsRule}`],
  ["workflow_create", { name: "w", tags: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`t${i}`, "x"])) }, `tags: ${tagsRule}`],
  ["workflow_create", { name: "w", priority: 1_001 }, "priority: must be at most 1000"],
  ["workflow_create", { name: "w", run_id: "has/slash" }, "run_id: must be 1 to 128 letters, digits and . _ : -, beginning with a letter or digit"],
  ["workflow_discover", { status: "paused" }, 'status: must be one of "created", "claimed", "running", "done", "failed", "cancelled"'],
  ["workflow_claim", { run_id: "r" }, "agent_id: required; must be a string"],
  ["workflow_checkpoint", { run_id: "r", step: -1, output: 1 }, "step: must be at least 0"],
  ["workflow_checkpoint", { run_id: "r", step: 1 }, "output: required; any JSON value"],
  ["lease_acquire", { resource_id: "r", holder_id: "h" }, "ttl_seconds: required; must be a number"],
  ["lease_acquire", { resource_id: "r", holder_id: "h", ttl_seconds: 5, wait_seconds: 60 }, "wait_seconds: must be at most 55"],
  ["session_save", { session_id: "s" }, "context: required; must be a JSON object"],
  ["sidecar_health", { verbose: true }, "unknown argument: verbose; allowed: none"],
];

describe("wrong input", () => {
  test.each(table)("%s %j: %s", async (name, args, message) => {
    const { fails } = openTools();
    expect(await fails(name, args)).toMatchObject({ code: "invalid_input", message });
  });

  test("the hint lists the tool's arguments, and the details name the fields", async () => {
    const { fails } = openTools();
    expect(await fails("session_save", { context: 1, more: 2 })).toMatchObject({
      hint: "Nothing was changed. Arguments of session_save: session_id, context, ttl_seconds?, expected_version?.",
      details: { field: "session_id", fields: ["session_id", "context", "more"] },
    });
  });

  test("a hundred thousand wrong arguments get a short answer", async () => {
    const { fails } = openTools();
    const args = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`${i}${"x".repeat(500)}`, i]));
    const error = await fails("state_get", { key: "k", ...args });
    expect(error.message).toMatch(/and 99980 more$/);
    expect(JSON.stringify(error).length).toBeLessThan(10_000);
  });

  test.each([
    ["as a list", Array.from({ length: 1_001 }, () => 1)],
    ["as text", JSON.stringify(Array.from({ length: 1_001 }, () => ({})))],
  ])("a list too long for any argument is one problem, %s", async (_, open_questions) => {
    const { fails } = openTools();
    expect(await fails("save_checkpoint", { core_question: "q", thesis: "t", confidence: 0.5, open_questions })).toMatchObject({
      code: "invalid_input",
      message: "open_questions: must have at most 1000 items",
      details: { field: "open_questions" },
    });
  });

  test.each(catalog)("$name refuses an unknown argument by name", async ({ name }) => {
    const { fails } = openTools();
    const error = await fails(name, { surprise_argument: 1 });
    expect(error.code).toBe("invalid_input");
    expect(error.message).toContain("unknown argument: surprise_argument; allowed: ");
  });

  test.each(catalog)("$name answers hostile arguments with invalid_input and never with a defect", async (tool) => {
    const { outcome, logged } = openTools();
    const hostile: unknown[] = [null, true, Number.NaN, 1e308, -1, "", "\ud800", "a\0", [], {}, [[]], { toString: "x" }, () => 1, Symbol("s"), 10n, new Date(0), new Map()];
    for (const value of hostile) {
      const args = Object.fromEntries(Object.keys(tool.input.shape).map((name) => [name, value]));
      for (const given of [args, value]) {
        const result = await outcome(tool.name, given);
        if (!result.ok) expect(["invalid_input", "not_found"], `${tool.name}: ${result.error.message}`).toContain(result.error.code);
      }
    }
    expect(logged).toEqual([]);
  });

  test.each([
    ["not JSON", { value: { f: () => 1 } }, "invalid_input"],
    ["an integer that would lose digits", { value: 2 ** 60 }, "invalid_input"],
    ["a key of 513 bytes", { key: "k".repeat(513), value: 1 }, "limit_exceeded"],
    ["a value over 1 MiB", { value: "x".repeat(1_048_577) }, "limit_exceeded"],
    ["65 levels", { value: JSON.parse(`${"[".repeat(65)}${"]".repeat(65)}`) }, "limit_exceeded"],
  ])("%s is refused by name", async (_, args, code) => {
    const { fails } = openTools();
    const error = await fails("state_set", { key: "k", ...args });
    expect(error).toMatchObject({ code, message: expect.stringMatching(/^(key|value): /) });
  });
});
