import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";

/** The quickest of a few: what others do on the machine meanwhile is not what is measured. */
async function quickestMs(work: () => Promise<unknown>): Promise<number> {
  const samplesMs: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    const fromMs = performance.now();
    await work();
    samplesMs.push(performance.now() - fromMs);
  }
  return Math.min(...samplesMs);
}

test("a hook takes less than 300 ms more than Node itself needs to start", { timeout: 60_000 }, async () => {
  const built = await buildExecutable();
  onTestFinished(() => built.remove());
  const project = join(built.folder, "home", "project");
  mkdirSync(project, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: join(built.folder, "home"), HOLDFAST_STORE: `sqlite:${join(built.folder, "data", "holdfast.db")}`, GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", ["init", "--quiet", "--initial-branch", "queue"], { cwd: project, env });
  const run = (...args: string[]) => startExecutable(built.main, args, { env, cwd: project, stdio: ["pipe", "pipe", "pipe"] });
  await run("checkpoint", "Something to tell").finished;

  const nodeMs = await quickestMs(async () => once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "close"));
  for (const event of ["session-start", "pre-compact"]) {
    const hookMs = await quickestMs(() => {
      const { child, finished } = run("hook", event);
      child.stdin?.end(JSON.stringify({ cwd: project }));
      return finished;
    });
    expect(hookMs - nodeMs, event).toBeLessThan(300);
  }
});
