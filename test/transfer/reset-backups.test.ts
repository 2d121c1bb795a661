import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { limits } from "../../src/store/limits.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { readExport } from "../../src/transfer/files/read-export.ts";
import { openResetBackups, resetBackupsMax } from "../../src/transfer/files/reset-backups.ts";
import { startHttpServer } from "../support/http-server.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runOnStores } from "./cli-stores.ts";

async function openBackups() {
  const clock = manualClock();
  const folder = await temporaryFolder();
  const engine = new MemoryEngine(clock);
  let [open, openMost] = [0, 0];
  const backUp = openResetBackups({
    engine,
    clock,
    storePath: join(folder, "store.db"),
    madeBy: "holdfast test",
    async openScratch() {
      open += 1;
      openMost = Math.max(openMost, open);
      return {
        engine: new MemoryEngine(clock),
        async [Symbol.asyncDispose]() {
          open -= 1;
        },
      };
    },
  });
  const put = (namespace: string, key: string) => openNamespaceStore(engine, namespace, clock).commit({ writes: [{ op: "put", key, value: "kept" }], writer: "tester" });
  return { clock, folder, engine, backUp, put, mostAtOnce: () => openMost };
}

async function textOf(path: string): Promise<string> {
  const parts: string[] = [];
  for await (const part of readExport(path)) parts.push(JSON.stringify(part));
  return parts.join("\n");
}

describe("a backup before a namespace is cleared", () => {
  test("holds that namespace alone, up to the revision it names, and only its owner can read it", async () => {
    const { folder, backUp, put } = await openBackups();
    await put("mine", "my-key");
    await put("theirs", "their-key");
    const { path, revision } = await backUp("mine");
    expect(revision).toBe(1);
    expect(await textOf(path)).toContain("my-key");
    expect(await textOf(path)).not.toContain("their");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual([basename(path)]);
  });

  test("is read page by page: others have a turn of the event loop between two pages", async () => {
    const { engine, backUp, put } = await openBackups();
    for (let i = 0; i < 2 * limits.dumpRecordsMax; i += 1) await put("mine", `k${i}`);
    let [pages, inThisTurn, mostInOneTurn] = [0, 0, 0];
    const dump = engine.dump.bind(engine);
    engine.dump = async (namespace, query) => {
      const page = await dump(namespace, query);
      if (page.records.length > 1) {
        pages += 1;
        inThisTurn += 1;
        mostInOneTurn = Math.max(mostInOneTurn, inThisTurn);
      }
      return page;
    };
    let isDone = false;
    const countTurns = (): void => {
      inThisTurn = 0;
      if (!isDone) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    await backUp("mine");
    isDone = true;
    expect(pages).toBeGreaterThan(3);
    // Where the namespace stands is read by a page of its own.
    expect(mostInOneTurn).toBeLessThanOrEqual(2);
  });

  test("is one of the newest few of its namespace; those of others stay", async () => {
    const { clock, folder, backUp, put } = await openBackups();
    await put("mine", "k");
    await put("theirs", "k");
    const theirs = basename((await backUp("theirs")).path);
    const mine: string[] = [];
    for (let i = 0; i < resetBackupsMax + 3; i += 1) {
      clock.advance(1_000);
      mine.push(basename((await backUp("mine")).path));
    }
    expect((await readdir(folder)).sort()).toEqual([theirs, ...mine.slice(-resetBackupsMax)].sort());
  });

  test("is written alone, and refused when too many wait", async () => {
    const { backUp, put, mostAtOnce } = await openBackups();
    await put("mine", "k");
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => backUp("mine")));
    expect(mostAtOnce()).toBe(1);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(8);
    for (const outcome of outcomes) if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "unavailable" });
    expect(await backUp("mine")).toMatchObject({ revision: 1 });
  });
});

test("an administrator of one namespace gets a copy of that one, by its name, and it can be restored", async () => {
  const folder = await temporaryFolder();
  const server = await startHttpServer({ flags: { store: `sqlite:${join(folder, "s.db")}` } });
  try {
    const token = await server.token({ role: "admin", namespaces: ["team"] });
    await server.callTool("state_set", { key: "of-others", value: 1 });
    const reset = async () =>
      ((await server.callTool("sidecar_reset", { confirm: "team" }, { token })) as { result: { structuredContent: { backup: string | null } } }).result.structuredContent.backup;
    expect(await reset()).toBeNull();
    await server.callTool("state_set", { key: "of-the-team", value: "kept" }, { token });
    const backup = (await reset()) as string;
    expect(backup).toBe(basename(backup));
    expect(await textOf(join(folder, backup))).toContain("of-the-team");
    expect(await textOf(join(folder, backup))).not.toContain("of-others");
    expect((await readdir(folder)).filter((name) => name.includes(".backup-"))).toEqual([backup]);
    const restored = ["--store", `sqlite:${join(folder, "restored.db")}`];
    expect(await runOnStores(["restore", join(folder, backup), "--yes", ...restored])).toMatchObject({ code: 0 });
    expect(JSON.parse((await runOnStores(["get", "of-the-team", "--namespace", "team", "--json", ...restored])).stdout)).toMatchObject({ value: "kept" });
  } finally {
    await server.stop();
  }
});
