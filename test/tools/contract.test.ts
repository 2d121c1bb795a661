import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { instructionsFor } from "../../src/surfaces/mcp/instructions.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { describeTool, fullSchemas } from "../../src/tools/describe-tool.ts";
import { toolsets } from "../../src/tools/tool.ts";

/** Result and parameter names that callers of the replaced systems rely on: tool, parameters (optional ones marked), result keys. */
const promised: readonly (readonly [name: string, parameters: string, results: string])[] = [
  ["state_set", "key value ttl_seconds? agent_id? expected_version? lease?", "ok key version revision expires_at reason expected_version actual_version current"],
  ["state_get", "key version? revision? wait_for_version_above? wait_seconds?", "key value found version revision updated_at updated_by expires_at agent_id"],
  ["state_delete", "key expected_version? lease? agent_id?", "ok reason expected_version actual_version current"],
  ["state_list", "prefix? limit? cursor? values?", "keys entries cursor"],
  ["get_state", "key", "status key value version updated_at"],
  ["set_state", "key value expected_version?", "status key version expected_version actual_version message"],
  ["force_set_state", "key value", "status key version"],
  ["list_state", "pattern?", "status keys"],
  ["delete_state", "key", "status key deleted"],
  ["workflow_create", "name tags? input? run_id? priority?", "run_id name status"],
  ["workflow_discover", "tags? status? claimable? limit? cursor?", "runs"],
  ["workflow_claim", "run_id? agent_id ttl_seconds? tags?", "claimed run_id agent_id token expires_at reason"],
  ["workflow_checkpoint", "run_id step output agent_id? token?", "ok run_id step last_step"],
  ["workflow_resume", "run_id steps_after? limit?", "run_id last_step step_outputs meta"],
  ["workflow_status", "run_id", "run_id status last_step agent_id created_at updated_at claim_expires_at"],
  ["workflow_list", "limit? cursor?", "runs"],
  ["lease_acquire", "resource_id holder_id ttl_seconds wait_seconds?", "acquired resource_id holder token expires_at reason queue_position"],
  ["lease_release", "resource_id holder_id token?", "released resource_id"],
  ["lease_renew", "resource_id holder_id ttl_seconds token?", "renewed resource_id expires_at token"],
  ["effects", "id? as? reason? run_id? cursor?", "effects cursor"],
  ["session_save", "session_id context ttl_seconds? expected_version?", "ok session_id version"],
  ["session_restore", "session_id version?", "found session_id context version saved_at updated_at"],
  [
    "checkpoint",
    "action? workspace? outputFormat? description? highlights? activeFiles? gitBranch? workContext? sessionId? global? tags? ttl_days? checkpointId? depth? mode? query? since? limit? range? format?",
    "success operation formattedOutput data meta",
  ],
  ["resume", "agent_id? workspace? since_revision? query? skill? max_tokens?", "text revision workspace items omitted tokens"],
  ["history_log", "key? n? prefix? kind? after_revision? writer?", "entries total"],
  ["sidecar_health", "", "status backend uptime_s key_count workflow_count version revision lease_count engine"],
  ["sidecar_reset", "confirm", "ok cleared"],
  [
    "save_checkpoint",
    "core_question thesis confidence trigger? open_questions? sources? tensions? unique_contributions? action? skill? workspace? continues?",
    "checkpoint_id path duplicate_of",
  ],
  ["list_checkpoints", "limit? skill? query? workspace? cursor?", "checkpoints"],
  ["load_checkpoint", "checkpoint_id", "checkpoint formatted_context"],
  ["save_knowledge", "id content keywords? skill? source? status? supersedes? trust?", "id scope tokens version path"],
  ["recall_knowledge", "query skill? limit? max_tokens?", "items total_tokens formatted_context"],
  ["state_commit", "writes expected? leases? agent_id?", "ok revision results reason conflicts"],
  ["workflow_finish", "run_id status result? error? retry? agent_id? token?", "ok run_id status attempts"],
];

const words = (text: string): string[] => text.split(" ").filter((word) => word !== "");

/** Ids, names and contents of the thing that the tool is about, and what is alike everywhere. */
const speakForThemselves = new Set([
  ...["key", "value", "name", "run_id", "session_id", "resource_id", "holder_id", "checkpoint_id", "checkpointId", "agent_id", "request_key"],
  ...["limit", "cursor", "ttl_seconds", "tags", "workspace", "skill", "query", "activeFiles", "gitBranch", "content", "source"],
  // Sage's own, which its users know.
  ...["core_question", "thesis", "confidence", "open_questions", "sources", "tensions", "unique_contributions", "action"],
]);

describe("the contract", () => {
  test.each(catalog.map((tool) => ({ name: tool.name, tool })))("$name is what was reviewed", async ({ name, tool }) => {
    const contract = { ...describeTool(tool), toolset: tool.toolset, effect: tool.effect, positional: tool.positional, command: tool.cli?.command, checked: fullSchemas(tool) };
    await expect(`${JSON.stringify(contract, null, 2)}\n`).toMatchFileSnapshot(`./snapshots/${name}.json`);
  });

  test("every reviewed file belongs to a tool", () => {
    const files = readdirSync(new URL("./snapshots/", import.meta.url)).sort();
    expect(files).toEqual(catalog.map((tool) => `${tool.name}.json`).sort());
  });

  test("the table above names every tool", () => {
    expect(promised.map(([name]) => name).sort()).toEqual(catalog.map((tool) => tool.name).sort());
  });

  test.each(promised)("%s takes the promised parameters and declares the promised result keys", (name, parameters, results) => {
    const { inputSchema, outputSchema } = describeTool(catalog.find((tool) => tool.name === name) as (typeof catalog)[number]) as Answer;
    const required = inputSchema.required ?? [];
    const writes = catalog.find((tool) => tool.name === name)?.effect !== "read";
    expect(Object.hasOwn(inputSchema.properties, "request_key"), "request_key").toBe(writes);
    expect(
      words(parameters)
        .filter((word) => !word.endsWith("?"))
        .sort(),
    ).toEqual([...required].sort());
    for (const word of words(parameters)) expect(Object.keys(inputSchema.properties), `parameter ${word}`).toContain(word.replace("?", ""));
    for (const word of words(results)) expect(Object.keys(outputSchema.properties), `result key ${word}`).toContain(word);
  });

  test.each(catalog)("$name reads well and is honest about its effect", (tool) => {
    const { description, annotations, inputSchema, outputSchema } = describeTool(tool) as Answer;
    expect(description.length).toBeLessThan(700);
    expect(toolsets).toContain(tool.toolset);
    expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect(outputSchema.type).toBe("object");
    expect(annotations.readOnlyHint).toBe(tool.effect === "read");
    expect(annotations.openWorldHint).toBe(false);
    if (tool.effect !== "read") expect(annotations.destructiveHint).toBe(tool.effect === "destructive");
    expect(annotations.idempotentHint ?? false).toBe(tool.effect === "write-idempotent");
    for (const name of tool.positional) expect(Object.keys(inputSchema.properties)).toContain(name);
  });

  test.each(catalog)("$name explains every parameter whose name alone does not", (tool) => {
    const { description, inputSchema } = describeTool(tool) as Answer;
    const unexplained = Object.entries(inputSchema.properties)
      .filter(([name, schema]) => (schema as Answer).description === undefined && (schema as Answer).enum === undefined && !new RegExp(`\\b${name}\\b`).test(description))
      .map(([name]) => name);
    expect(unexplained.filter((name) => !speakForThemselves.has(name) && !instructionsFor([tool]).includes(name))).toEqual([]);
  });

  test("siblings that a description names exist", () => {
    const names = new Set(catalog.map((tool) => tool.name));
    const mentioned = catalog.flatMap((tool) => describeTool(tool).description.match(/\b(?:state|workflow|lease|session|history|sidecar)_[a-z]+\b/g) ?? []);
    const fields = new Set(catalog.flatMap((tool) => [...Object.keys(tool.input.shape), ...Object.keys(tool.output.shape)]));
    expect(mentioned.length).toBeGreaterThan(10);
    for (const name of mentioned) expect(names.has(name) || fields.has(name) || ["lease_lost"].includes(name), name).toBe(true);
  });

  test("a tool's description is the same object every time: lists are compared by their bytes", () => {
    for (const tool of catalog) expect(describeTool(tool)).toBe(describeTool(tool));
  });
});

// biome-ignore lint/suspicious/noExplicitAny: schemas are looked into freely
type Answer = any;
