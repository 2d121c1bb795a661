import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linkPackages } from "./link-package.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A project in a folder of its own, with packages at the given paths below it. */
async function openProject(packages: Readonly<Record<string, readonly string[]>>) {
  const above = await temporaryFolder();
  const [project, consumer] = [join(above, "project"), join(above, "consumer")];
  const install = async (path: string, dependencies: readonly string[] = []): Promise<void> => {
    const folder = join(above, path);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), JSON.stringify({ dependencies: Object.fromEntries(dependencies.map((name) => [name, "1"])) }));
  };
  for (const [path, dependencies] of Object.entries(packages)) await install(`project/node_modules/${path}`, dependencies);
  return { project, consumer, install };
}

test("a package comes with what it depends on, the nearest first", async () => {
  const { project, consumer } = await openProject({ "@scope/a": ["b"], b: ["c", "@scope/a"], "b/node_modules/c": [], c: ["missing"] });
  await linkPackages(["@scope/a"], { project, consumer });
  for (const name of ["@scope/a", "b", "c"]) expect(existsSync(join(consumer, "node_modules", name, "package.json")), name).toBe(true);
});

test("a dependency that only a folder above the project has is missing, and is named", async () => {
  const { project, consumer, install } = await openProject({ a: ["b"] });
  await install("node_modules/b");
  await expect(linkPackages(["a"], { project, consumer })).rejects.toThrow(/^b, which .*node_modules\/a depends on, is not installed in .*Run: npm ci$/);
});

test("two versions of one package are refused by name", async () => {
  const { project, consumer } = await openProject({ a: ["b", "c"], b: ["c"], "b/node_modules/c": [], c: [] });
  await expect(linkPackages(["a"], { project, consumer })).rejects.toThrow(/^c is needed in two versions/);
});
