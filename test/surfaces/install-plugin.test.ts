import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { agentTexts, skillFile } from "../../src/install/agent-texts.ts";
import { hookGroups } from "../../src/install/edit-hooks.ts";
import { version } from "../../src/kernel/version.ts";
import { profiles, selectTools } from "../../src/tools/profiles.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const textsOf = (profile?: string) => agentTexts(selectTools({ profile }).map(({ name }) => name));
const { skills, instructions = "" } = textsOf();
const readJson = (...path: string[]) => JSON.parse(readFileSync(join(root, ...path), "utf8"));

describe("the Claude Code plugin", () => {
  test.each(skills)("its skill $name is the one that install writes", async (skill) => {
    await expect(skillFile(skill)).toMatchFileSnapshot(join(root, "plugin", "skills", skill.name, "SKILL.md"));
  });

  test("has the three skills, and four hooks only", () => {
    expect(skills.map(({ name }) => name)).toEqual(["checkpoint", "knowledge", "handoff"]);
    const { hooks } = readJson("plugin", "hooks", "hooks.json");
    const groups = hookGroups((hook) => `holdfast hook ${hook} 2>/dev/null || true`);
    expect(hooks).toEqual(Object.fromEntries(Object.entries(groups).map(([event, group]) => [event, [group]])));
    expect(Object.keys(hooks)).toEqual(["SessionStart", "PreCompact", "PostCompact", "SessionEnd"]);
  });

  test("starts the installed command, and says its version", () => {
    expect(readJson("plugin", ".mcp.json")).toEqual({ mcpServers: { holdfast: { command: "holdfast", args: [] } } });
    expect(readJson("plugin", ".claude-plugin", "plugin.json")).toMatchObject({ name: "holdfast", version });
    expect(readJson(".claude-plugin", "marketplace.json").plugins).toMatchObject([{ name: "holdfast", source: "./plugin" }]);
  });
});

test("no file that is meant to be committed or shared runs a package by a name that anyone could register", () => {
  const files = ["plugin/.mcp.json", "plugin/hooks/hooks.json", "plugin/README.md", "src/install/server-launch.ts", "src/install/clients.ts", "docs/clients.md"];
  for (const file of files) expect(readFileSync(join(root, file), "utf8"), file).not.toMatch(/npx["', -]+(y["', ]+)?holdfast/);
});

describe("the texts for agents", () => {
  // Words in code marks that are neither a tool nor a parameter: values, names and examples.
  const otherWords = new Set(["done", "failed", "claim_lost", "deploy", "migrations", "3d", "deploy-needs-vpn", "workflow/<run_id>"]);

  const told = profiles.flatMap((profile) => {
    const { skills, instructions } = textsOf(profile);
    const bodies = skills.map((skill) => [profile, skill.name, `${skill.description}\n${skill.body}`] as const);
    return [...bodies, ...(instructions === undefined ? [] : [[profile, "instructions", instructions] as const])];
  });

  test.each(told)("profile %s: %s names only tools that it offers, and their parameters", (profile, _name, text) => {
    const tools = selectTools({ profile });
    const names = new Set(tools.map(({ name }) => name));
    const parameters = new Set(tools.flatMap(({ input }) => Object.keys(input.shape)));
    const marked = [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word as string);
    // A checker that finds no marks passes everything.
    expect(marked.length).toBeGreaterThan(3);
    const unknown = marked.filter((word) => !names.has(word) && !parameters.has((word.split(":")[0] as string).trim()) && !otherWords.has(word));
    expect(unknown).toEqual([]);
    // Also those that stand in plain words.
    const every = selectTools({ profile: "all" }).flatMap(({ name }) => (name.includes("_") ? [name] : []));
    expect(every.filter((name) => !names.has(name) && new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });

  test("a profile gets the skills and habits that its tools allow, and lists keep their numbers", () => {
    const named = (profile: string) => textsOf(profile).skills.map(({ name }) => name);
    expect([named("all"), named("coding"), named("coordination"), named("goldfish"), named("sage"), named("agentcheckpoint")]).toEqual([
      ["checkpoint", "knowledge", "handoff"],
      ["checkpoint", "handoff"],
      ["handoff"],
      ["checkpoint"],
      ["knowledge"],
      [],
    ]);
    expect(textsOf("agentcheckpoint").instructions).toBeUndefined();
    expect(textsOf("goldfish").instructions).toMatch(/call `checkpoint` once with `action: "restore"`/);
    for (const profile of profiles)
      for (const { body } of textsOf(profile).skills)
        for (const list of body.split(/\n(?!\d+\. )/).map((part) => part.split("\n").filter((line) => /^\d+\. /.test(line))))
          expect(list.map((line) => Number.parseInt(line, 10))).toEqual(list.map((_, i) => i + 1));
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
