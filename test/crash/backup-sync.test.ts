import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildExecutable } from "../support/cli-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const run = promisify(execFile);
const services = fileURLToPath(new URL("../../scripts/test-services/", import.meta.url));

let built: Awaited<ReturnType<typeof buildExecutable>>;
beforeAll(async () => {
  built = await buildExecutable();
});
afterAll(() => built?.remove());

test("a backup is on the disk, and so is its name, before the store is emptied", async () => {
  const folder = await temporaryFolder();
  const env = { PATH: process.env.PATH, HOME: folder };
  const holdfast = [built.main, "--store", `sqlite:${join(folder, "store", "holdfast.db")}`];
  await run(process.execPath, [...holdfast, "set", "k", "1"], { env });
  const strace = (await run(process.execPath, [join(services, "strace.mjs")])).stdout.trim();
  const trace = join(folder, "trace");
  const traced = ["-f", "-y", "-e", "trace=fsync,fdatasync,pwrite64", "-o", trace, process.execPath];
  const { stdout } = await run(strace, [...traced, ...holdfast, "sidecar_reset", "default", "--json"], { env });
  const store = join(folder, "store");
  const copy = join(store, basename(JSON.parse(stdout).backup));
  const calls = (await readFile(trace, "utf8")).split("\n");
  const contentAt = calls.findLastIndex((call) => /f(data)?sync\(/.test(call) && call.includes(`<${copy}.`));
  const after = (pattern: RegExp, path: string): number => calls.findIndex((call, i) => i > contentAt && pattern.test(call) && call.includes(`<${path}`));
  const nameAt = after(/fsync\(/, `${store}>`);
  const resetAt = after(/pwrite64\(/, join(store, "holdfast.db-wal"));
  expect(contentAt).toBeGreaterThan(-1);
  expect(nameAt).toBeGreaterThan(contentAt);
  expect(resetAt).toBeGreaterThan(nameAt);
});
