import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { spawnWorker } from "../spawn-worker.ts";
import { running } from "./server-process.ts";

test("servers end with the tests that started them, a frozen one too and even when those are killed, and their folders go with them", async () => {
  const holder = spawnWorker<readonly { readonly pid: number; readonly folder: string }[]>("server-holder", {});
  const servers = await holder.next();
  const left = async (): Promise<readonly unknown[]> => [
    ...(await running(servers.map(({ pid }) => pid))),
    ...servers.map(({ folder }) => folder).filter((folder) => existsSync(folder)),
  ];
  expect(await left()).toHaveLength(4);
  await holder.kill();
  await expect.poll(left, { interval: 50 }).toEqual([]);
});
