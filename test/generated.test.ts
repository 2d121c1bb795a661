import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "holdfast-docs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const generate = (...args: string[]) => spawnSync(process.execPath, ["scripts/generate.mjs", ...args], { cwd: root, encoding: "utf8" });

test("the generated pages are those the code gives", () => {
  const { status, stdout } = generate("--check");
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});

test("a stale page is found, and the difference is shown", () => {
  for (const page of ["tools.md", "cli.md", "configuration.md"]) cpSync(join(root, "docs", page), join(folder, page));
  const path = join(folder, "cli.md");
  writeFileSync(path, readFileSync(path, "utf8").replace("| 0 | done |", "| 0 | undone |"));
  const { status, stdout } = generate("--check", "--docs", folder);
  expect(status).toBe(1);
  expect(stdout).toContain("cli.md does not match the code:\n- | 0 | undone |\n+ | 0 | done |\n");
  expect(stdout).not.toContain("tools.md does not");
});

test("a missing page is found, and written when asked", () => {
  rmSync(join(folder, "tools.md"), { force: true });
  expect(generate("--check", "--docs", folder).status).toBe(1);
  expect(generate("--docs", folder).status).toBe(0);
  expect(generate("--check", "--docs", folder).status).toBe(0);
});

test("no error that leaves the outcome open is said to have changed nothing", () => {
  const page = readFileSync(join(root, "docs", "tools.md"), "utf8");
  expect(page).toMatch(/nothing was changed, except for `outcome_unknown` and `internal`/);
  const rows = Array.from(page.matchAll(/^\| `(outcome_unknown|internal)` \| (.*) \| (.*) \|$/gm), ([, code, meaning = "", again]) => ({
    code,
    isSaidUnchanged: meaning.includes("nothing was changed"),
    again,
  }));
  const again = "is safe with the same request key";
  expect(rows).toEqual(["outcome_unknown", "internal"].map((code) => ({ code, isSaidUnchanged: false, again })));
});
