import fc from "fast-check";
import { parse as parseJsonc } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import type { Insertion } from "../../src/install/edit.ts";
import { claudeHooks } from "../../src/install/edit-hooks.ts";
import { jsonEntry } from "../../src/install/edit-json.ts";
import { markedBlock, ownFile, withOwnership } from "../../src/install/edit-text.ts";
import { tomlTable } from "../../src/install/edit-toml.ts";
import { yamlEntry } from "../../src/install/edit-yaml.ts";
import { textDiff } from "../../src/install/text-diff.ts";

const entry = { command: "node", args: ["main.js", "--profile", "coding"] };
const json = jsonEntry("f.json", "server", ["mcpServers", "holdfast"], entry);
const toml = tomlTable("f.toml", "server", ["mcp_servers", "holdfast"], entry);
const yamlMap = yamlEntry("f.yaml", "server", { key: "mcp_servers", name: "holdfast", holds: "map" }, entry);
const yamlList = yamlEntry("f.yaml", "server", { key: "mcpServers", name: "holdfast", holds: "list", preamble: { name: "Local Config", version: "1.0.0", schema: "v1" } }, entry);
const hooks = claudeHooks("settings.json", (hook) => `npx -y holdfast hook ${hook}`);
const block = markedBlock("AGENTS.md", "instructions", "## Ours\n\nDo this.\n");

/** Put in, put in again, taken out: the second time changes nothing, and everything else is as it was. */
function roundTrip(edit: Insertion, before: string): string {
  const installed = edit.add(before);
  expect(edit.add(installed)).toBe(installed);
  const removed = edit.remove(installed, before);
  expect(removed?.replaceAll(/\s+/g, "")).toBe(before.replaceAll(/\s+/g, ""));
  expect(edit.remove(before, undefined)).toBe(before);
  return installed;
}

describe("a file that is not there", () => {
  test.each([
    ["JSON", json],
    ["TOML", toml],
    ["a YAML map", yamlMap],
    ["a YAML list", yamlList],
    ["hooks", hooks],
    ["instructions", block],
  ])("%s is made, and taken out again it leaves nothing", (_name, edit) => {
    const text = edit.add(undefined);
    expect(text).toMatch(/\n$/);
    expect(edit.add(text)).toBe(text);
    expect(edit.remove(text, undefined)).toBeUndefined();
  });
});

describe("JSON", () => {
  test("keeps comments, order, indentation, line ends and a mark at the start", () => {
    const before = '\uFEFF{\r\n\t// mine\r\n\t"b": 1, /* two */\r\n\t"mcpServers": {\r\n\t\t"other": { "command": "x" }, // last\r\n\t},\r\n}\r\n';
    const installed = roundTrip(json, before);
    expect(installed.replace(/[ \t]*"holdfast": \{[^}]*\},?\r\n/, "")).toContain('\t// mine\r\n\t"b": 1, /* two */\r\n');
    expect(installed).not.toMatch(/[^\r]\n/);
    expect(parseJsonc(installed.slice(1)).mcpServers).toEqual({ other: { command: "x" }, holdfast: entry });
  });

  test("an empty object, an empty file and an empty list of servers stay what they were", () => {
    for (const before of ["{}", "{}\n", '{"mcpServers": {}}\n', '{\n  "a": [1, 2]\n}']) roundTrip(json, before);
    expect(parseJsonc(json.add("\n")).mcpServers.holdfast).toEqual(entry);
  });

  test("what the user added to our entry stays, how the server is reached does not", () => {
    const before = '{"mcpServers": {"holdfast": {"url": "http://old", "type": "http", "env": {"A": "1"}, "disabled": true}}}';
    expect(parseJsonc(json.add(before)).mcpServers.holdfast).toEqual({ ...entry, env: { A: "1" }, disabled: true });
  });

  test.each([
    ['{\n  "a": 1,\n  "b" 2\n}', /^f\.json:3:7: not valid JSON \(colon expected\); nothing was changed$/],
    ["{", /^f\.json:1:/],
    ["[]", /is not a JSON object/],
    ['"text"', /is not a JSON object/],
    ['{"mcpServers": []}', /mcpServers is not an object/],
    ['{"mcpServers": "none"}', /mcpServers is not an object/],
    ['{"mcpServers": {"a": 1}, "mcpServers": {"b": 2}}', /without changing something else/],
  ])("%j is refused in words", (text, message) => {
    expect(() => json.add(text)).toThrow(message);
  });

  test("any JSON object comes back whole", () => {
    const objects = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true });
    fc.assert(
      fc.property(objects, fc.constantFrom(undefined, 2, "\t"), (data, indent) => {
        fc.pre(data.mcpServers === undefined && !Object.hasOwn(data, "__proto__"));
        const before = JSON.stringify(data, null, indent);
        const installed = json.add(before);
        expect(parseJsonc(installed)).toEqual({ ...(parseJsonc(before) as object), mcpServers: { holdfast: entry } });
        expect(parseJsonc(json.remove(installed, before) ?? "null")).toEqual(parseJsonc(before));
      }),
      { numRuns: 60 },
    );
  });
});

describe("hooks", () => {
  const others =
    '{\n  "model": "x",\n  "hooks": {\n    "SessionStart": [\n      { "hooks": [{ "type": "command", "command": "echo hi" }] } // mine\n    ],\n    "Stop": []\n  }\n}\n';

  test("are added beside those of others, for the four events and no more", () => {
    const { hooks: installed } = parseJsonc(roundTrip(hooks, others));
    expect(Object.keys(installed)).toEqual(["SessionStart", "Stop", "PreCompact", "PostCompact", "SessionEnd"]);
    expect(installed.SessionStart[0].hooks[0].command).toBe("echo hi");
    expect(installed.SessionStart[1]).toEqual({ matcher: "startup|resume|clear|compact", hooks: [{ type: "command", command: "npx -y holdfast hook session-start", timeout: 5 }] });
    for (const [event, command] of [
      ["PreCompact", "pre-compact"],
      ["PostCompact", "post-compact"],
      ["SessionEnd", "session-end"],
    ] as const)
      expect(installed[event]).toEqual([{ hooks: [{ type: "command", command: `npx -y holdfast hook ${command}`, timeout: 5 }] }]);
  });

  test("a new command takes the place of the old one, also in a group with others", () => {
    const mixed = '{"hooks":{"PreCompact":[{"hooks":[{"type":"command","command":"a"},{"type":"command","command":"\\"/x/node\\" \\"/y/dist/main.js\\" hook pre-compact"}]}]}}';
    const { PreCompact } = parseJsonc(hooks.add(mixed)).hooks;
    expect(PreCompact).toHaveLength(1);
    expect(PreCompact[0].hooks.map(({ command }: { command: string }) => command)).toEqual(["a", "npx -y holdfast hook pre-compact"]);
    expect(parseJsonc(hooks.remove(mixed, undefined) ?? "")).toEqual({ hooks: { PreCompact: [{ hooks: [{ type: "command", command: "a" }] }] } });
  });
});

describe("TOML", () => {
  const others =
    '# my settings\nmodel = "o3"\n\n[mcp_servers.other] # theirs\ncommand = "x"\nargs = [\n  "a", # [mcp_servers.holdfast]\n]\n\n[tui]\nnotes = """\n[mcp_servers.holdfast]\n"""\n';

  test("a table is added at the end, and what looks like one inside a string or comment is left alone", () => {
    const installed = roundTrip(toml, others);
    expect(installed).toBe(`${others}\n[mcp_servers.holdfast]\ncommand = "node"\nargs = ["main.js", "--profile", "coding"]\n`);
  });

  test("an old table is replaced where it stands; the user's own names and sub-tables in it stay", () => {
    const old = '[mcp_servers.holdfast]\ncommand = "old"\nargs = [\n "x",\n]\nstartup_timeout_sec = 20\n\n[mcp_servers.holdfast.env]\nA = "1"\n\n# about tui\n[tui]\na = 1\n';
    expect(toml.add(old)).toBe(
      '[mcp_servers.holdfast]\ncommand = "node"\nargs = ["main.js", "--profile", "coding"]\nstartup_timeout_sec = 20\n\n[mcp_servers.holdfast.env]\nA = "1"\n\n# about tui\n[tui]\na = 1\n',
    );
    expect(toml.remove(old, undefined)?.trim()).toBe("# about tui\n[tui]\na = 1");
  });

  test.each([
    ['a = "x\n', /^f\.toml:1: not valid TOML \(a string is not closed\)/],
    ["a = 1\nb = [1,\n", /a bracket is not closed/],
    ["[open\n", /name is not closed/],
    ["just words\n", /^f\.toml:1: not valid TOML/],
    ["a =\n", /a name without a value/],
    ["a = 1 b = 2 ]\n", /closing bracket has no opening one/],
    ["a = just words\n", /^f\.toml:1: not valid TOML \(a value that is neither/],
    ["a = 1\na = 2\n", /a name is defined twice/],
    ["[x]\na = 1\n[x]\n", /a table is defined twice/],
    ['mcp_servers = { holdfast = { command = "x" } }\n', /^f\.toml:1: mcp_servers\.holdfast is written inside another value/],
    ['[mcp_servers]\nholdfast = { command = "x" }\n', /^f\.toml:2: .*inside another value/],
    ["[mcp_servers.holdfast]\na=1\n[\"mcp_servers\".'holdfast']\nb=1\n", /is defined twice/],
  ])("%j is refused in words", (text, message) => {
    expect(() => toml.add(text)).toThrow(message);
  });
});

test.each(["a = 1979-05-27 07:32:00Z\n", "a = -0x1F_ff\nb = +inf\nc = 1e-9\nd = 07:32:00.5\n", "[[a]]\n[a.b]\nc = 1\n[[a]]\n[a.b]\nc = 1\n", "[a]\nb = 1\n[c]\nb = 1\n"])(
  "TOML as valid as %j is taken",
  (before) => {
    roundTrip(toml, before);
  },
);

describe("YAML", () => {
  const map = "# hermes\nmodel: 'x'   # quoted so\n\nmcp_servers:\n    time:\n        command: \"uvx\"\n        args: [ a,  b ]\n\n# after\nlast: |\n  mcp_servers: no\n";
  const list = "name: Mine\nversion: 1.0.0\nschema: v1\nmcpServers:\n- name: other # theirs\n  command: x\nmodels:\n  - name: holdfast\n";

  test("a map gets one more entry in its own indentation, and nothing else moves", () => {
    const installed = roundTrip(yamlMap, map);
    expect(installed).toContain("        args: [ a,  b ]\n    holdfast:\n      command: node\n      args:\n        - main.js\n");
    expect(installed.replace(/ {4}holdfast:\n(?: {6}.*\n)+/, "")).toBe(map);
    expect(parseYaml(installed).mcp_servers.holdfast).toEqual(entry);
  });

  test("a list gets one more item", () => {
    const installed = roundTrip(yamlList, list);
    expect(parseYaml(installed).mcpServers).toEqual([
      { name: "other", command: "x" },
      { name: "holdfast", ...entry },
    ]);
    expect(installed).toContain("- name: other # theirs\n  command: x\n- name: holdfast\n");
  });

  test.each(["model: x\n", "model: x", "mcp_servers: {}\n", "mcp_servers: {a: {command: x}}\n", "mcp_servers:\n", "a: &x {b: 1}\nc: *x\n", "---\na: 1\n"])(
    "%j keeps its data",
    (before) => {
      const data = parseYaml(before);
      const installed = yamlMap.add(before);
      expect(parseYaml(installed)).toEqual({ ...data, mcp_servers: { ...data.mcp_servers, holdfast: entry } });
      expect(yamlMap.add(installed)).toBe(installed);
      const removed = parseYaml(yamlMap.remove(installed, before) ?? "");
      expect({ mcp_servers: undefined, ...removed, ...(data.mcp_servers === null ? { mcp_servers: null } : {}) }).toEqual({ mcp_servers: undefined, ...data });
    },
  );

  test("an entry that is there is replaced; what the user added to it stays", () => {
    const old = "mcp_servers:\n  holdfast:\n    url: http://old\n    timeout: 20\n  other: {command: x}\n";
    expect(parseYaml(yamlMap.add(old)).mcp_servers).toEqual({ other: { command: "x" }, holdfast: { ...entry, timeout: 20 } });
  });

  test.each([
    ["a: [1\n", /^f\.yaml:\d+: not valid YAML/],
    ["a: 1\na: 2\n", /not valid YAML/],
    ["- a\n", /is not a YAML mapping/],
    ["mcp_servers: 5\n", /mcp_servers is not a map/],
    ["a: 1\n---\nb: 2\n", /not valid YAML/],
  ])("%j is refused in words", (text, message) => {
    expect(() => yamlMap.add(text)).toThrow(message);
  });
});

describe("an entry of ours that the user has written into", () => {
  const commented = [
    [
      "JSON",
      json,
      '{\n  "mcpServers": {\n    "holdfast": {\n      // why it is here\n      "command": "old", // moved\n      // needed at work\n      "env": { "A": "1" }, // set by me\n    },\n  },\n}\n',
      ["// why it is here", '// needed at work\n      "env": { "A": "1" }, // set by me'],
    ],
    [
      "TOML",
      toml,
      '[mcp_servers.holdfast] # mine\n# why it is here\ncommand = "old"\nargs = []\n# needed at work\nstartup_timeout_sec = 20 # slow\n\n[tui]\n',
      ["[mcp_servers.holdfast] # mine\n# why it is here\n", "# needed at work\nstartup_timeout_sec = 20 # slow\n\n[tui]"],
    ],
    [
      "a YAML map",
      yamlMap,
      "mcp_servers:\n  holdfast:\n    # why it is here\n    url: http://old\n    # needed at work\n    env: {A: '1'} # set by me\n  other: {command: x}\n",
      ["holdfast:\n    # why it is here\n", "# needed at work\n    env: {A: '1'} # set by me\n", "  other: {command: x}\n"],
    ],
    [
      "a YAML list",
      yamlList,
      "mcpServers:\n  - name: holdfast # ours\n    command: old\n    # needed at work\n    env: {A: '1'}\n  - name: other\n    command: x\n",
      ["- name: holdfast # ours\n", "    # needed at work\n    env: {A: '1'}\n", "  - name: other\n    command: x\n"],
    ],
  ] as const;

  test.each(commented)("%s: is changed member by member, and comments stay", (_name, edit, before, kept) => {
    const installed = edit.add(before);
    for (const text of kept) expect(installed).toContain(text);
    expect(installed).not.toMatch(/"old"|: old|http:\/\/old/);
    expect(installed).toContain("main.js");
    expect(edit.add(installed)).toBe(installed);
    expect(edit.remove(installed, undefined) ?? "").not.toContain("main.js");
  });
});

describe("text", () => {
  test("a block is put at the end of a user's file, and exactly it goes again", () => {
    for (const before of ["# Mine\n", "# Mine", "# Mine\r\n\r\ntext\r\n"]) {
      const installed = roundTrip(block, before);
      expect(installed.startsWith(before)).toBe(true);
      expect(installed).toMatch(/<!-- holdfast:begin -->\r?\n## Ours\r?\n\r?\nDo this\.\r?\n<!-- holdfast:end -->\r?\n$/);
    }
    const inTheMiddle = "# A\n\n<!-- holdfast:begin -->\nold\n<!-- holdfast:end -->\n\n# B\n";
    expect(block.add(inTheMiddle)).toBe(inTheMiddle.replace("\nold\n", "\n## Ours\n\nDo this.\n"));
    expect(() => block.add("<!-- holdfast:begin -->\n")).toThrow(/must each occur once/);
  });

  test("a file of our own is not put over one of the user's, and goes only while it says that it is ours", () => {
    const own = ownFile("SKILL.md", "skill", withOwnership("---\nname: x\n---\n\n# Body\n"));
    const text = own.add(undefined);
    expect(text).toMatch(/^---\nname: x\n---\n\n<!-- Written by `holdfast install`.*-->\n\n# Body\n$/);
    expect(own.add(`${text}more`)).toBe(text);
    expect(() => own.add("# The user's own\n")).toThrow(/was not written by Holdfast/);
    expect(own.remove(text, undefined)).toBeUndefined();
    expect(own.remove("# The user's own\n", undefined)).toBe("# The user's own\n");
  });

  test("a difference shows what goes, what comes and a little around it", () => {
    expect(textDiff("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nc\nX\ne\nf\ng\n")).toBe("  …\n  b\n  c\n- d\n+ X\n  e\n  f\n  …");
    expect(textDiff(undefined, "a\nb\n")).toBe("+ a\n+ b");
    expect(textDiff("a\nb\n", undefined)).toBe("- a\n- b");
  });
});
