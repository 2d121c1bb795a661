import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { openCommandLine } from "../support/cli-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { goldfishMemory, sidecarStore, writeFiles } from "./original-stores.ts";

let path: string;
beforeEach(async () => {
  path = join(await temporaryFolder(), "sidecar.db");
  (await sidecarStore(path)).close();
});

test("shows what it would do; a dry run does nothing and --yes does it", async () => {
  const { run } = openCommandLine();
  const plan = await run(["import", path, "--dry-run"]);
  expect(plan).toMatchObject({ code: 0, stderr: "" });
  expect(plan.stdout).toMatch(/From MCP State Sidecar\nkind +new +here already +differs +expired\nstate +2 +0 +0 +1\nsession +1 +0 +0 +0\nrun +4 +0 +0 +0\n/);
  expect(plan.stdout).toContain("1 leases.");
  expect(plan.stdout).toContain("this was a dry run");
  expect((await run(["get", "config/limit"])).code).toBe(1);
  const done = await run(["import", path, "--yes"]);
  expect(done.code).toBe(0);
  expect(done.stdout).toContain("Imported 7; 0 existed already, 0 were skipped, 1 expired, 0 not readable.");
  expect((await run(["get", "config/limit"])).stdout).toContain("25");
  expect((await run(["import", path, "--yes"])).stdout).toContain("There is nothing new to import.");
});

test("asks on a terminal and takes only a yes", async () => {
  const { run } = openCommandLine({ terminal: true, stdinIsTerminal: true });
  const declined = await run(["import", path], { stdin: ["n\n"] });
  expect(declined).toMatchObject({ code: 1 });
  expect(declined.stdout).toContain("Import? [y/N] ");
  expect(declined.stdout).toContain("Nothing was imported.");
  expect(declined.stderr).toContain("reading ");
  expect((await run(["import", path], { stdin: ["y\n"] })).stdout).toContain("Imported 7;");
});

test("requires --yes if stdin is not a terminal, and names it", async () => {
  const { run } = openCommandLine();
  expect(await run(["import", path])).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes: is required") });
  expect((await run(["import", path, "--json"])).stdout).toContain('"code":"invalid_input"');
});

test("gives scripts the whole report, with exit code 1 when something was kept or unreadable", async () => {
  const { run, json } = openCommandLine();
  await run(["set", "config/limit", "1"]);
  const { code, stdout } = await run(["import", path, "--yes", "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    source: "sidecar",
    applied: true,
    kinds: { state: { new: 1, different: 1, lapsed: 1 } },
    different: [{ kind: "state", id: "config/limit" }],
    problems: [],
  });
  expect(await json("import", path, "--yes")).toMatchObject({ applied: false, kinds: { run: { new: 0, same: 4 } } });
});

test("refuses wrong arguments by name, and a read-only start before anything is written", async () => {
  const { run } = openCommandLine();
  expect(await run(["import"])).toMatchObject({ code: 2, stderr: expect.stringContaining("<path>: is missing") });
  expect(await run(["import", path, "b"])).toMatchObject({ code: 2, stderr: expect.stringContaining("must be one file or folder") });
  expect(await run(["import", path, "--from", "redis"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--from: must be one of agentcheckpoint, sidecar, goldfish, sage, mirror"),
  });
  expect(await run(["import", `${path}.missing`])).toMatchObject({ code: 3 });
  expect(await run(["import", join(path, ".."), "--from", "sidecar"])).toMatchObject({ code: 2, stderr: expect.stringContaining("must be a database file") });
  expect(await run(["import", path, "--yes", "--read-only"])).toMatchObject({ code: 2, stderr: expect.stringContaining("read-only") });
  expect(await run(["import", path, "--dry-run", "--read-only"])).toMatchObject({ code: 0 });
});

test("stored text cannot steer the terminal, and workspaces without a folder are named", async () => {
  const folder = await temporaryFolder();
  await writeFiles(folder, { "w/checkpoints/d/a.json": goldfishMemory(), "w/checkpoints/d/b.json": goldfishMemory({ id: "evil", workspace: "\u001b[2Jw" }) });
  const { stdout } = await openCommandLine({ terminal: true }).run(["import", folder, "--dry-run"]);
  expect(stdout).toContain("\\u001b[2Jw");
  expect(stdout).not.toContain("\u001b[2J");
  expect(stdout).toContain("--folder DIR assigns one");
  expect(stdout).toContain("payments-api");
});

test("takes Goldfish's own variable for where its files are, when no path is given", async () => {
  const folder = await temporaryFolder();
  await writeFiles(folder, { "w/checkpoints/d/a.json": goldfishMemory() });
  const { json } = openCommandLine({ environment: { COA_GOLDFISH_BASE_PATH: folder } });
  expect(await json("import", "--from", "goldfish", "--yes")).toMatchObject({
    source: "goldfish",
    applied: true,
    kinds: { "journal entry": { new: 1 } },
    workspaces_by_name: ["payments-api"],
  });
  expect(await openCommandLine().run(["import", "--from", "goldfish"])).toMatchObject({ code: 2, stderr: expect.stringContaining("<path>: is missing") });
});
