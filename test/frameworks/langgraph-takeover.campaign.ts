import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { requireService } from "../stories/installed-package.ts";
import { sharedEngines } from "../support/engines.ts";
import { scaled } from "../support/scale.ts";
import { startPostgres } from "../support/servers/postgres-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { TakeOverResult } from "./graph-takeover.ts";
import { takeOver } from "./graph-takeover.ts";

/** On three engines, in a node and in a write of the saver: 1,000 rounds at scale 5. */
const rounds = scaled(34, 10);
const stockRounds = 10;

const print = (what: string, { staleWritesAccepted, rounds: count, workLost, firstEnded }: TakeOverResult): void =>
  console.log(
    `${what}: ${staleWritesAccepted} stale writes accepted and the work of ${workLost} successors lost in ${count} rounds; the replaced worker's runs: ${JSON.stringify(firstEnded)}`,
  );

for (const inside of ["node", "write"] as const) {
  describe(`a worker that is stopped inside a ${inside} while another one takes over its threads`, () => {
    test.each(sharedEngines)("stores nothing when it wakes, and is told that its claim has ended, on $name", async (on) => {
      const beside = await requireService("langgraph-savers.mjs");
      const result = await takeOver({ saver: "holdfast", url: await on.freshUrl(), beside }, rounds, inside);
      print(`HoldfastSaver on ${on.name}, stopped inside a ${inside}`, result);
      expect(result).toEqual({ rounds, staleWritesAccepted: 0, workLost: 0, firstEnded: { lease_lost: rounds }, secondFinished: rounds });
    });

    test("overwrites its successor's work with the savers that come with LangGraph", async () => {
      const beside = await requireService("langgraph-savers.mjs");
      await using postgres = await startPostgres();
      const stock = { sqlite: join(await temporaryFolder(), "stock.db"), postgres: postgres.superuserUrl };
      for (const saver of ["sqlite", "postgres"] as const) {
        const result = await takeOver({ saver, url: stock[saver], beside }, stockRounds, inside);
        print(`LangGraph's ${saver} saver, stopped inside a ${inside}`, result);
        expect(result).toMatchObject({ staleWritesAccepted: stockRounds, secondFinished: stockRounds });
      }
    });
  });
}
