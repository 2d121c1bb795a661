import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { errorCodes } from "../src/kernel/errors.ts";
import { catalog } from "../src/tools/catalog.ts";
import { selectTools } from "../src/tools/profiles.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const markdownIn = (folder: string): string[] => readdirSync(join(root, folder)).flatMap((name) => (name.endsWith(".md") ? [join(folder, name)] : []));
const pages = [".", "docs", "docs/decisions", "deploy", "plugin"].flatMap(markdownIn);
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** As the hosting platforms make them: lower case, punctuation dropped, spaces to hyphens. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
const anchorsIn = (path: string): string[] => Array.from(read(path).matchAll(/^#+ (.*)$/gm), ([, heading = ""]) => anchorOf(heading));
const linksIn = (text: string): string[] => Array.from(text.replace(/^```.*?^```/gms, "").matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target);

/** Links that lead to no file, or to no heading of one. */
function brokenLinks(page: string, text: string): string[] {
  return linksIn(text).filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [file = "", anchor] = target.split("#");
    const path = file === "" ? page : join(dirname(page), file);
    if (!existsSync(join(root, path))) return true;
    return anchor !== undefined && !anchorsIn(path).includes(anchor);
  });
}

describe("links between documents", () => {
  test("were looked at", () => {
    expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/concepts.md", "docs/tools.md"]));
    expect(pages.flatMap((page) => linksIn(read(page))).length).toBeGreaterThan(60);
  });

  test.each(pages)("of %s lead somewhere", (page) => {
    expect(brokenLinks(page, read(page))).toEqual([]);
  });

  test("are found when they lead nowhere", () => {
    const text = "[a](docs/nowhere.md) [b](docs/tools.md#nothing) [c](docs/tools.md#errors) [d](#nothing) [e](https://example.com/x)";
    expect(brokenLinks("README.md", text)).toEqual(["docs/nowhere.md", "docs/tools.md#nothing", "#nothing"]);
  });
});

describe("docs/concepts.md", () => {
  const named = new Set(Array.from(read("docs/concepts.md").matchAll(/`([a-z]+_[a-z_]+|checkpoint|resume|effects)`/g), ([, name = ""]) => name));

  test("says when to use each tool of the default profile", () => {
    // Each of these goes without saying once its neighbours have been explained.
    const implied = ["state_delete", "lease_release", "lease_renew"];
    expect(selectTools().flatMap(({ name }) => (named.has(name) || implied.includes(name) ? [] : [name]))).toEqual([]);
  });

  test("names no tool that does not exist", () => {
    const words = new Set(catalog.flatMap(({ name, input }) => [name, ...Object.keys(input.shape)]));
    expect([...named].filter((name) => !words.has(name) && !(name in errorCodes) && name !== "request_key")).toEqual([]);
  });
});
