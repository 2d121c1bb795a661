import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { openRuntime } from "../src/compose.ts";
import { readConfig } from "../src/config.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const digest = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

test.each(["CHECKPOINT_DB_PATH", "DB_PATH"])("%s may still name the replaced system's file: it stays as it is, and the store stands beside it", async (variable) => {
  const path = join(await temporaryFolder(), "checkpoint.db");
  const theirs = new DatabaseSync(path);
  theirs.exec("CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT)");
  theirs.close();
  const before = digest(path);
  const lines: string[] = [];
  const config = readConfig({}, { [variable]: path });
  {
    await using runtime = await openRuntime(config, { stays: false, log: (_level, event, facts) => void lines.push(JSON.stringify([event, facts])) });
    await runtime.base.store.commit({ writes: [{ op: "put", key: "k", value: 1 }], writer: "tester" });
  }
  expect(digest(path)).toBe(before);
  expect(lines.join("\n")).toContain("holdfast import");
  await using again = await openRuntime(config, { stays: false, log: () => {} });
  expect((await again.base.store.read({ start: "k" })).entries).toHaveLength(1);
});

test("a store named on purpose is never replaced by another one", async () => {
  const path = join(await temporaryFolder(), "other.db");
  const theirs = new DatabaseSync(path);
  theirs.exec("CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT)");
  theirs.close();
  await expect(openRuntime(readConfig({}, { HOLDFAST_STORE: `sqlite:${path}` }), { stays: false, log: () => {} })).rejects.toMatchObject({ code: "store_damaged" });
});
