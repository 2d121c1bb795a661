import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { startProgram } from "./support/cli-process.ts";
import { sharedBuild } from "./support/shared-builds.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const page = readFileSync(new URL("../docs/tutorial.md", import.meta.url), "utf8");
const blocks = Array.from(page.matchAll(/^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms), ([, commands = "", output = ""]) => ({ commands, output }));
const separator = "--- end of block ---";

/** What differs from run to run, as it stands in the page, and what may stand there instead. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/^…$/, "[^]*?"],
  [/…/, ".*"],
  [/\bsam\b/, escaped(userInfo().username)],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+Z)?/, "\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+Z)?"],
  [/\bexpires_at: [\d.]+/, "expires_at: [\\d.]+"],
  [/\bin (?:\d+[hms] ?)+\b|\b\d+s ago\b|\bnow\b(?!:)/, "(?:in (?:\\d+[hms] ?)+|(?:\\d+[hms] ?)+ ago|now)"],
  [/ {2,}/, " +"],
];

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** A line of the page as an expression: text stands for itself, except where it varies. */
function expressionOf(line: string): string {
  const anyVarying = new RegExp(varying.map(([pattern]) => `(${pattern.source})`).join("|"), "g");
  let expression = "";
  let end = 0;
  for (const match of line.matchAll(anyVarying)) {
    const [, replacement = ""] = varying[match.slice(1).findIndex((group) => group !== undefined)] ?? [];
    expression += escaped(line.slice(end, match.index)) + replacement;
    end = match.index + match[0].length;
  }
  return expression + escaped(line.slice(end));
}

test("the commands of the tutorial print what it shows", async () => {
  expect(blocks.length).toBeGreaterThan(12);
  const folder = await temporaryFolder();
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "holdfast"), `#!/bin/sh\nexec "${process.execPath}" "${await sharedBuild("executable")}" "$@"\n`);
  chmodSync(join(bin, "holdfast"), 0o755);
  const script = blocks.map(({ commands }) => `${commands}echo '${separator}'\n`).join("");
  const environment = { HOME: folder, PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter) };
  const { code, stdout } = await startProgram("sh", ["-c", `exec 2>&1\n${script}`], { cwd: folder, env: environment }).finished;
  const printed = stdout.split(`${separator}\n`);
  for (const [index, { commands, output }] of blocks.entries()) {
    const expected = output.split("\n").slice(0, -1).map(expressionOf).join("\n");
    expect(printed[index], commands).toMatch(new RegExp(`^${expected}\n?$`));
  }
  expect({ code, blocks: printed.length - 1 }).toEqual({ code: 0, blocks: blocks.length });
});
