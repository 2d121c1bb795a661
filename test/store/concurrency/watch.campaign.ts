import { describe, expect, test } from "vitest";
import { openEngine } from "../../../src/engines/open-store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { prefixRange } from "../../../src/store/ranges.ts";
import type { Change } from "../../../src/store/store.ts";
import type { WatchLife } from "../../../src/verify/checkers/watch.ts";
import { checkWatch } from "../../../src/verify/checkers/watch.ts";
import { readWholeLog } from "../../../src/verify/read-whole.ts";
import { sharedEngines } from "../../support/engines.ts";
import { scaled } from "../../support/scale.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { spawnWorker } from "../../support/spawn-worker.ts";

type Told = { ready: true } | { change: Change };
const range = prefixRange("watched/");

for (const on of sharedEngines)
  describe(`watching (G10) on ${on.name}`, () => {
    const lives = scaled(on.isServer ? 6 : 10, 3);

    test(`a watcher killed and restarted ${lives} times beside two writing processes sees every change once, in order, whole`, async () => {
      const url = await on.freshUrl();
      await using engine = await openEngine(url);
      const store = openNamespaceStore(engine, "shared", systemClock);
      const writers = ["one", "two"].map((client) =>
        spawnWorker("group-writer", { url, client, inFlight: 2, pauseMs: 2, members: ["watched/a", `watched/${client}`, `other/${client}`] }),
      );
      for (const writer of writers) await writer.next();
      const random = seededRandom(11);
      const seen: WatchLife[] = [];
      let after = 0;
      for (let life = 0; life < lives; life += 1) {
        const watcher = spawnWorker<Told>("watcher", { url, range, after });
        expect(await watcher.next()).toEqual({ ready: true });
        // It has seen some changes, and is somewhere in the middle of more.
        const first = [await watcher.next(), await watcher.next(), await watcher.next()];
        await systemClock.sleep(random(60));
        await watcher.kill();
        const changes = changesOf([...first, ...watcher.taken()]);
        seen.push({ after, changes });
        after = changes.at(-1)?.revision ?? after;
      }
      for (const writer of writers) await writer.kill();
      // The last life runs to the end of what the writers left.
      const { revision } = await store.read(range);
      const watcher = spawnWorker<Told>("watcher", { url, range, after });
      expect(await watcher.next()).toEqual({ ready: true });
      const rest: Change[] = [];
      for (let last = after; last < revision; last = rest.at(-1)?.revision ?? last) {
        const line = await watcher.next();
        if ("change" in line) rest.push(line.change);
      }
      await watcher.kill();
      seen.push({ after, changes: rest });

      // A server may apply what a killed writer had sent a little later, too late for this watcher.
      const last = Math.max(revision, rest.at(-1)?.revision ?? 0);
      const rows = (await readWholeLog(store, range)).rows.filter((row) => row.revision <= last);
      expect(seen.flatMap((life) => life.changes).length).toBeGreaterThan(lives * 2);
      expect(checkWatch({ lives: seen, rows })).toEqual([]);
    });
  });

const changesOf = (lines: readonly Told[]): Change[] => lines.flatMap((line) => ("change" in line ? [line.change] : []));
