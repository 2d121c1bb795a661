import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { soon } from "./soon.ts";
import { spawnWorker } from "./spawn-worker.ts";

interface Echo {
  readonly said: string;
  readonly node: string;
  readonly atMs: number;
}

describe("a worker process", () => {
  test("repeats its input line by line, under the given Node", async () => {
    const worker = spawnWorker<Echo>("echo", "first", { node: process.execPath });
    worker.send("line\nbreak \u2028 \ud800");
    expect(await worker.next()).toMatchObject({ said: "first", node: process.version });
    expect((await worker.next()).said).toBe("line\nbreak \u2028 \ud800");
  });

  test("makes no progress while it is paused, and continues when it is resumed", async () => {
    const worker = spawnWorker<Echo>("echo", "before");
    await worker.next();
    worker.pause();
    // Stopped ("T"), as the system itself says.
    await soon(async () => expect((await promisify(execFile)("ps", ["-o", "stat=", "-p", String(worker.pid)])).stdout).toMatch(/^T/));
    worker.send("during");
    const resumedAtMs = Date.now();
    expect(worker.taken()).toEqual([]);
    worker.resume();
    const { said, atMs } = await worker.next();
    expect(said).toBe("during");
    expect(atMs).toBeGreaterThanOrEqual(resumedAtMs);
  });

  test("is gone after a kill, also while paused, and a wait for its next line ends with that", async () => {
    const worker = spawnWorker<Echo>("echo", "hello");
    await worker.next();
    const waiting = expect(worker.next()).rejects.toThrow(/signal SIGKILL/);
    worker.pause();
    await worker.kill();
    await waiting;
    expect(() => process.kill(worker.pid, 0)).toThrow();
    await expect(worker.ended()).rejects.toThrow(/echo ended/);
  });

  test("that fails gives its own words", async () => {
    const worker = spawnWorker<Echo>("echo", "fail");
    await expect(worker.next()).rejects.toThrow(/told to fail/);
  });
});
