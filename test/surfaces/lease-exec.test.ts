import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CommandResult } from "../support/cli-host.ts";
import { openCommandLine } from "../support/cli-host.ts";
import { until } from "../support/soon.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/**
 * `lease exec` in this process, with a real command and a clock that the test moves. A script says `up` when it runs, finds $dir, and may end when
 * `$dir/end` is there; `gone` resolves when it and all its children have ended.
 */
async function openExec() {
  const dir = await temporaryFolder();
  const commandLine = openCommandLine();
  const pipe = join(dir, "pipe");
  execFileSync("mkfifo", [pipe]);
  const holders = createReadStream(pipe).resume();
  const gone = once(holders, "close");
  const exec = (args: readonly string[], script: string): Promise<CommandResult> =>
    commandLine.run(["lease", "exec", ...args, "--", "/bin/sh", "-c", `dir='${dir}'; exec 3> "$dir/pipe"; up() { touch "$dir/up"; }; ${script}`]);
  return {
    ...commandLine,
    exec,
    gone,
    file: (name: string) => join(dir, name),
    isUp: () => until(() => existsSync(join(dir, "up")) && commandLine.clock.sleeping() > 0),
    /** Moves time until it has ended. */
    async ended(running: Promise<CommandResult>): Promise<CommandResult> {
      let isOver = false;
      void running.finally(() => {
        isOver = true;
      });
      while (!isOver) await commandLine.clock.advanceBy(50);
      return running;
    },
  };
}

const untilTold = 'while [ ! -e "$dir/end" ]; do sleep 0.02; done';

test("waits in line for the lease", async () => {
  const { run, exec, clock, file, gone } = await openExec();
  await run(["lease", "acquire", "line", "--ttl", "60s", "--agent", "somebody"]);
  const running = exec(["line", "--wait", "10m"], "up");
  await until(() => clock.sleeping() > 0);
  await clock.advanceBy(59_000);
  expect(existsSync(file("up"))).toBe(false);
  await clock.advanceBy(2_000);
  expect((await running).code).toBe(0);
  await gone;
  expect(existsSync(file("up"))).toBe(true);
});

test("refused by its own terminal's lease, it says whose that is and how to run the command under it", async () => {
  const { run, exec, file, gone } = await openExec();
  const { stdout } = await run(["lease", "acquire", "own"]);
  const agent = stdout.split(" ", 1)[0] as string;
  const refused = await exec(["own"], "up");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/holds it for another \S+ unless it is renewed\n/) });
  expect(refused.stderr).toContain(`that is this terminal; pass --agent ${agent} to run the command under that lease`);
  expect(existsSync(file("up"))).toBe(false);
  expect((await exec(["own", "--agent", agent], "up")).code).toBe(0);
  await gone;
  expect(existsSync(file("up"))).toBe(true);
});

test("keeps the lease for longer than its TTL while the command runs", async () => {
  const { run, exec, clock, file, isUp } = await openExec();
  const running = exec(["long", "--ttl", "2s"], `up; ${untilTold}`);
  await isUp();
  await clock.advanceBy(60_000);
  expect((await run(["lease", "acquire", "long", "--agent", "thief"])).code).toBe(1);
  writeFileSync(file("end"), "");
  expect((await running).code).toBe(0);
});

test("stops the command, and its children, when the lease is lost", async () => {
  const { run, exec, file, isUp, ended, gone } = await openExec();
  const running = exec(["lost", "--ttl", "4s", "--grace", "300ms", "--agent", "worker"], `(trap '' TERM; ${untilTold}; touch "$dir/survived") & up; wait`);
  await isUp();
  expect((await run(["lease", "release", "lost", "--agent", "worker"])).code).toBe(0);
  expect((await run(["lease", "acquire", "lost", "--ttl", "1m", "--agent", "thief"])).code).toBe(0);
  const { code, stderr } = await ended(running);
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringMatching(/^holdfast: the lease on lost was lost( to thief)?; stopping the command\n$/) });
  // Releasing at the end must not take the lease from its new holder.
  expect((await run(["lease", "renew", "lost", "--agent", "thief"])).code).toBe(0);
  // A child that is still there would end now, and say so first.
  writeFileSync(file("end"), "");
  await gone;
  expect(existsSync(file("survived"))).toBe(false);
});

test("a command that ignores SIGTERM is killed after the grace period", async () => {
  const { run, exec, clock, file, isUp, ended, gone } = await openExec();
  const running = exec(["stubborn", "--ttl", "600ms", "--grace", "200ms", "--agent", "worker"], `trap 'touch "$dir/asked"' TERM; up; while true; do sleep 0.02; done`);
  await isUp();
  await run(["lease", "release", "stubborn", "--agent", "worker"]);
  await clock.advanceBy(200);
  await until(() => existsSync(file("asked")));
  expect((await ended(running)).code).toBe(4);
  await gone;
});

test("when the store no longer answers, the command is stopped before the lease can have lapsed", async () => {
  const { exec, clock, engine, isUp, ended, gone } = await openExec();
  const fromMs = clock.nowMs();
  const running = exec(["silent", "--ttl", "3s", "--grace", "500ms"], "up; exec sleep 600");
  await isUp();
  engine.commit = () => new Promise(() => {});
  await clock.advanceBy(2_600);
  // Gone already, while a part of the lease's time is left.
  await gone;
  expect(clock.nowMs() - fromMs).toBeLessThan(3_000);
  expect(await ended(running)).toMatchObject({ code: 4, stderr: expect.stringContaining("could not be renewed") });
});
