import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { spawnWorker } from "../spawn-worker.ts";

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("servers end with the tests that started them, a frozen one too and even when those are killed, and their folders go with them", async () => {
  const holder = spawnWorker<readonly { readonly pid: number; readonly folder: string }[]>("server-holder", {});
  const servers = await holder.next();
  expect(servers.map(({ pid, folder }) => [isAlive(pid), existsSync(folder)])).toEqual([
    [true, true],
    [true, true],
  ]);
  await holder.kill();
  await expect.poll(() => servers.filter(({ pid, folder }) => isAlive(pid) || existsSync(folder)), { timeout: 8_000, interval: 50 }).toEqual([]);
});
