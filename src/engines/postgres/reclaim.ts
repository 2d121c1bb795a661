import { BatchPlan } from "../../ledger/plan-batch.ts";
import type { PastRow } from "../../ledger/reclaim.ts";
import { Compaction, planSweep, sweepCounts } from "../../ledger/reclaim.ts";
import { opOf } from "../../ledger/stored-row.ts";
import { restsFrom } from "../../store/engine-rules.ts";
import type { Compacted, RetentionPolicy } from "../../store/store.ts";
import { BatchWrites } from "./batch-writes.ts";
import type { NamespaceHandle } from "./commit-batch.ts";
import { StaleNamespaceError, writeAll } from "./commit-batch.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import { factsOf, leapIfWentBack, lockNamespace, readNamespace, withNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import { FoundSource } from "./read-slots.ts";
import type { Tables } from "./schema.ts";
import { bigintArray } from "./sql-arrays.ts";
import type { Transaction } from "./transaction.ts";
import { deleteTombstones, writeNamespace } from "./write-rows.ts";

/** Under the lock: the facts, and what a further statement says. */
export async function lockSpace(tx: Transaction, { tables: t, clock, namespace, id }: NamespaceHandle, ...further: Statement[]): Promise<[PgNamespaceRow, ...StatementResult[]]> {
  const parameters = clock.parameters(namespace);
  const [, facts, ...answers] = await tx.lock([lockNamespace(t, id), readNamespace(t, parameters), ...further]);
  const space = factsOf((facts as StatementResult).rows, clock, namespace);
  if (space.id !== id) throw new StaleNamespaceError();
  return [space, ...answers];
}

/** Most sweeps find nothing: a look that takes no lock. Answers facts, and whether something has expired. */
export const sweepLook = (t: Tables, parameters: readonly unknown[]): Statement => ({
  name: "sweep-look",
  text: `${withNamespace(t)} SELECT n.facts, EXISTS (SELECT 1 FROM ${t.kv} WHERE ns = n.id AND exp IS NOT NULL AND exp <= n.now) OR EXISTS (SELECT 1 FROM ${t.request} WHERE ns = n.id AND kept_until <= n.now) FROM n`,
  values: parameters,
});

type ExpiredRow = [k: string, place: number, anchor: number | null, ver: number, created: number, exp: number, findable: boolean, lapse: string | null];

/** One slice of the sweep, those that lapsed first in front. */
export async function sweepSlice(tx: Transaction, namespaceHandle: NamespaceHandle, limit: number): Promise<number> {
  const { tables: t, clock, namespace, id } = namespaceHandle;
  const [space] = await lockSpace(tx, namespaceHandle);
  clock.show(namespace, space);
  if (restsFrom(space.seal, "sweep", space.nowMs)) return 0;
  const counts = sweepCounts(limit);
  const forgetRequests: Statement = {
    name: "forget-requests",
    text: `DELETE FROM ${t.request} WHERE ns = $1 AND key IN (SELECT key FROM ${t.request} WHERE ns = $1 AND kept_until <= $2 ORDER BY kept_until LIMIT $3)`,
    values: [id, space.nowMs, counts.requests],
  };
  const [answer] = await tx.ask([
    {
      name: "expired",
      text: `SELECT kv.k, kv.place, kv.anchor, kv.ver, kv.created, kv.exp, kv.findable, (SELECT l.lapse FROM ${t.log} l WHERE l.ns = $1 AND l.place = kv.place)
        FROM ${t.kv} kv WHERE kv.ns = $1 AND kv.exp IS NOT NULL AND kv.exp <= $2 ORDER BY kv.exp, kv.k LIMIT $3`,
      values: [id, space.nowMs, counts.entries],
    },
  ]);
  const source = new FoundSource();
  for (const [key, position, anchor, version, createdAtMs, expiresAtMs, findable, lapse] of (answer as StatementResult).rows as unknown as ExpiredRow[])
    source.slots.set(key, { logPosition: position, anchor: anchor ?? undefined, version, createdAtMs, expiresAtMs, findable, lapse });
  const expired = [...source.slots.keys()];
  if (expired.length > 0) leapIfWentBack(space, tx.session.facts.identity, clock.seenRevision(namespace));
  const plan = new BatchPlan(source, space, space.nowMs);
  planSweep(plan, expired);
  const writes = new BatchWrites();
  writes.add(space, plan, expired.length > 0);
  await writeAll(tx, t, writes, [forgetRequests]);
  clock.seeRevision(namespace, space);
  return expired.length;
}

const rowsStatement = (t: Tables, { id }: PgNamespaceRow, { from, before, count }: Compaction["rowsToRead"]): Statement => ({
  name: "window",
  text: `SELECT place, at, k, op, prev FROM ${t.log} WHERE ns = $1 AND place >= $2 AND place < $3 ORDER BY place LIMIT $4`,
  values: [id, from, before, count],
});

const toRows = (answer: StatementResult | undefined): PastRow[] =>
  ((answer as StatementResult).rows as unknown as [number, number, string, number, number | null][]).map(
    ([position, atMs, key, op, previous]): PastRow => ({ logPosition: position, atMs, key, op: opOf(op), previous }),
  );

const tombstonesStatement = (t: Tables, { id }: PgNamespaceRow, { before, count }: Compaction["tombstonesToRead"]): Statement => ({
  name: "old-tombstones",
  text: `SELECT k, ver FROM ${t.tombstone} WHERE ns = $1 AND place < $2 ORDER BY place LIMIT $3`,
  values: [id, before, count],
});

/** Looks without a lock whether a slice would find anything. */
export async function hasSomethingToCompact(ask: (statement: Statement) => Promise<StatementResult>, t: Tables, space: PgNamespaceRow, policy: RetentionPolicy): Promise<boolean> {
  if (space.id === 0 || restsFrom(space.seal, "compact", space.nowMs)) return false;
  const compaction = new Compaction(space, policy, space.nowMs, 1);
  if (compaction.letsGoOf(toRows(await ask(rowsStatement(t, space, compaction.rowsToRead))))) return true;
  const wanted = compaction.tombstonesToRead;
  return wanted.count > 0 && (await ask(tombstonesStatement(t, space, wanted))).rows.length > 0;
}

/** One slice of compaction: how long it holds the namespace follows `limit`. */
export async function compactSlice(tx: Transaction, namespaceHandle: NamespaceHandle, policy: RetentionPolicy, limit: number): Promise<Compacted> {
  const { tables: t, clock, namespace } = namespaceHandle;
  const [space] = await lockSpace(tx, namespaceHandle);
  clock.show(namespace, space);
  if (restsFrom(space.seal, "compact", space.nowMs)) return { removed: 0, more: false };
  const compaction = new Compaction(space, policy, space.nowMs, limit);
  const [rows] = await tx.ask([rowsStatement(t, space, compaction.rowsToRead)]);
  const gone = compaction.forgetRows(toRows(rows));
  const [old] = await tx.ask([tombstonesStatement(t, space, compaction.tombstonesToRead)]);
  const tombstones = ((old as StatementResult).rows as unknown as [string, number][]).map(([key, version]) => ({ key, version }));
  compaction.forgetTombstones(tombstones);
  const [removed] = await tx.commit([
    { name: "forget", text: `DELETE FROM ${t.log} WHERE ns = $1 AND place = ANY($2::bigint[])`, values: [space.id, bigintArray(gone, (each) => each)] },
    ...(tombstones.length > 0 ? [deleteTombstones(t, { ids: tombstones.map(() => space.id), keys: tombstones.map(({ key }) => key) })] : []),
    writeNamespace(t, space),
  ]);
  return { removed: (removed as StatementResult).count, more: compaction.more };
}
