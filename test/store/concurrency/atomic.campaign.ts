import { describe, expect, test } from "vitest";
import { openEngine } from "../../../src/engines/open-store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { everything } from "../../../src/store/ranges.ts";
import type { Sighting } from "../../../src/verify/checkers/atomic.ts";
import { checkAtomic } from "../../../src/verify/checkers/atomic.ts";
import { checkRevisions } from "../../../src/verify/checkers/revisions.ts";
import { readWhole } from "../../../src/verify/read-whole.ts";
import type { SentWrite } from "../../support/checkers/durable.ts";
import { checkDurable } from "../../support/checkers/durable.ts";
import { sharedEngines } from "../../support/engines.ts";
import { scaled } from "../../support/scale.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { spawnWorker } from "../../support/spawn-worker.ts";

type Told = { ready: true } | { sent: string } | { acknowledged: string; revision: number };

const members = Array.from({ length: 12 }, (_, i) => `member ${String(i).padStart(2, "0")}`);
for (const on of sharedEngines)
  describe(`commits of several keys (G5, G1) on ${on.name}`, () => {
    const kills = scaled(on.isServer ? 10 : 20, 4);

    test(`writers killed ${kills} times in the middle of their batches leave no part of a commit, and lose none they had answered`, async () => {
      const url = await on.freshUrl();
      await using engine = await openEngine(url);
      const store = openNamespaceStore(engine, "shared", systemClock);
      const sightings: Sighting[] = [];
      const stop = new AbortController();
      const watching = (async () => {
        for await (const change of store.watch(everything, 0, stop.signal))
          sightings.push({ by: "the watcher", revision: change.revision, values: Object.fromEntries(change.rows.map((row) => [row.key, row.value])) });
      })();
      const reading = (async () => {
        while (!stop.signal.aborted) {
          const { revision, entries } = await store.read(everything);
          sightings.push({ by: "the reader", revision, values: Object.fromEntries(entries.map((entry) => [entry.key, entry.value])) });
          await systemClock.sleep(2);
        }
      })();
      const random = seededRandom(7);
      const told: Told[] = [];
      for (let round = 0; round < kills; round += 1) {
        const writer = spawnWorker<Told>("group-writer", { url, members, client: `writer ${round}`, inFlight: 8, pauseMs: 0 });
        expect(await writer.next()).toEqual({ ready: true });
        // Every other one is let alone until it has been answered a few times: on a busy machine most would be killed before they had done anything.
        for (let answers = round % 2 === 1 ? 3 : 0; answers < 3; answers += "acknowledged" in (told.at(-1) as Told) ? 1 : 0) told.push(await writer.next());
        await systemClock.sleep(random(60));
        await writer.kill();
        told.push(...writer.taken());
      }
      const { revision, rows } = await readWhole(store);
      const by = (who: string): readonly Sighting[] => sightings.filter((sighting) => sighting.by === who);
      while (!by("the watcher").some((sighting) => sighting.revision === revision) || by("the reader").length <= kills) await systemClock.sleep(5);
      stop.abort();
      await Promise.all([watching, reading]);

      expect(revision).toBeGreaterThan(kills);
      expect(checkAtomic(members, sightings)).toEqual([]);
      const acknowledged = told.flatMap((line) => ("acknowledged" in line ? [line] : []));
      expect(checkRevisions({ rows, revision, acknowledged: acknowledged.map(({ acknowledged: client, revision }) => ({ client, revision })) })).toEqual([]);
      const revisions = new Map(acknowledged.map((line) => [line.acknowledged, line.revision]));
      const sent = told.flatMap((line): SentWrite[] => ("sent" in line ? members.map((key) => ({ key, value: line.sent, revision: revisions.get(line.sent) })) : []));
      expect(
        checkDurable(
          sent,
          rows.map((row) => ({ key: row.key, value: row.value as string, revision: row.revision })),
        ),
      ).toEqual([]);
    });
  });
