import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { runVerify } from "../../src/verify/verify.ts";
import { verifyWorker } from "../support/campaign.ts";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";
import { sharedEngines } from "../support/engines.ts";

let executable: Awaited<ReturnType<typeof buildExecutable>>;
beforeAll(async () => {
  executable = await buildExecutable();
});
afterAll(() => executable.remove());

const childrenOf = async (pid: number): Promise<readonly number[]> => (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).split(" ").filter(Boolean).map(Number);

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Starts verify and waits until workers of it are running. */
async function startVerify(args: readonly string[], temporary: string) {
  const running = startExecutable(executable.main, ["verify", "--quick", ...args], { env: { PATH: process.env.PATH, HOME: temporary, TMPDIR: temporary } });
  onTestFinished(() => void running.child.kill("SIGKILL"));
  const pid = running.child.pid as number;
  let workers: readonly number[] = [];
  while (workers.length < 4) {
    await sleep(5);
    workers = await childrenOf(pid);
  }
  return { ...running, workers };
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-interrupted-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe.runIf(process.platform === "linux")("holdfast verify, interrupted", () => {
  test.each(["SIGINT", "SIGTERM"] as const)("by %s ends its workers, removes its folder, says so in one line and exits with 130", async (signal) => {
    const temporary = await newFolder();
    const { child, finished, workers } = await startVerify([], temporary);
    expect(await readdir(temporary)).toEqual([expect.stringMatching(/^holdfast-verify-/)]);
    child.kill(signal);
    const { code, stdout, stderr } = await finished;
    expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
    expect(stderr).toMatch(/\nholdfast: verify was interrupted; [^\n]+\n$/);
    expect(workers.filter(isRunning)).toEqual([]);
    expect(await readdir(temporary)).toEqual([]);
  });

  test("by a closed terminal, to which nothing can be written any more, cleans up as well", async () => {
    const temporary = await newFolder();
    const { child, finished, workers } = await startVerify([], temporary);
    child.stderr?.destroy();
    // After the first guarantee the name of the next campaign goes to standard error.
    await Promise.race([once(child.stdout as Readable, "data"), finished]);
    child.kill("SIGHUP");
    expect((await finished).code).toBe(130);
    expect(workers.filter(isRunning)).toEqual([]);
    expect(await readdir(temporary)).toEqual([]);
  });

  for (const on of sharedEngines)
    test(`leaves nothing in the user's own store on ${on.name}`, async () => {
      const temporary = await newFolder();
      const url = await on.freshUrl();
      const { child, finished, workers } = await startVerify(["--json", "--store", url], temporary);
      await using engine = await openEngine(url);
      // Far enough that there is something to empty.
      while ((await engine.namespaces()).length === 0) await sleep(5);
      child.kill("SIGINT");
      const { code, stdout } = await finished;
      expect({ code, error: JSON.parse(stdout).error.code }).toEqual({ code: 130, error: "cancelled" });
      expect(workers.filter(isRunning)).toEqual([]);
      expect(await engine.namespaces()).toEqual([]);
    });
});

test("a campaign that waits for what its killed workers will never say is left alone after two seconds", async () => {
  const stop = new AbortController();
  // What is waited for after the end is noted and cut short.
  const waitsMs: number[] = [];
  const { sleep } = systemClock;
  const sleeping = vi.spyOn(systemClock, "sleep").mockImplementation((ms, signal) => {
    if (!stop.signal.aborted) return sleep(ms, signal);
    waitsMs.push(ms);
    return sleep(1, signal);
  });
  onTestFinished(() => void sleeping.mockRestore());
  const onProgress = (campaign: string, done: number): void => {
    if (campaign !== "hand-overs" || done === 0 || stop.signal.aborted) return;
    stop.abort();
  };
  await expect(runVerify({ quick: true, worker: verifyWorker(), signal: stop.signal, onProgress })).rejects.toMatchObject({ code: "cancelled" });
  expect(Math.max(...waitsMs)).toBe(2_000);
});
