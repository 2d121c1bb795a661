import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Script } from "../../src/engines/redis/lua-script.ts";
import { luaScript, scriptArguments } from "../../src/engines/redis/lua-script.ts";
import * as scripts from "../../src/engines/redis/redis-scripts.ts";
import { jumpEvery } from "../../src/ledger/log-position.ts";
import { systemWriter } from "../../src/store/store.ts";

const folder = fileURLToPath(new URL("../../src/engines/redis/scripts/", import.meta.url));
const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(folder + name, "utf8") }));
const all = Object.entries(scripts).map(([name, script]) => ({ name, script: script as Script }));

test("every file of the scripts' folder was read, and is used by a script", () => {
  expect(files.length).toBeGreaterThan(20);
  // By a line of its own that has no name to be resolved.
  const lineOf = (text: string): string => text.split("\n").find((line) => line !== "" && !/\b(ARG|CONST)\./.test(line)) ?? text;
  expect(files.filter(({ text }) => !all.some(({ script }) => script.text.includes(lineOf(text)))).map(({ name }) => name)).toEqual([]);
});

describe.each(files)("$name", ({ text }) => {
  test("takes its arguments by name: a number would be wrong as soon as one is added before it", () => {
    expect(text.match(/ARGV\[\d+/g)).toBe(null);
  });

  test("says nothing in numbers that JavaScript decides", () => {
    const own = text.replaceAll(/--.*|'[^']*'/g, "");
    expect(own.match(/\b(128|255|256|1e8|\d{6,})\b/g)).toBe(null);
  });
});

test.each(all)("$name uses each of its own arguments", ({ script: { text, names, basis } }) => {
  const before = { none: 0, read: 2, write: 5 }[basis];
  expect(names.filter((_, i) => !text.includes(`ARGV[${before + i + 1}]`))).toEqual([]);
  expect(text).not.toMatch(/\b(ARG|CONST)\./);
});

test("names are numbered behind the arguments that every script of the kind has; the rest begins behind them", () => {
  const script = luaScript("return {ARG.time, ARG.first, ARG.second, ARG.rest, CONST.jump_every, CONST.system_writer}\n", { basis: "read", names: ["second", "first"] });
  expect(script.text).toContain(`return {ARGV[1], ARGV[4], ARGV[3], 5, ${jumpEvery}, "${systemWriter}"}\n`);
  expect(scriptArguments(script, { first: "a", second: "b" }, ["c", "d"])).toEqual(["b", "a", "c", "d"]);
});

test("a name that there is none of is found out when the script is made", () => {
  expect(() => luaScript("return CONST.commit_row_max\n", { basis: "read" })).toThrow("the constant commit_row_max");
  expect(() => luaScript("return ARG.home\n", { basis: "read" })).toThrow("the argument home");
});
