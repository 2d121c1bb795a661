import { describe, expect, test } from "vitest";
import { logPositionOf } from "../../src/ledger/log-position.ts";
import type { CompactedSpace, PastRow } from "../../src/ledger/reclaim.ts";
import { Compaction, sweepCounts } from "../../src/ledger/reclaim.ts";
import { limits } from "../../src/store/limits.ts";

const everything = { ageMs: 0, revisions: 0, tombstones: 0 };
const nowMs = 1_000_000;

const spaceOf = (facts: Partial<CompactedSpace> = {}): CompactedSpace => ({ revision: 10, gaps: [], compacted: 0, compactedAtMs: 0, versionFloor: 0, tombstones: 0, ...facts });
const row = (revision: number, key: string, op: PastRow["op"] = "put", previous: number | null = null, seq = 0): PastRow => ({
  logPosition: logPositionOf(revision, seq),
  key,
  op,
  atMs: revision,
  previous,
});

describe("compaction", () => {
  test("releases rows with a newer one of their key, and endings; the newest put of a key stays", () => {
    const space = spaceOf();
    const rows = [row(1, "a"), row(2, "b"), row(3, "a", "put", logPositionOf(1)), row(4, "b", "delete", logPositionOf(2)), row(5, "c", "expire", null)];
    expect(new Compaction(space, everything, nowMs, 100).forgetRows(rows)).toEqual([logPositionOf(1), logPositionOf(2), logPositionOf(4), logPositionOf(5)]);
    expect(space).toMatchObject({ compacted: 5, compactedAtMs: 5 });
  });

  test("releases the one row that an earlier slice left of a key, once a newer one is in the past too", () => {
    const space = spaceOf({ compacted: 5 });
    const rows = [row(6, "a", "put", logPositionOf(2)), row(7, "a", "put", logPositionOf(6))];
    expect(new Compaction(space, everything, nowMs, 100).forgetRows(rows)).toEqual([logPositionOf(2), logPositionOf(6)]);
  });

  test("a slice ends with a whole revision: at its limit, or where the policy keeps what follows", () => {
    const rows = [row(1, "a"), row(2, "b"), row(2, "c", "put", null, 1), row(2, "d", "put", null, 2), row(3, "e"), row(4, "f")];
    const limited = spaceOf();
    const slice = new Compaction(limited, everything, nowMs, 2);
    slice.forgetRows(rows);
    expect([limited.compacted, slice.more]).toEqual([2, true]);
    const kept = spaceOf({ revision: 4 });
    const last = new Compaction(kept, { ...everything, ageMs: nowMs, revisions: 1 }, nowMs, 100);
    last.forgetRows(rows);
    expect([kept.compacted, last.more]).toEqual([3, false]);
    const young = new Compaction(spaceOf({ revision: 4 }), { ...everything, ageMs: nowMs, revisions: 10 }, nowMs, 100);
    expect([young.letsGoOf(rows), young.forgetRows(rows), young.more]).toEqual([false, [], false]);
  });

  test("reads enough rows that the last revision of a slice can be whole", () => {
    expect(new Compaction(spaceOf({ compacted: 3 }), everything, nowMs, 50).rowsToRead).toEqual({
      from: logPositionOf(4),
      before: logPositionOf(11),
      count: 50 + limits.commitRowsMax,
    });
  });

  test("tombstones go that the policy does not keep and history no longer shows; their versions raise the floor", () => {
    const space = spaceOf({ compacted: 7, tombstones: 5, versionFloor: 3 });
    const compaction = new Compaction(space, { ...everything, tombstones: 2 }, nowMs, 100);
    expect(compaction.tombstonesToRead).toEqual({ before: logPositionOf(8), count: 3 });
    compaction.forgetTombstones([{ version: 2 }, { version: 9 }]);
    expect(space).toMatchObject({ tombstones: 3, versionFloor: 9 });
    expect(new Compaction(space, { ...everything, tombstones: 10 }, nowMs, 100).tombstonesToRead.count).toBe(0);
    expect(new Compaction(space, everything, nowMs, 1).tombstonesToRead.count).toBe(1);
  });
});

test("a sweep ends no more entries than one revision can hold, and forgets at least as many request keys", () => {
  expect(sweepCounts(10)).toEqual({ entries: 10, requests: limits.commitRowsMax });
  expect(sweepCounts(1_000)).toEqual({ entries: limits.commitRowsMax, requests: 1_000 });
});
