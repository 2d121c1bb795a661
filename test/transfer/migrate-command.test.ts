import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import type { Seal } from "../../src/store/store.ts";
import { reseal } from "../store/conformance/whole-dump.ts";
import { freshRedisUrl } from "../support/servers/fresh-url.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runOnStores } from "./cli-stores.ts";

let folder: string;
let from: string;
let to: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  [from, to] = ["from", "to"].map((name) => `sqlite:${join(folder, `${name}.db`)}`) as [string, string];
  for (const namespace of ["default", "team-b"]) await holdfast("set", "a", "1", "--store", from, "--namespace", namespace);
});

const holdfast = (...args: string[]) => runOnStores(args);
const json = async (...args: string[]) => JSON.parse((await holdfast(...args, "--json")).stdout) as Record<string, unknown>;

async function sealOf(url: string, namespace: string, seal?: Seal): Promise<Seal | undefined> {
  await using engine = await openEngine(url);
  if (seal !== undefined) await reseal(engine, namespace, seal);
  return (await engine.dump(namespace, { part: "keys" })).facts.seal;
}

test("moves every namespace, says so, and closes the old store with the way to the new one", async () => {
  const moved = await holdfast("migrate", from, to);
  expect(moved).toMatchObject({ code: 0, stderr: "" });
  expect(moved.stdout).toMatch(/default +1 +2 +equal\nteam-b +1 +2 +equal\n/);
  expect(moved.stdout).toContain(`Moved from ${from} to ${to}; compared record by record.`);
  expect(await holdfast("get", "a", "--store", from)).toMatchObject({ code: 6, stderr: expect.stringContaining(`was moved to ${to}`) });
  expect((await holdfast("get", "a", "--store", to)).stdout).toContain("1");
  // Asked again, there is nothing left to do, and it says so; undone it cannot be.
  expect((await holdfast("migrate", from, to)).stdout).toMatch(new RegExp(`Nothing was moved: an earlier run moved everything to ${to}\\.`));
  expect(await json("migrate", from, to)).toMatchObject({ ok: true, namespaces: [{ moved_already: true }, { moved_already: true }] });
  expect(await holdfast("migrate", from, to, "--undo")).toMatchObject({ code: 2, stderr: expect.stringContaining("has been moved completely") });
  expect(await holdfast("migrate", from, `sqlite:${join(folder, "third.db")}`)).toMatchObject({ code: 2, stderr: expect.stringContaining("was moved already") });
});

test("comes back to a store that it left, when told that what is left there may go", async () => {
  await holdfast("migrate", from, to);
  await holdfast("set", "a", "2", "--store", to);
  expect(await holdfast("migrate", to, from)).toMatchObject({ code: 2, stderr: expect.stringContaining("--replace-moved") });
  expect(await json("migrate", to, from, "--replace-moved")).toMatchObject({ ok: true });
  expect(await json("set", "a", "3", "--store", from)).toMatchObject({ version: 3, revision: 3 });
  // Never to something older than what was left there.
  expect(await holdfast("migrate", from, `sqlite:${join(folder, "third.db")}`, "--copy")).toMatchObject({ code: 0 });
  await holdfast("set", "a", "4", "--store", from);
  await sealOf(from, "default", { state: "moved", to: "elsewhere" });
  const older = await holdfast("migrate", `sqlite:${join(folder, "third.db")}`, from, "--replace-moved", "--namespace", "default");
  expect(older).toMatchObject({ code: 2, stderr: expect.stringContaining("at revision 4, but the namespace that would replace it is only at 3") });
});

test("chooses namespaces, copies instead of moving, and shows a plan without making a store", async () => {
  expect(await json("migrate", from, to, "--dry-run")).toMatchObject({
    dry_run: true,
    namespaces: [
      { namespace: "default", revision: 1, entries: 1, ready: true },
      { namespace: "team-b", ready: true },
    ],
  });
  expect(existsSync(join(folder, "to.db"))).toBe(false);
  expect(await json("migrate", from, to, "--namespace", "team-b", "--copy")).toMatchObject({
    ok: true,
    copied: true,
    namespaces: [{ namespace: "team-b", equal: true, writers_paused_ms: 0 }],
  });
  expect(await sealOf(from, "team-b")).toBeUndefined();
  const plan = await holdfast("migrate", from, to, "--dry-run");
  expect(plan).toMatchObject({ code: 1, stdout: expect.stringMatching(/default .* ready\nteam-b .*already contains data there/) });
  expect(await holdfast("migrate", from, to)).toMatchObject({ code: 2, stderr: expect.stringContaining('"team-b" already contains data there') });
  expect(await holdfast("migrate", from, to, "--namespace", "team-c")).toMatchObject({ code: 3, stderr: expect.stringContaining("It has default, team-b.") });
});

test("a broken-off one is seen in the plan, continues, or is undone", async () => {
  await sealOf(from, "team-b", { state: "moving", by: "a", to });
  const progress = { by: `migration of "team-b" from ${from}`, compacted: 0, base: 0, stage: "log", log: 0, requestsMs: 0 };
  await sealOf(to, "team-b", { state: "filling", progress });
  expect(await holdfast("migrate", from, to, "--dry-run")).toMatchObject({ code: 0, stdout: expect.stringContaining("continues where it was interrupted") });
  await sealOf(to, "default", { state: "filling", progress: { ...progress, by: "another" } });
  expect(await holdfast("migrate", from, to, "--dry-run")).toMatchObject({ code: 1, stdout: expect.stringContaining("is being filled by another job") });
  await sealOf(to, "default", { state: "filling", progress: { ...progress, by: progress.by.replace("team-b", "default") } });
  expect(await holdfast("migrate", from, to, "--undo")).toMatchObject({ code: 0, stdout: "default: undone\nteam-b: undone\n" });
  expect([await sealOf(from, "team-b"), await sealOf(to, "team-b")]).toEqual([undefined, undefined]);
  await sealOf(to, "team-b", { state: "filling", progress });
  expect(await holdfast("migrate", from, to)).toMatchObject({ code: 0 });
});

test("stopped by Ctrl-C it says how to continue, and the source is open", async () => {
  let stops = 0;
  // At once, and then after ever more turns of the event loop: what is asserted holds at every moment, and the first one comes before the end.
  for (const turns of [0, 1, 2, 4, 8, 16, 32, 64]) {
    const there = `sqlite:${join(folder, `stopped-${turns}.db`)}`;
    const stop = new AbortController();
    const running = runOnStores(["migrate", from, there, "--copy"], { signal: stop.signal });
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    const { code, stderr } = await running;
    if (code === 0) continue;
    stops += 1;
    expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining("Run the same command to continue, or add --undo to undo it.") });
    expect(await holdfast("migrate", from, there, "--copy")).toMatchObject({ code: 0 });
  }
  expect(stops).toBeGreaterThan(0);
});

test("refuses by name what it cannot do, before anything is made", async () => {
  const cases: [string[], number, string][] = [
    [["migrate"], 2, "<from>: is missing"],
    [["migrate", from], 2, "<to>: is missing"],
    [["migrate", from, to, "x"], 2, "<to>: must be the last argument"],
    [["migrate", from, from], 2, "is the same store as <from>"],
    [["migrate", from, `sqlite:${folder}/../${folder.split("/").at(-1)}/from.db`], 2, "is the same store as <from>"],
    [["migrate", from, "memory:"], 2, "memory: keeps nothing"],
    [["migrate", "memory:", to], 2, "memory: keeps nothing"],
    [["migrate", from, "to.db"], 2, "must be sqlite:PATH"],
    [["migrate", `sqlite:${join(folder, "none.db")}`, to], 3, "There is no store there yet"],
    [["migrate", from, to, "--undo", "--copy"], 2, "--undo: cannot be combined with --copy or --dry-run"],
    [["migrate", from, to, "--read-only"], 2, "read-only"],
  ];
  for (const [args, code, words] of cases) expect({ args, ...(await holdfast(...args)) }).toMatchObject({ args, code, stderr: expect.stringContaining(words) });
  symlinkSync(join(folder, "from.db"), join(folder, "link.db"));
  expect(await holdfast("migrate", from, `sqlite:${join(folder, "link.db")}`)).toMatchObject({ code: 2, stderr: expect.stringContaining("same store") });
  expect(existsSync(join(folder, "to.db"))).toBe(false);
});

test("takes one store of a server for no other: neither as moved already, nor as where the namespace went, nor to undo", async () => {
  const server = (await freshRedisUrl()).replace(/&deadline=.*/, "");
  const [one, two] = ["one", "two"].map((name) => `${server}-${name}&deadline=9m`) as [string, string];
  await holdfast("set", "theirs", "1", "--store", two);
  expect(await holdfast("migrate", from, one, "--namespace", "default")).toMatchObject({ code: 0, stdout: expect.stringContaining(`to ${server}-one; compared`) });
  expect(await sealOf(from, "default")).toMatchObject({ state: "moved", to: `${server}-one` });
  expect(await holdfast("get", "a", "--store", from)).toMatchObject({ code: 6, stderr: expect.stringContaining(`was moved to ${server}-one;`) });
  expect(await holdfast("migrate", from, two, "--namespace", "default")).toMatchObject({ code: 2, stderr: expect.stringContaining(`was moved already, to ${server}-one;`) });
  expect(await json("migrate", from, one, "--namespace", "default")).toMatchObject({ to: `${server}-one`, namespaces: [{ moved_already: true }] });
  await sealOf(from, "team-b", { state: "moving", by: "a", to: `${server}-one` });
  expect(await json("migrate", from, two, "--namespace", "team-b", "--dry-run")).toMatchObject({ namespaces: [{ ready: false, says: `being moved to ${server}-one` }] });
  expect(await holdfast("migrate", from, two, "--namespace", "team-b", "--undo")).toMatchObject({ code: 0, stdout: "team-b: nothing to undo\n" });
  expect(await sealOf(from, "team-b")).toMatchObject({ state: "moving" });
  expect(await holdfast("migrate", from, one, "--namespace", "team-b", "--undo")).toMatchObject({ code: 0, stdout: "team-b: undone\n" });
});

test("beside a migration that has stopped the writers, export and backup read, and restore --in-place is refused; none of them opens the source", async () => {
  const seal: Seal = { state: "moving", by: "a", to };
  await sealOf(from, "default", seal);
  expect(await holdfast("export", join(folder, "a.jsonl"), "--store", from)).toMatchObject({ code: 0 });
  expect(await holdfast("backup", join(folder, "b.jsonl"), "--store", from)).toMatchObject({ code: 0 });
  expect(await holdfast("restore", "--in-place", "--at", "1", "--yes", "--store", from)).toMatchObject({
    code: 6,
    stderr: expect.stringContaining("is being moved to another store"),
  });
  expect(await sealOf(from, "default")).toEqual(seal);
});

test("never shows a password, nor keeps one", async () => {
  const { stderr, stdout } = await holdfast("migrate", from, "postgres://agent:s3cret@127.0.0.1:1/x");
  expect(stdout + stderr).not.toContain("s3cret");
  expect(await sealOf(from, "default")).toBeUndefined();
});
