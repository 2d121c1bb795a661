import { expect, test } from "vitest";
import { RecordLoadPlan, requireLoadable } from "../../src/ledger/load-plan.ts";
import { logPositionOf } from "../../src/ledger/log-position.ts";
import type { BatchSource, StoredSlot, Tombstone } from "../../src/ledger/plan-batch.ts";
import { BatchPlan } from "../../src/ledger/plan-batch.ts";
import { limits } from "../../src/store/limits.ts";
import type { StoredKey, StoredLogRow, StoredRecord } from "../../src/store/store.ts";

const text = { area: "notes", terms: [["alpha", 100]], length: 1 } as const;

interface Stored {
  readonly slots?: Readonly<Record<string, StoredSlot>>;
  readonly tombstones?: Readonly<Record<string, Tombstone>>;
  /** Where rows of the log are, in order. */
  readonly log?: readonly number[];
}

/** Loads records into a store that has this, and gives what is to be written. */
function loaded(records: readonly StoredRecord[], { slots = {}, tombstones = {}, log = [] }: Stored = {}): { readonly batch: BatchPlan; readonly load: RecordLoadPlan } {
  const source: BatchSource = {
    readSlot: (key) => slots[key],
    readTombstone: (key) => tombstones[key],
    readRequest: () => undefined,
    readLapse: () => undefined,
    readEntry: () => {
      throw new RangeError("Nothing is checked.");
    },
  };
  const batch = new BatchPlan(source, { revision: 0, clockMs: 0, versionFloor: 0, base: 0 }, 1);
  return { batch, load: new RecordLoadPlan(batch, records, { newest: log.at(-1) ?? 0, has: (logPosition) => log.includes(logPosition) }) };
}

const row = (revision: number, key: string, version: number, op: StoredLogRow["op"] = "put"): StoredLogRow => ({
  kind: "log",
  revision,
  seq: 0,
  key,
  op,
  version,
  ...(op === "put" ? { json: "1" } : {}),
  createdAtMs: 1,
  atMs: revision,
  writer: "w",
});
const key = (name: string, revision: number, version: number, rest: Partial<StoredKey> = {}): StoredKey => ({
  kind: "key",
  key: name,
  revision,
  seq: 0,
  version,
  present: true,
  ...rest,
});
const slot = (revision: number, findable = false): StoredSlot => ({ logPosition: logPositionOf(revision), version: 1, createdAtMs: 1, findable });

test("rows become a chain per key; what is there already changes nothing, what would be out of order is refused", () => {
  const { batch } = loaded([row(1, "a", 1), row(2, "a", 2), row(3, "b", 1)], { log: [logPositionOf(1)], slots: { a: slot(1) } });
  expect(batch.rows.map(({ key: name, logPosition, previous }) => [name, logPosition, previous])).toEqual([
    ["a", logPositionOf(2), logPositionOf(1)],
    ["b", logPositionOf(3), undefined],
  ]);
  expect(() => loaded([row(1, "a", 1)], { log: [logPositionOf(2)] })).toThrow("log row 1.0 comes after 2.0");
});

test("a tombstone that came ahead of the rows it speaks of is not part of their chain", () => {
  const { batch } = loaded([row(2, "a", 1), row(5, "a", 1, "delete")], { tombstones: { a: { logPosition: logPositionOf(5), version: 1 } } });
  expect(batch.rows.map(({ previous }) => previous)).toEqual([undefined, logPositionOf(2)]);
  expect([...batch.changed()]).toMatchObject([["a", { present: false, tombstone: { logPosition: logPositionOf(5) } }]]);
});

test("a key that is gone is remembered only where nothing is known of it, and once", () => {
  const gone = { present: false };
  const { load } = loaded([row(4, "d", 1), key("a", 3, 7, gone), key("a", 3, 7, gone), key("b", 3, 7, gone), key("c", 3, 7, gone), key("d", 9, 7, gone)], {
    slots: { b: slot(2) },
    tombstones: { c: { logPosition: logPositionOf(2), version: 2 } },
    log: [logPositionOf(2)],
  });
  expect(load.tombstones).toEqual([{ key: "a", logPosition: logPositionOf(3), version: 7 }]);
});

test("a text belongs to the row it was written with: to one of the same load, or to an entry that is there", () => {
  const { batch, load } = loaded(
    [row(4, "new", 1), key("new", 4, 1, { index: text }), key("old", 2, 1, { index: text }), key("known", 2, 1, { index: text }), key("stale", 2, 1, { index: text })],
    {
      slots: { old: slot(2), known: slot(2, true), stale: slot(3) },
      log: [logPositionOf(3)],
    },
  );
  expect(load.texts.map(({ key: name }) => name)).toEqual(["old"]);
  expect([...batch.changed()]).toMatchObject([["new", { index: text }]]);
});

test("facts beyond what any engine can number are refused; the seal stays the namespace's own", () => {
  const facts = { revision: 1, clockMs: 1, compacted: 0, compactedAtMs: 0, versionFloor: 0, base: 0, gaps: [] };
  expect(requireLoadable({ ...facts, seal: { state: "moved", to: "elsewhere" } })).toEqual(facts);
  expect(() => requireLoadable({ ...facts, revision: limits.revisionMax + 1 })).toThrow(/^facts\.revision: must be at most/);
});
