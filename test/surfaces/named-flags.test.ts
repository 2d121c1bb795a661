import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { errorCodes } from "../../src/kernel/errors.ts";
import { settingFlags } from "../../src/settings.ts";
import { commands } from "../../src/surfaces/cli/commands.ts";
import { commonFlags, flagsOf } from "../../src/surfaces/cli/help.ts";
import { catalog } from "../../src/tools/catalog.ts";

const src = fileURLToPath(new URL("../../src/", import.meta.url));
/** Files that call Git name its flags. */
const isOurs = (path: string): boolean => path.endsWith(".ts") && !path.startsWith("domain/workspace/");
const files = readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter(isOurs)
  .map((path) => ({ path, text: readFileSync(`${src}${path}`, "utf8") }));

const flags = new Set([...settingFlags, ...commonFlags, ...commands.flatMap((command) => flagsOf(command, []))].flatMap(({ name }) => [name, `no-${name}`]));
/** Flags of other programs, and forms of a flag that messages explain. */
const others = new Set(["prefix", "exec", "heap-growing-percent", "no", "switch", "no-switch"]);
/** Tools, and what may begin like one: their fields, and error codes. */
const names = new Set([...catalog.flatMap(({ name, input, output }) => [name, ...Object.keys(input.shape), ...Object.keys(output.shape)]), ...Object.keys(errorCodes)]);
const prefixes = ["state", "workflow", "lease", "session", "history", "sidecar"];

/** Flags and tools in the text that do not exist. */
function unknownNames(text: string): string[] {
  const named = [...text.matchAll(/(?<![\w-])--([a-z][a-z-]*[a-z])(?![\w*])/g)].map(([, name = ""]) => name);
  const strings = [...text.matchAll(/(["`])((?:(?!\1|\\|\n).|\\.)*)\1/g)].map(([, , inner = ""]) => inner).filter((inner) => inner.includes(" "));
  const tools = strings.flatMap((inner) => [...inner.matchAll(new RegExp(`\\b(?:${prefixes.join("|")})_[a-z]+\\b(?!\\.db)`, "g"))].map(([name]) => name));
  return [...named.filter((name) => !flags.has(name) && !others.has(name)).map((name) => `--${name}`), ...tools.filter((name) => !names.has(name))];
}

describe("what messages and help texts tell the reader to use exists", () => {
  test("in every file", () => {
    expect(files.flatMap(({ path, text }) => unknownNames(text).map((name) => `${path}: ${name}`))).toEqual([]);
  });

  test("and a renamed flag or tool is found", () => {
    expect(files.length).toBeGreaterThan(500);
    expect(unknownNames('throw invalidInput("store", "pass --shop or call lease_obtain first");')).toEqual(["--shop", "lease_obtain"]);
    expect(unknownNames('hint: "Set HOLDFAST_STORE or pass --store; then lease_acquire."')).toEqual([]);
  });
});
