import { realpathSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openFolderReader } from "../../src/domain/workspace/repository-reader.ts";
import type { Surroundings } from "../../src/domain/workspace/workspace.ts";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { createRepository } from "../support/git-repository.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { TestTools } from "./open-tools.ts";
import { openTools } from "./open-tools.ts";

/** Agents of two projects on one store, and one whose folder nobody knows. */
async function openProjects() {
  const home = realpathSync(await temporaryFolder());
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const folderOf = { engine: createRepository(home, "engine"), site: createRepository(home, "site") };
  const surroundingsOf = (folder: string): Surroundings => ({ folder, home, reader: openFolderReader() });
  const inside = (folder: string): TestTools => openTools({ engine, clock, server: { surroundings: surroundingsOf(folder) } });
  return { folderOf, engine: inside(folderOf.engine), site: inside(folderOf.site), remote: openTools({ engine, clock }), surroundingsOf, store: { engine, clock } };
}

async function take({ call }: TestTools, name: string): Promise<void> {
  await call("workflow_create", { name: `run of ${name}`, run_id: `wf-${name}` });
  await call("workflow_create", { name: `claimed run of ${name}`, run_id: `wf-claimed-${name}` });
  await call("workflow_claim", { run_id: `wf-claimed-${name}`, agent_id: `agent-of-${name}` });
  await call("lease_acquire", { resource_id: `lease-of-${name}`, holder_id: `agent-of-${name}`, ttl_seconds: 60 });
}

describe("runs and leases belong to the workspace they were created in", () => {
  test("resume lists those of this one and of none, and counts the runs of others", async () => {
    const { engine, site, remote } = await openProjects();
    await take(site, "site");
    await take(remote, "remote");
    await take(engine, "engine");
    const { text } = await engine.call("resume", { agent_id: "somebody" });
    for (const name of ["engine", "remote"]) {
      expect(text).toContain(`workflow_claim wf-${name}`);
      expect(text).toContain(`agent-of-${name} on "claimed run of ${name}"`);
      expect(text).toContain(`agent-of-${name} holds lease lease-of-${name}`);
    }
    expect(text).not.toContain("of-site");
    expect(text).not.toContain("wf-site");
    expect(text).toContain("2 open runs in other workspaces.");
  });

  test("so does checkpoint, which lists what is claimed and held", async () => {
    const { engine, site } = await openProjects();
    await take(site, "site");
    await take(engine, "engine");
    const { data } = await engine.call("checkpoint", {});
    expect(data.open.runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual(["wf-claimed-engine"]);
    expect(data.open.leases.map(({ resource_id }: { resource_id: string }) => resource_id)).toEqual(["lease-of-engine"]);
  });

  test("a tag says it better", async () => {
    const { engine, site } = await openProjects();
    await site.call("workflow_create", { name: "for the engine", run_id: "wf-tagged", tags: { workspace: "engine" } });
    expect((await engine.call("resume", {})).text).toContain("workflow_claim wf-tagged");
    expect((await site.call("resume", {})).text).not.toContain("workflow_claim wf-tagged");
  });

  test("a client that opens another folder works in another workspace from then on", async () => {
    const { folderOf, engine, site, surroundingsOf, store } = await openProjects();
    let open = folderOf.site;
    const moving = openTools({ ...store, server: { surroundings: { ...surroundingsOf(folderOf.site), openFolder: async () => open } } });
    await moving.call("workflow_create", { name: "first", run_id: "wf-first" });
    open = folderOf.engine;
    await moving.call("workflow_create", { name: "second", run_id: "wf-second" });
    expect((await engine.call("resume", {})).text).toMatch(/wf-second[\s\S]*1 open run in other workspaces/);
    expect((await site.call("resume", {})).text).toMatch(/wf-first[\s\S]*1 open run in other workspaces/);
  });

  test("the workspace is looked up once for a connection, not for every lease", async () => {
    const { surroundingsOf, folderOf, store } = await openProjects();
    const surroundings = surroundingsOf(folderOf.engine);
    let looked = 0;
    const reader = {
      ...surroundings.reader,
      repositoryAt: (...args: Parameters<typeof surroundings.reader.repositoryAt>) => {
        looked += 1;
        return surroundings.reader.repositoryAt(...args);
      },
    };
    const { call } = openTools({ ...store, server: { surroundings: { ...surroundings, reader } } });
    await Promise.all(Array.from({ length: 20 }, (_, i) => call("lease_acquire", { resource_id: `lease-${i}`, holder_id: "me", ttl_seconds: 60 })));
    expect(looked).toBe(1);
  });

  test("a folder that cannot be read does not prevent a lease, and is checked again", async () => {
    const { surroundingsOf, folderOf, store } = await openProjects();
    const surroundings = surroundingsOf(folderOf.engine);
    let broken = true;
    const realFolder = async (path: string) => {
      if (broken) throw new Error("the disk is gone");
      return surroundings.reader.realFolder(path);
    };
    const { call } = openTools({ ...store, server: { surroundings: { ...surroundings, reader: { ...surroundings.reader, realFolder } } } });
    expect(await call("lease_acquire", { resource_id: "first", holder_id: "me", ttl_seconds: 60 })).toMatchObject({ acquired: true });
    broken = false;
    await call("workflow_create", { name: "second", run_id: "wf-second" });
    const elsewhere = openTools({ ...store, server: { surroundings: surroundingsOf(folderOf.site) } });
    expect((await elsewhere.call("resume", {})).text).toContain("1 open run in other workspaces.");
  });
});
