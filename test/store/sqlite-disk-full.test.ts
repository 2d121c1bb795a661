import { execFileSync } from "node:child_process";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function mountSmallDisk(): Promise<string | undefined> {
  const folder = await temporaryFolder();
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync("umount", ["-l", folder]));
  return folder;
}

function fillUp(path: string): void {
  const descriptor = openSync(path, "w");
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeSync(descriptor, block);
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
  } finally {
    closeSync(descriptor);
  }
}

test("a full disk refuses the commit whole, reads continue, and freed space heals it without a restart", async (context) => {
  const folder = await mountSmallDisk();
  if (folder === undefined) return context.skip("mounting a small disk needs root");
  await using engine = await openSqliteEngine({ path: join(folder, "store.db") });
  const store = openNamespaceStore(engine, "test", systemClock);
  const write = (n: number): Promise<unknown> =>
    store.commit({
      writer: "tester",
      writes: [
        { op: "put", key: "left", value: [n, "x".repeat(20_000)] },
        { op: "put", key: "right", value: [n, "y".repeat(20_000)] },
      ],
    });
  await write(0);
  fillUp(join(folder, "ballast"));
  let written = 0;
  const fill = async (): Promise<void> => {
    for (;;) {
      await write(written + 1);
      written += 1;
    }
  };
  await expect(fill()).rejects.toMatchObject({ code: "storage_full" });
  for (let i = 0; i < 3; i += 1) await expect(write(99)).rejects.toMatchObject({ code: "storage_full" });
  const during = await store.read(everything);
  expect(during.revision).toBe(written + 1);
  expect(during.entries.map(({ value }) => (value as unknown[])[0])).toEqual([written, written]);

  rmSync(join(folder, "ballast"));
  await write(written + 1);
  const after = await store.read(everything);
  expect(after.revision).toBe(written + 2);
  expect(after.entries.map(({ value }) => (value as unknown[])[0])).toEqual([written + 1, written + 1]);
});
