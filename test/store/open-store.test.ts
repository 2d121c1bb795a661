import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { engineNames, sharedEngines } from "../support/engines.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a URL chooses the engine: sqlite: by path, with or without the two slashes, and memory:", async () => {
  const folder = await temporaryFolder();
  for (const [url, name] of [
    [`sqlite:${join(folder, "one.db")}`, "one.db"],
    [`sqlite://${join(folder, "two.db")}`, "two.db"],
  ] as const) {
    await using engine = await openEngine(url);
    expect(engine.name).toBe("sqlite");
    expect(existsSync(join(folder, name))).toBe(true);
  }
  await using memory = await openEngine("memory:");
  expect(memory.name).toBe("memory");
});

test("every engine has a file of its own for the suites, and is one of those that the others run on", () => {
  const folders = readdirSync(new URL("../../src/engines", import.meta.url), { withFileTypes: true }).flatMap((item) => (item.isDirectory() ? [item.name] : []));
  expect(folders).toHaveLength(engineNames.length);
  for (const folder of folders) {
    expect(existsSync(new URL(`./${folder}.test.ts`, import.meta.url)), `test/store/${folder}.test.ts`).toBe(true);
    expect(engineNames, "test/support/engines.ts").toContainEqual(expect.stringMatching(new RegExp(`^${folder}`, "i")));
  }
});

test("any other scheme is refused with the ones that are accepted", async () => {
  for (const url of ["mysql://host/db", "holdfast.db", "", "constructor:x", "sqlite"])
    await expect(openEngine(url), url).rejects.toMatchObject({ code: "invalid_input", message: expect.stringMatching(/^store: .*sqlite:.*memory:/) });
});

test("sqlite: without a file, or in memory, is refused", async () => {
  for (const url of ["sqlite:", "sqlite::memory:"])
    await expect(openEngine(url), url).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining("path of a file") });
});

test.each(sharedEngines)("looking makes no store on $name: it is not found until a caller writes", async ({ freshUrl }) => {
  const url = await freshUrl();
  const looks = () => openEngine(url, { creates: false });
  await expect(looks()).rejects.toMatchObject({ code: "not_found" });
  await expect(looks()).rejects.toMatchObject({ code: "not_found", message: expect.stringContaining("nothing was created") });
  await (await openEngine(url))[Symbol.asyncDispose]();
  await (await looks())[Symbol.asyncDispose]();
});
