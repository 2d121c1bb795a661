import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServerLines } from "../support/proxy/server-lines.ts";
import { sharedBuild } from "../support/shared-builds.ts";
import { until } from "../support/soon.ts";
import { requireService } from "./installed-package.ts";

let folder: string;
let main: string;
let everything: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-proxied-"));
  [main, everything] = await Promise.all([sharedBuild("executable"), requireService("mcp-servers.mjs")]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const programOf = (server: string): string => everything.replace("server-everything", `server-${server}`);

const proxied = (name: string, args: readonly string[]): readonly string[] => [main, "proxy", "--store", `sqlite:${join(folder, `${name}.db`)}`, "--", process.execPath, ...args];

describe.each([["everything"], ["filesystem"], ["memory"]])("the server %s behind the proxy", (server) => {
  test("lists the same, byte for byte", async () => {
    const args = [programOf(server), ...(server === "filesystem" ? [folder] : [])];
    const env = { MEMORY_FILE_PATH: join(folder, "listed.json") };
    await using bare = await openServerLines(args, env);
    await using through = await openServerLines(proxied(`list-${server}`, args), env);
    // The server that offers more to clients that can do more does so a moment after the greeting, and says so.
    if (server === "everything") for (const each of [bare, through]) await until(() => each.lines.some((line) => line.includes("roots/list")));
    const methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "ping", "some/unknown"];
    for (const method of methods) for (const each of [bare, through]) await each.ask(method, method);
    for (const id of ["hello", ...methods]) expect(through.lineOf(id)).toBe(bare.lineOf(id));
    expect(bare.lineOf("tools/list")?.length).toBeGreaterThan(1_000);
  });
});

test("files are written once, and reads see the current content", async () => {
  const path = join(folder, "note.txt");
  await writeFile(path, "one two");
  await using server = await openServerLines(proxied("files", [programOf("filesystem"), folder]));
  const edit = { path, edits: [{ oldText: "two", newText: "two two" }] };
  await server.call("1", "edit_file", edit);
  expect(await readFile(path, "utf8")).toBe("one two two");
  expect(await server.call("2", "edit_file", edit)).toContain("This call was made before");
  expect(await readFile(path, "utf8")).toBe("one two two");
  expect(await server.call("3", "read_text_file", { path })).toBe("one two two");
  await writeFile(path, "three");
  expect(await server.call("4", "read_text_file", { path })).toBe("three");
  expect(await server.call("5", "write_file", { path: "/nonexistent/x", content: "" })).toMatch(/denied/i);
});

test("memories are added once, also by another process", async () => {
  const env = { MEMORY_FILE_PATH: join(folder, "memory.json") };
  const args = proxied("memory", [programOf("memory")]);
  const add = { observations: [{ entityName: "ann", contents: ["likes tea"] }] };
  {
    await using server = await openServerLines(args, env);
    await server.call("1", "create_entities", { entities: [{ name: "ann", entityType: "person", observations: [] }] });
    await server.call("2", "add_observations", add);
  }
  await using server = await openServerLines(args, env);
  expect(await server.call("3", "add_observations", add)).toContain("This call was made before");
  expect((await server.call("4", "read_graph")).match(/likes tea/g)).toHaveLength(1);
});

test("progress, logging, sampling and images pass", async () => {
  await using server = await openServerLines(proxied("everything", [everything]));
  expect(await server.call("echo", "echo", { message: "hi" })).toContain("hi");
  await server.call("slow", "trigger-long-running-operation", { duration: 1, steps: 3 }, { progressToken: "p" });
  expect(server.lines.filter((line) => line.includes("notifications/progress") && line.includes('"p"')).length).toBeGreaterThanOrEqual(3);
  expect((await server.ask("image", "tools/call", { name: "get-tiny-image", arguments: {} })).result.content.some(({ type }: { type: string }) => type === "image")).toBe(true);
  const tools: readonly string[] = (await server.ask("tools", "tools/list")).result.tools.map(({ name }: { name: string }) => name);
  if (tools.includes("trigger-sampling-request")) expect(await server.call("sample", "trigger-sampling-request", { prompt: "x", maxTokens: 5 })).toContain("sampled");
  expect((await server.ask("prompt", "prompts/list")).result.prompts.length).toBeGreaterThan(0);
});
