import { letGoThrough, restsFrom } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { logPositionOf, revisionAt } from "../../store/log-position.ts";
import type { BatchSource, StoredSlot } from "../../store/plan-batch.ts";
import { BatchPlan } from "../../store/plan-batch.ts";
import type { Compacted, HistoryRecord, RetentionPolicy } from "../../store/store.ts";
import { BatchWrites } from "./batch-writes.ts";
import type { NamespaceHandle } from "./commit-batch.ts";
import { StaleNamespaceError, writeAll } from "./commit-batch.ts";
import { opCode, parseLapse } from "./log-rows.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import { factsOf, leapIfWentBack, lockNamespace, readNamespace, withNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
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

/** One slice of the sweep, those that lapsed first in front. Old request keys are invisible already, so they may go in slices too. */
export async function sweepSlice(tx: Transaction, namespaceHandle: NamespaceHandle, limit: number): Promise<number> {
  const { tables: t, clock, namespace, id } = namespaceHandle;
  const [space] = await lockSpace(tx, namespaceHandle);
  clock.show(namespace, space);
  if (restsFrom(space.seal, "sweep", space.nowMs)) return 0;
  const forgetRequests: Statement = {
    name: "forget-requests",
    text: `DELETE FROM ${t.request} WHERE ns = $1 AND key IN (SELECT key FROM ${t.request} WHERE ns = $1 AND kept_until <= $2 ORDER BY kept_until LIMIT $3)`,
    values: [id, space.nowMs, Math.max(limit, limits.commitRowsMax)],
  };
  const [answer] = await tx.ask([
    {
      name: "expired",
      text: `SELECT kv.k, kv.place, kv.anchor, kv.ver, kv.created, kv.exp, kv.findable, (SELECT l.lapse FROM ${t.log} l WHERE l.ns = $1 AND l.place = kv.place)
        FROM ${t.kv} kv WHERE kv.ns = $1 AND kv.exp IS NOT NULL AND kv.exp <= $2 ORDER BY kv.exp, kv.k LIMIT $3`,
      values: [id, space.nowMs, Math.min(limit, limits.commitRowsMax)],
    },
  ]);
  const expired = (answer as StatementResult).rows as unknown as ExpiredRow[];
  if (expired.length > 0) leapIfWentBack(space, tx.session.facts.identity, clock.seenRevision(namespace));
  const plan = new BatchPlan(new ExpiredSource(expired), space, space.nowMs);
  for (const [key] of expired) plan.expire(key);
  if (expired.length > 0) plan.takeRevision();
  const writes = new BatchWrites();
  writes.add(space, plan, expired.length > 0);
  await writeAll(tx, t, writes, [forgetRequests]);
  clock.seeRevision(namespace, space);
  return expired.length;
}

/** Only what has expired is ever asked for. */
class ExpiredSource implements BatchSource {
  readonly #rows: ReadonlyMap<string, ExpiredRow>;

  constructor(rows: readonly ExpiredRow[]) {
    this.#rows = new Map(rows.map((row) => [row[0], row]));
  }

  readSlot(key: string): StoredSlot | undefined {
    const row = this.#rows.get(key);
    if (row === undefined) return undefined;
    const [, logPosition, anchor, version, createdAtMs, expiresAtMs, findable] = row;
    return { logPosition, anchor: anchor ?? undefined, version, createdAtMs, expiresAtMs, findable };
  }

  readLapse(key: string): HistoryRecord | undefined {
    return parseLapse(this.#rows.get(key)?.[7] ?? null);
  }

  readTombstone(): undefined {}
  readRequest(): undefined {}
  readEntry(): never {
    throw new RangeError("A sweep has no checks.");
  }
}

type WindowRow = [place: number, at: number, k: string, op: number, prev: number | null];

const readWindow = (t: Tables, space: PgNamespaceRow, limit: number): Statement => ({
  name: "window",
  text: `SELECT place, at, k, op, prev FROM ${t.log} WHERE ns = $1 AND place >= $2 AND place < $3 ORDER BY place LIMIT $4`,
  values: [space.id, logPositionOf(space.compacted + 1), logPositionOf(space.revision + 1), limit + limits.commitRowsMax],
});

/** Whole revisions after the compacted one that the policy lets go, about `limit` rows of them. */
function windowOf(answer: StatementResult, space: PgNamespaceRow, policy: RetentionPolicy, limit: number): readonly WindowRow[] {
  const rows = answer.rows as unknown as WindowRow[];
  const letGo = letGoThrough(space, policy.revisions);
  let target = space.compacted;
  let size = 0;
  for (const [logPosition, at] of rows) {
    const revision = revisionAt(logPosition);
    if (revision > target) {
      if (size >= limit || (at >= space.nowMs - policy.ageMs && revision > letGo)) break;
      target = revision;
    }
    size += 1;
  }
  return rows.slice(0, size);
}

const oldestTombstones = (t: Tables, space: PgNamespaceRow, count: number): Statement => ({
  name: "old-tombstones",
  text: `SELECT k, ver FROM ${t.tombstone} WHERE ns = $1 AND place < $2 ORDER BY place LIMIT $3`,
  values: [space.id, logPositionOf(space.compacted + 1), Math.max(0, count)],
});

/** Looks without a lock whether a slice would find anything. */
export async function hasSomethingToCompact(ask: (statement: Statement) => Promise<StatementResult>, t: Tables, space: PgNamespaceRow, policy: RetentionPolicy): Promise<boolean> {
  if (space.id === 0 || restsFrom(space.seal, "compact", space.nowMs)) return false;
  if (windowOf(await ask(readWindow(t, space, 1)), space, policy, 1).length > 0) return true;
  return space.tombstones > policy.tombstones && (await ask(oldestTombstones(t, space, 1))).rows.length > 0;
}

/** One slice of compaction. Its cost, and how long it holds the namespace, follows `limit`, not the size of the store. */
export async function compactSlice(tx: Transaction, namespaceHandle: NamespaceHandle, policy: RetentionPolicy, limit: number): Promise<Compacted> {
  const { tables: t, clock, namespace } = namespaceHandle;
  const [space] = await lockSpace(tx, namespaceHandle);
  clock.show(namespace, space);
  if (restsFrom(space.seal, "compact", space.nowMs)) return { removed: 0, more: false };
  const [answer] = await tx.ask([readWindow(t, space, limit)]);
  const window = windowOf(answer as StatementResult, space, policy, limit);
  const statements = forget(t, space, window);
  const [old] = await tx.ask([oldestTombstones(t, space, Math.min(space.tombstones - policy.tombstones, limit))]);
  const tombstoneRows = (old as StatementResult).rows as unknown as [string, number][];
  space.versionFloor = Math.max(space.versionFloor, ...tombstoneRows.map(([, version]) => version));
  space.tombstones -= tombstoneRows.length;
  const deleteOldTombstones = deleteTombstones(t, { ids: tombstoneRows.map(() => space.id), keys: tombstoneRows.map(([key]) => key) });
  const answers = await tx.commit([...statements, ...(tombstoneRows.length > 0 ? [deleteOldTombstones] : []), writeNamespace(t, space)]);
  return { removed: answers.slice(0, statements.length).reduce((sum, { count }) => sum + count, 0), more: window.length >= limit };
}

/**
 * A row may go when a newer row of its key is also in the past that is let go, or when it only says that the key is gone.
 * Earlier slices left at most one row per key below the window, and the chain leads to it. Moves the compacted revision on.
 */
function forget(t: Tables, space: PgNamespaceRow, window: readonly WindowRow[]): Statement[] {
  const last = window.at(-1);
  if (last === undefined) return [];
  const kept = logPositionOf(space.compacted + 1);
  const newest = new Map(window.map((row) => [row[2], row]));
  const gone: number[] = [];
  for (const row of window) {
    const [logPosition, , key, op, prev] = row;
    if (prev !== null && prev < kept) gone.push(prev);
    if (op !== opCode.put || newest.get(key) !== row) gone.push(logPosition);
  }
  space.compacted = revisionAt(last[0]);
  space.compactedAtMs = last[1];
  return [{ name: "forget", text: `DELETE FROM ${t.log} WHERE ns = $1 AND place = ANY($2::bigint[])`, values: [space.id, bigintArray(gone, (logPosition) => logPosition)] }];
}
