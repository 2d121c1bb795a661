import { describe, expect, test } from "vitest";
import { errorCodes } from "../../src/kernel/errors.ts";
import { commands } from "../../src/surfaces/cli/commands.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { descriptionOf, fullSchemas } from "../../src/tools/describe-tool.ts";
import { openCommandLine } from "../support/cli-host.ts";

const groups = [...new Set(commands.filter(({ path }) => path.length > 1).map(({ path }) => path[0] as string))];
const pages: readonly (readonly string[])[] = [["--help"], ["help", "flags"], ...groups.map((group) => [group, "--help"]), ...commands.map(({ path }) => [...path, "--help"])];

/** Names of arguments and result fields: what a caller of a tool writes and reads, but nobody at a prompt does. */
const namesIn = (schema: unknown): string[] => {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {} } = schema as { properties?: Record<string, unknown> };
  return [...Object.keys(properties), ...Object.values(schema).flatMap(namesIn), ...Object.values(properties).flatMap(namesIn)];
};
const fields = [...new Set(catalog.flatMap((tool) => Object.values(fullSchemas(tool)).flatMap(namesIn)))];
const toolNames = catalog.map(({ name }) => name).filter((name) => name.includes("_"));
const operands = commands.flatMap(({ operandMeanings = [] }) => operandMeanings.map(({ name }) => name));
const choices = commands.flatMap(({ flags }) => flags.flatMap((flag) => flag.choices ?? []));
const allowed = new Set<string>([...operands, ...choices, ...Object.keys(errorCodes)]);

/** Examples are run by another test. JSON that the shell passes on as it is, such as `{key, version}`, has fields by nature. */
const proseOf = (help: string): string =>
  help
    .replace(/^Usage:.*$/m, "")
    .replace(/\nExamples:\n[\s\S]*?\n\n/, "\n")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/`[^`]*`|\{[^{}]*\}/g, "");

/** Each word that is written for callers of tools. */
function toolSyntaxIn(help: string): string[] {
  const prose = proseOf(help);
  return [
    ...toolNames.filter((name) => new RegExp(`\\b${name}\\b`).test(prose)),
    ...Array.from(prose.matchAll(/\b\w+:(?:true|false|null)\b/g), ([words]) => words),
    ...Array.from(prose.matchAll(/(?:-?\b\w+) = \w+/g), ([words]) => words),
    // A field as a label: at the beginning of a clause, where English has a capital letter or another word before the colon.
    ...Array.from(prose.matchAll(/(?<=[.;(] |\()([a-z][A-Za-z_]*): ?\S/g)).flatMap(([words, name]) => (fields.includes(name as string) ? [words] : [])),
    ...Array.from(prose.matchAll(/(?<![\w/<-])[a-z]+(?:_[a-z]+)+\b/g)).flatMap(([word]) => (fields.includes(word) && !allowed.has(word) ? [word] : [])),
  ];
}

describe("help", () => {
  test.each(pages)("%s %s %s is written for the command line, and fits 80 columns", async (...words) => {
    const { code, stdout } = await openCommandLine({ terminal: true, columns: 80, environment: { NO_COLOR: "1" } }).run(words.filter((word) => word !== undefined));
    expect(code).toBe(0);
    expect(toolSyntaxIn(stdout)).toEqual([]);
    // Usage lines and examples are printed as they would be typed.
    expect(stdout.split("\n").filter((line) => line.length > 80 && !/^(Usage:| {2}(holdfast|source) )/.test(line))).toEqual([]);
    expect(stdout).not.toMatch(/Usage:.*\S {2,}\S/);
  });

  test("is not a tool's description", () => {
    const descriptions = new Map(catalog.map((tool) => [tool.name, descriptionOf(tool)]));
    expect(commands.filter(({ alias, details }) => alias !== undefined && details === descriptions.get(alias)).map(({ path }) => path.join(" "))).toEqual([]);
  });

  test.each(["values:true returns entries", "found:false when missing", "List keys. limit: default 100", "0 = create only", "See state_list.", "after wait_seconds"])(
    "is checked: %s",
    (text) => {
      expect(toolSyntaxIn(`A key.\n\nUsage: holdfast get <key>\n\n${text}\n`)).not.toEqual([]);
    },
  );

  test("may name operands, error codes and the fields of JSON arguments", () => {
    expect(toolSyntaxIn("Usage: holdfast x <resource_id>\n\nFails with lease_lost. A JSON list of {key, version: 1}. For example deploy:17.\n")).toEqual([]);
  });
});
