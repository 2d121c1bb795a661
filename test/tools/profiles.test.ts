import { describe, expect, test } from "vitest";
import { estimateTokens } from "../../src/kernel/tokens.ts";
import { instructionsFor } from "../../src/surfaces/mcp/instructions.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { descriptionsOf } from "../../src/tools/describe-tool.ts";
import { profiles, selectTools } from "../../src/tools/profiles.ts";
import { tokenCost } from "../../src/tools/token-cost.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { toolsets } from "../../src/tools/tool.ts";

/** The tokens of the complete list as sent, including parts that only programs use: titles, output schemas, annotations. */
const listTokenCost = (tools: readonly Tool[], instructions = ""): number => estimateTokens(instructions) + estimateTokens(JSON.stringify(descriptionsOf(tools)));

const namesOf = (selection: Parameters<typeof selectTools>[0]): string[] => selectTools(selection).map(({ name }) => name);

describe("profiles", () => {
  test("all leaves nothing out", () => {
    expect(selectTools({ profile: "all" })).toEqual(catalog);
  });

  test("the default is one tool for each thing to do, and none of the families that came from elsewhere", () => {
    expect(selectTools()).toEqual(selectTools({ profile: "default" }));
    const offered = selectTools();
    expect(offered.length).toBeLessThanOrEqual(19);
    const families = new Set(offered.map(({ toolset }) => toolset));
    for (const family of ["agentcheckpoint", "session", "research", "admin"]) expect(families).not.toContain(family);
    for (const family of ["state", "workflow", "lease", "effects", "journal", "knowledge", "resume"]) expect(families).toContain(family);
  });

  test("a toolset that is requested by name comes whole, unless a profile is named too", () => {
    expect(namesOf({ toolsets: ["session"] })).toEqual(["session_save", "session_restore"]);
    expect(namesOf({ toolsets: ["workflow"] })).toContain("workflow_status");
    expect(() => selectTools({ profile: "default", toolsets: ["session"] })).toThrow("no tool is in the profile default and in the toolsets session");
  });

  test("agentcheckpoint is exactly that system's five tools", () => {
    expect(namesOf({ profile: "agentcheckpoint" })).toEqual(["get_state", "set_state", "force_set_state", "list_state", "delete_state"]);
  });

  test("sidecar is exactly that system's nineteen tools", () => {
    expect(namesOf({ profile: "sidecar" }).sort()).toEqual(
      [
        "state_set state_get state_delete state_list",
        "workflow_create workflow_discover workflow_claim workflow_checkpoint workflow_resume workflow_status workflow_list",
        "lease_acquire lease_release lease_renew session_save session_restore history_log sidecar_health sidecar_reset",
      ]
        .join(" ")
        .split(" ")
        .sort(),
    );
  });

  test("goldfish is exactly that system's one tool", () => {
    expect(namesOf({ profile: "goldfish" })).toEqual(["checkpoint"]);
  });

  test("sage is exactly that system's five tools", () => {
    expect(namesOf({ profile: "sage" })).toEqual(["save_checkpoint", "list_checkpoints", "load_checkpoint", "save_knowledge", "recall_knowledge"]);
  });

  test("coordination can share keys, lock, and hand work over; coding can survive a crash", () => {
    expect(namesOf({ profile: "coordination" })).toEqual(
      expect.arrayContaining(["state_set", "state_commit", "lease_acquire", "lease_renew", "lease_release", "workflow_claim", "workflow_finish"]),
    );
    expect(namesOf({ profile: "coding" })).toEqual(
      expect.arrayContaining(["checkpoint", "resume", "state_set", "state_get", "session_save", "session_restore", "workflow_checkpoint", "workflow_resume"]),
    );
  });

  test("every tool a profile names exists", () => {
    expect(namesOf({ profile: "coding" })).toHaveLength(14);
    expect(namesOf({ profile: "coordination" })).toHaveLength(15);
  });

  test("toolsets narrow it, in the catalog's order", () => {
    expect(namesOf({ toolsets: ["session", "lease"] })).toEqual(["lease_acquire", "lease_release", "lease_renew", "session_save", "session_restore"]);
    expect(namesOf({ profile: "coding", toolsets: ["session"] })).toEqual(["session_save", "session_restore"]);
    expect(toolsets.flatMap((toolset) => namesOf({ toolsets: [toolset] })).sort()).toEqual(catalog.map(({ name }) => name).sort());
  });

  test("goldfish read-only is refused: its one tool can write", () => {
    expect(() => selectTools({ profile: "goldfish", readOnly: true })).toThrow("no tool is in the profile goldfish and read-only");
  });

  test.each(profiles.filter((profile) => profile !== "goldfish"))("read-only leaves only tools of %s that change nothing", (profile) => {
    const left = selectTools({ profile, readOnly: true });
    expect(left.length).toBeGreaterThan(0);
    expect(left).toEqual(selectTools({ profile }).filter(({ effect }) => effect === "read"));
  });

  test.each([
    [{ profile: "everything" }, "profile: must be one of default, all, coding, coordination, agentcheckpoint, sidecar, goldfish, sage"],
    [
      { toolsets: ["state", "kv"] },
      'tools: "kv" is unknown; must be some of state, agentcheckpoint, workflow, lease, effects, session, history, journal, research, knowledge, resume, admin',
    ],
    [{ profile: "agentcheckpoint", toolsets: ["lease"] }, "tools: no tool is in the profile agentcheckpoint and in the toolsets lease"],
  ])("%j is refused: %s", (selection, message) => {
    expect(() => selectTools(selection)).toThrow(message);
  });
});

describe("descriptions", () => {
  /** `checkpoint` and `resume` are ordinary words too: they name a tool where a pointer or a call stands. */
  const named = (text: string): string[] =>
    catalog.map(({ name }) => name).filter((name) => (name.includes("_") ? new RegExp(`\\b${name}\\b`) : new RegExp(`: ${name}\\b|\\bcall ${name}\\b`)).test(text));
  const selections: Parameters<typeof selectTools>[0][] = [
    ...profiles.map((profile) => ({ profile })),
    // Goldfish's one tool can write.
    ...profiles.filter((profile) => profile !== "goldfish").map((profile) => ({ profile, readOnly: true })),
    ...toolsets.map((toolset) => ({ toolsets: [toolset] })),
  ];

  test.each(selections)("%j: no tool that is not offered is named", (selection) => {
    const tools = selectTools(selection);
    const offered = new Set(tools.map(({ name }) => name));
    for (const { name, description } of descriptionsOf(tools))
      expect(
        named(description).filter((other) => !offered.has(other)),
        `${name}: ${description}`,
      ).toEqual([]);
    expect(named(instructionsFor(tools)).filter((other) => !offered.has(other))).toEqual([]);
  });

  test("with everything offered they point at each other", () => {
    const pointed = descriptionsOf(catalog).flatMap(({ name, description }) => named(description).filter((other) => other !== name));
    expect(new Set(pointed).size).toBeGreaterThan(12);
    expect(pointed).toContain("checkpoint");
  });

  test("a sentence about another tool is a pointer: the text itself names none", () => {
    for (const { name, description } of catalog)
      expect(
        named(description).filter((other) => other !== name),
        name,
      ).toEqual([]);
  });
});

describe("the token budget", () => {
  const costOf = (profile: string): number => tokenCost(selectTools({ profile }), instructionsFor(selectTools({ profile })));

  test.each(["coding", "coordination"])("what a model reads of %s, instructions included, is at most 2,500 tokens", (profile) => {
    expect(costOf(profile)).toBeLessThanOrEqual(2_500);
  });

  test("the default costs at most 3,300", () => {
    expect(costOf("default")).toBeLessThanOrEqual(3_300);
  });

  test("the whole list of all tools as it travels, instructions included, is at most 7,500 tokens; what a model reads of it far less", () => {
    expect(listTokenCost(catalog, instructionsFor(catalog))).toBeLessThanOrEqual(7_500);
    expect(costOf("all")).toBeLessThanOrEqual(5_200);
  });

  test("no tool is a glutton", () => {
    // Nearly all of these two are parameters and fixed words that callers of the replaced systems send.
    for (const tool of catalog) expect(listTokenCost([tool]), tool.name).toBeLessThanOrEqual(["save_checkpoint", "checkpoint"].includes(tool.name) ? 515 : 450);
  });

  /** Texts of the kinds we measure, counted with the tokenizers o200k_base and that of Claude 2. */
  test.each([
    [
      '{"type":"object","properties":{"key":{"type":"string"},"value":{},"ttl_seconds":{"type":"number"},"expected_version":{"type":"integer"},"lease":{"type":"object","properties":{"resource_id":{"type":"string"},"token":{"type":"integer"}},"required":["resource_id","token"]},"agent_id":{"type":"string"}},"required":["key","value"],"additionalProperties":false}',
      85,
      89,
    ],
    [
      "Take exclusive hold of a name; the holder calling again extends it. Returns a fencing token that grows with every new holder: pass it as lease with writes, so that a stale holder cannot write. Held by another: acquired:false with holder and expires_at; wait_seconds waits in line for it.",
      60,
      65,
    ],
  ])("the estimate lies at most 25 percent above a real tokenizer's count and never far below: %s", (text, o200k, claude) => {
    for (const counted of [o200k, claude]) {
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(counted * 0.97);
      expect(estimateTokens(text)).toBeLessThanOrEqual(counted * 1.25);
    }
  });
});
