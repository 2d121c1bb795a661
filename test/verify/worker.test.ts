import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { workersDir } from "../support/worker-build.ts";

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a worker ends by itself when its parent was killed, also in the middle of a job that never ends", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-orphan-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const job = { job: "lease", name: "lease-1", store: `sqlite:${join(folder, "holdfast.db")}`, namespace: "orphan", seed: 1 };
  const lines = `${JSON.stringify(job)}\n${JSON.stringify({ take: ["held"], ttlMs: 600_000 })}\n`;
  // The parent hands on what the worker says, after the worker's process id, and keeps its pipe open until it is killed.
  const script = `
    const child = require("node:child_process").spawn(process.execPath, [${JSON.stringify(join(workersDir, "verify-worker.mjs"))}], { stdio: ["pipe", "pipe", "ignore"] });
    process.stdout.write(child.pid + "\\n");
    child.stdout.pipe(process.stdout);
    child.stdin.write(${JSON.stringify(lines)});`;
  const parent = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  parent.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  while (!said.includes('"token"')) await once(parent.stdout, "data");
  const pid = Number.parseInt(said, 10);
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await once(parent, "exit");
  await expect.poll(() => isAlive(pid)).toBe(false);
});
