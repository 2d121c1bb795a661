import { expect, test } from "vitest";
import { jumpEvery, logPositionOf } from "../../src/ledger/log-position.ts";
import type { BatchSource, StoredSlot, Tombstone } from "../../src/ledger/plan-batch.ts";
import { BatchPlan } from "../../src/ledger/plan-batch.ts";
import type { PreparedCommit } from "../../src/store/store.ts";

const nowMs = 1_000;

function planOf(stored: { readonly slots?: Readonly<Record<string, StoredSlot>>; readonly tombstones?: Readonly<Record<string, Tombstone>> } = {}): BatchPlan {
  const source: BatchSource = {
    readSlot: (key) => stored.slots?.[key],
    readTombstone: (key) => stored.tombstones?.[key],
    readRequest: () => undefined,
    readLapse: () => ({ kind: "lease", op: "lapsed", subject: "a" }),
    readEntry: () => {
      throw new RangeError("Nothing is checked.");
    },
  };
  return new BatchPlan(source, { revision: 10, clockMs: 0, versionFloor: 0, base: 0 }, nowMs);
}

const put = (key: string): PreparedCommit => ({ checks: [], writes: [{ op: "put", key, json: "1" }], writer: "w", bytes: 1 });

test("each row points to the one before it of its key, and every so many versions one to the last that did", () => {
  const plan = planOf({ slots: { a: { logPosition: logPositionOf(9), version: jumpEvery - 1, anchor: logPositionOf(3), createdAtMs: 1, findable: false } } });
  for (let i = 0; i < jumpEvery + 1; i += 1) plan.apply(put("a"));
  const [first, second] = plan.rows;
  expect(first).toMatchObject({ version: jumpEvery, previous: logPositionOf(9), anchor: logPositionOf(3) });
  expect(second).toMatchObject({ previous: logPositionOf(11), anchor: logPositionOf(11) });
  expect(plan.rows.at(-1)).toMatchObject({ version: 2 * jumpEvery, anchor: logPositionOf(11) });
  expect([...plan.changed()]).toMatchObject([["a", { anchor: plan.rows.at(-1)?.logPosition }]]);
});

test("a put that meets an expired entry first ends it, in the same revision", () => {
  const plan = planOf({ slots: { a: { logPosition: logPositionOf(9), version: 4, createdAtMs: 1, expiresAtMs: nowMs, findable: false } } });
  expect(plan.apply(put("a"))).toMatchObject({ ok: true, revision: 11, writes: [{ version: 5, existed: false }] });
  expect(plan.rows).toMatchObject([
    { op: "expire", version: 4, revision: 11, seq: 0, record: { op: "lapsed" } },
    { op: "put", version: 5, revision: 11, seq: 1, previous: logPositionOf(11), createdAtMs: nowMs },
  ]);
  expect([plan.slotOf(0), plan.slotOf(1)?.row]).toEqual([undefined, plan.rows[1]]);
});

test("a key that ended continues above its last version, at the end of its chain", () => {
  const plan = planOf({ tombstones: { a: { logPosition: logPositionOf(7), version: 6, anchor: logPositionOf(2) } } });
  expect(plan.apply(put("a"))).toMatchObject({ writes: [{ version: 7, existed: false }] });
  expect(plan.rows).toMatchObject([{ previous: logPositionOf(7), anchor: logPositionOf(2) }]);
});
