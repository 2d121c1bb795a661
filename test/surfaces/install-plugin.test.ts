import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { instructions, skillFile, skills } from "../../src/install/agent-texts.ts";
import { hookGroups } from "../../src/install/edit-hooks.ts";
import { version } from "../../src/kernel/version.ts";
import { catalog } from "../../src/tools/catalog.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const readJson = (...path: string[]) => JSON.parse(readFileSync(join(root, ...path), "utf8"));

describe("the Claude Code plugin", () => {
  test.each(skills)("its skill $name is the one that install writes", async (skill) => {
    await expect(skillFile(skill)).toMatchFileSnapshot(join(root, "plugin", "skills", skill.name, "SKILL.md"));
  });

  test("has the three skills, and two hooks only", () => {
    expect(skills.map(({ name }) => name)).toEqual(["checkpoint", "knowledge", "handoff"]);
    const { hooks } = readJson("plugin", "hooks", "hooks.json");
    const groups = hookGroups((hook) => `(holdfast hook ${hook} || npx -y holdfast hook ${hook}) 2>/dev/null || true`);
    expect(hooks).toEqual(Object.fromEntries(Object.entries(groups).map(([event, group]) => [event, [group]])));
    expect(Object.keys(hooks)).toEqual(["SessionStart", "PreCompact"]);
  });

  test("starts the published package, and says its version", () => {
    expect(readJson("plugin", ".mcp.json")).toEqual({ mcpServers: { holdfast: { command: "npx", args: ["-y", "holdfast"] } } });
    expect(readJson("plugin", ".claude-plugin", "plugin.json")).toMatchObject({ name: "holdfast", version });
    expect(readJson(".claude-plugin", "marketplace.json").plugins).toMatchObject([{ name: "holdfast", source: "./plugin" }]);
  });
});

describe("what agents are told", () => {
  const names = new Set(catalog.map(({ name }) => name));
  const parameters = new Set(catalog.flatMap(({ input }) => Object.keys(input.shape)));
  // Words in code marks that are neither a tool nor a parameter: values, names and examples.
  const otherWords = new Set(["done", "failed", "claim_lost", "deploy", "migrations", "3d", "deploy-needs-vpn", "workflow/<run_id>"]);

  test.each([...skills.map(({ name, body }) => [name, body] as const), ["instructions", instructions] as const])("%s names only tools and parameters that exist", (_name, text) => {
    const marked = [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word as string);
    expect(marked.length).toBeGreaterThan(3);
    const unknown = marked.filter((word) => !names.has(word) && !parameters.has((word.split(":")[0] as string).trim()) && !otherWords.has(word));
    expect(unknown).toEqual([]);
  });

  test("a skill says in one line when to use it, and fits where clients cut", () => {
    for (const { description, body } of skills) {
      expect(description).toMatch(/^[^\n:"]{50,1024}$/);
      expect(description).toContain("Use ");
      expect(body.split("\n").length).toBeLessThan(60);
    }
    expect(instructions.length).toBeLessThan(2_000);
  });
});
