import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";

/** What each takes at its quickest, tried in turns: what others do on the machine meanwhile counts for all of them. */
async function quickestMs<Name extends string>(works: Readonly<Record<Name, () => Promise<unknown>>>): Promise<Record<Name, number>> {
  const quickest = Object.fromEntries(Object.keys(works).map((name) => [name, Number.POSITIVE_INFINITY])) as Record<Name, number>;
  for (let i = 0; i < 7; i += 1) {
    for (const name of Object.keys(works) as Name[]) {
      const fromMs = performance.now();
      await works[name]();
      quickest[name] = Math.min(quickest[name], performance.now() - fromMs);
    }
  }
  return quickest;
}

/** 300 ms more than the 50 that Node itself needs to start on a quiet machine. */
const startsOfNodeMax = 7;

test("a hook takes no longer than Node itself needs to start seven times", async () => {
  const built = await buildExecutable();
  onTestFinished(() => built.remove());
  const project = join(built.folder, "home", "project");
  mkdirSync(project, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: join(built.folder, "home"), HOLDFAST_STORE: `sqlite:${join(built.folder, "data", "holdfast.db")}`, GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", ["init", "--quiet", "--initial-branch", "queue"], { cwd: project, env });
  const run = (...args: string[]) => startExecutable(built.main, args, { env, cwd: project, stdio: ["pipe", "pipe", "pipe"] });
  await run("checkpoint", "Something to tell").finished;

  const hook = (event: string): Promise<unknown> => {
    const { child, finished } = run("hook", event);
    child.stdin?.end(JSON.stringify({ cwd: project }));
    return finished;
  };
  const { node, ...hooks } = await quickestMs({
    node: () => once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "close"),
    "session-start": () => hook("session-start"),
    "pre-compact": () => hook("pre-compact"),
  });
  for (const [event, ms] of Object.entries(hooks)) expect(ms / node, event).toBeLessThan(startsOfNodeMax);
});
