import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { CommitResult, DumpPage, DumpQuery, LogPage, LogQuery, PreparedCommit, Range, ReadOptions, SearchAnswer, SearchQuery, Snapshot } from "../../src/store/store.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import { propertySeed } from "../support/property-seed.ts";
import { describeHistories, frugalRuns, sameAnswers } from "./histories.ts";

describeHistories("a second memory engine", async (clock) => new MemoryEngine(clock), 50);

/** Engines with one defect each, of the kinds real engines have had. */
const faults: Record<string, (clock: ManualClock) => MemoryEngine> = {
  "checks are not looked at": (clock) =>
    new (class extends MemoryEngine {
      override commit(namespace: string, batch: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
        return super.commit(
          namespace,
          batch.map((commit) => ({ ...commit, checks: [] })),
        );
      }
    })(clock),
  "a retried request is done again": (clock) =>
    new (class extends MemoryEngine {
      override commit(namespace: string, batch: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
        return super.commit(
          namespace,
          batch.map(({ request: _dropped, ...commit }) => commit),
        );
      }
    })(clock),
  "the time to live is one millisecond short": (clock) =>
    new (class extends MemoryEngine {
      override commit(namespace: string, batch: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
        const shorten = (write: PreparedCommit["writes"][number]) => (write.op === "put" && write.ttlMs !== undefined ? { ...write, ttlMs: write.ttlMs - 1 } : write);
        return super.commit(
          namespace,
          batch.map((commit) => ({ ...commit, writes: commit.writes.map(shorten) })),
        );
      }
    })(clock),
  "keys are sorted by UTF-16 units": (clock) =>
    new (class extends MemoryEngine {
      override async read(namespace: string, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
        const snapshot = await super.read(namespace, ranges, options);
        return ranges.length === 1 && !options.reverse ? { ...snapshot, entries: snapshot.entries.toSorted((a, b) => (a.key < b.key ? -1 : 1)) } : snapshot;
      }
    })(clock),
  "the past is read with the present's clock": (clock) =>
    new (class extends MemoryEngine {
      override async read(namespace: string, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
        const snapshot = await super.read(namespace, ranges, options);
        return { ...snapshot, entries: snapshot.entries.filter((entry) => entry.expiresAtMs === undefined || snapshot.nowMs < entry.expiresAtMs) };
      }
    })(clock),
  "a page cuts a revision in two": (clock) =>
    new (class extends MemoryEngine {
      override async log(namespace: string, query: LogQuery): Promise<LogPage> {
        const page = await super.log(namespace, query);
        return { ...page, rows: page.rows.slice(0, query.limit) };
      }
    })(clock),
  "the sweep forgets to record a lapse": (clock) =>
    new (class extends MemoryEngine {
      override async sweep(): Promise<number> {
        return 0;
      }
    })(clock),
  "compaction forgets the newest revision too": (clock) =>
    new (class extends MemoryEngine {
      override compact(namespace: string, policy: { ageMs: number; revisions: number; tombstones: number }, limit: number): ReturnType<MemoryEngine["compact"]> {
        return super.compact(namespace, { ...policy, revisions: policy.revisions - 1 }, limit);
      }
    })(clock),
  "the index counts what is not live any more": (clock) =>
    new (class extends MemoryEngine {
      override async search(namespace: string, query: SearchQuery): Promise<SearchAnswer> {
        const answer = await super.search(namespace, query);
        const gone = (await super.dump(namespace, { part: "keys" })).records.filter((record) => record.kind === "key" && !record.present);
        return { ...answer, documents: answer.documents + gone.length };
      }
    })(clock),
  "a dump forgets the last versions of what is gone": (clock) =>
    new (class extends MemoryEngine {
      override async dump(namespace: string, query: DumpQuery): Promise<DumpPage> {
        const page = await super.dump(namespace, query);
        return { ...page, records: page.records.filter((record) => record.kind !== "key" || record.present) };
      }
    })(clock),
  "a seal is not kept": (clock) =>
    new (class extends MemoryEngine {
      override async seal(): Promise<void> {}
    })(clock),
};

describe("random histories find a planted fault", () => {
  test.each(Object.entries(faults))("%s", async (_name, open) => {
    const clock = manualClock();
    const details = await fc.check(sameAnswers(open(clock), clock), { numRuns: frugalRuns, endOnFailure: true, seed: propertySeed });
    expect(details.failed).toBe(true);
  });
});
