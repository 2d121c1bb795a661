import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteEngine } from "../../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { prefixRange } from "../../../src/store/ranges.ts";
import type { Change } from "../../../src/store/store.ts";
import type { WatchLife } from "../../../src/verify/checkers/watch.ts";
import { checkWatch } from "../../../src/verify/checkers/watch.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { spawnWorker } from "../../support/spawn-worker.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { wholeLog } from "./whole-log.ts";

type Told = { ready: true } | { change: Change };
const lives = 10;
const range = prefixRange("watched/");

test(`a watcher killed and restarted ${lives} times beside two writing processes sees every change once, in order, whole (G10)`, { timeout: 300_000 }, async () => {
  const path = join(await temporaryFolder(), "store.db");
  await using engine = await openSqliteEngine({ path });
  const store = openNamespaceStore(engine, "shared", systemClock);
  const writers = ["one", "two"].map((client) =>
    spawnWorker("group-writer", { path, client, inFlight: 2, pauseMs: 2, members: ["watched/a", `watched/${client}`, `other/${client}`] }),
  );
  for (const writer of writers) await writer.next();
  const random = seededRandom(11);
  const seen: WatchLife[] = [];
  let after = 0;
  for (let life = 0; life < lives; life += 1) {
    const watcher = spawnWorker<Told>("watcher", { path, range, after });
    expect(await watcher.next()).toEqual({ ready: true });
    // It has seen something, and is somewhere in the middle of more.
    const first = await watcher.next();
    await systemClock.sleep(random(60));
    await watcher.kill();
    const changes = changesOf([first, ...watcher.taken()]);
    seen.push({ after, changes });
    after = changes.at(-1)?.revision ?? after;
  }
  for (const writer of writers) await writer.kill();
  // The last life runs to the end of what the writers left.
  const { revision } = await store.read(range);
  const watcher = spawnWorker<Told>("watcher", { path, range, after });
  expect(await watcher.next()).toEqual({ ready: true });
  const rest: Change[] = [];
  for (let last = after; last < revision; last = rest.at(-1)?.revision ?? last) {
    const line = await watcher.next();
    if ("change" in line) rest.push(line.change);
  }
  await watcher.kill();
  seen.push({ after, changes: rest });

  expect(seen.flatMap((life) => life.changes).length).toBeGreaterThan(lives * 2);
  expect(checkWatch({ lives: seen, rows: await wholeLog(store, range) })).toEqual([]);
});

const changesOf = (lines: readonly Told[]): Change[] => lines.flatMap((line) => ("change" in line ? [line.change] : []));
