import { RecordLoadPlan, requireLoadable } from "../../ledger/load-plan.ts";
import { logPositionOf } from "../../ledger/log-position.ts";
import { BatchPlan } from "../../ledger/plan-batch.ts";
import { requireFilling } from "../../store/engine-rules.ts";
import type { NamespaceFacts, StoredLogRow, StoredRecord } from "../../store/store.ts";
import { BatchWrites } from "./batch-writes.ts";
import type { NamespaceHandle } from "./commit-batch.ts";
import { StaleNamespaceError, writeAll } from "./commit-batch.ts";
import { historyMark } from "./history-mark.ts";
import { lockNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { FoundSlots } from "./read-slots.ts";
import { SlotQuestions } from "./read-slots.ts";
import { lockSpace } from "./reclaim.ts";
import type { Tables } from "./schema.ts";
import { bigintArray } from "./sql-arrays.ts";
import type { Transaction } from "./transaction.ts";
import { writeNamespace } from "./write-rows.ts";

/** Takes over records of another store in one transaction: what there was and is under their keys is looked up in one go, all of it written in another. */
export async function loadRecords(
  tx: Transaction,
  namespaceHandle: NamespaceHandle,
  records: readonly StoredRecord[],
  facts: NamespaceFacts | undefined,
  by: string | undefined,
): Promise<void> {
  const { tables: t, clock, namespace, id } = namespaceHandle;
  const keys = new Set(records.flatMap((record) => (record.kind === "request" ? [] : [record.key])));
  const questions = new SlotQuestions([{ namespace, id, keys, requestKeys: [] }]);
  const [, newest, known, ...answers] = await tx.lock([lockNamespace(t, id), ...logStatements(t, id, records), ...questions.statements(t, clock)]);
  const [{ space, source }] = questions.found(answers, clock) as [FoundSlots];
  if (space.id !== id) throw new StaleNamespaceError();
  requireFilling(space.seal, by);
  const plan = new BatchPlan(source, space, space.nowMs);
  const there = new Set(placesIn(known));
  const load = new RecordLoadPlan(plan, records, { newest: placesIn(newest)[0] ?? 0, has: (each) => there.has(each) });
  if (facts !== undefined) {
    Object.assign(space, requireLoadable(facts));
    // From here on: a dump made before the first commit must know it too.
    space.servedBy = historyMark(tx.session.facts.identity, space);
  }
  const writes = new BatchWrites();
  writes.add(space, plan, false, load);
  await writeAll(tx, t, writes, facts === undefined ? [] : [writeNamespace(t, space)]);
}

const placesIn = (answer: StatementResult | undefined): number[] => (answer as StatementResult).rows.map(([position]) => position as unknown as number);

/** The newest row there is, and those there are of the ones that are offered. */
const logStatements = (t: Tables, id: number, records: readonly StoredRecord[]): Statement[] => [
  { name: "newest-row", text: `SELECT place FROM ${t.log} WHERE ns = $1 ORDER BY place DESC LIMIT 1`, values: [id] },
  {
    name: "known",
    text: `SELECT place FROM ${t.log} WHERE ns = $1 AND place = ANY($2::bigint[])`,
    values: [
      id,
      bigintArray(
        records.filter((record): record is StoredLogRow => record.kind === "log"),
        ({ revision, seq }) => logPositionOf(revision, seq),
      ),
    ],
  },
];

/** Tables of a namespace's records with their keys, in the order in which they can go. */
const emptied = (t: Tables): readonly (readonly [table: string, key: string])[] => [
  [t.posting, "area, term, place"],
  [t.term, "area, term"],
  [t.document, "k"],
  [t.area, "id"],
  [t.request, "key"],
  [t.tombstone, "k"],
  [t.kv, "k"],
  [t.log, "place"],
];
const clearedPerSlice = 5_000;

/** One slice of emptying a namespace that is sealed as `filling`; false when nothing was left and the seal is gone with the row. */
export async function clearSlice(tx: Transaction, namespaceHandle: NamespaceHandle): Promise<boolean> {
  const { tables: t, id } = namespaceHandle;
  const [space] = await lockSpace(tx, namespaceHandle);
  requireFilling(space.seal);
  const slices = await tx.ask(
    emptied(t).map(
      ([table, key]): Statement => ({
        text: `DELETE FROM ${table} WHERE ns = $1 AND (${key}) IN (SELECT ${key} FROM ${table} WHERE ns = $1 LIMIT ${clearedPerSlice})`,
        values: [id],
      }),
    ),
  );
  const isEmpty = slices.every(({ count }) => count < clearedPerSlice);
  await tx.commit(isEmpty ? [{ text: `DELETE FROM ${t.namespace} WHERE id = $1`, values: [id] }] : []);
  return !isEmpty;
}
