import type { Clock } from "../../kernel/clock.ts";
import type { SpaceRow } from "../../ledger/rows.ts";
import { baseAbove, gapsMax } from "../../store/engine-rules.ts";
import type { NamespaceFacts, Revision, Seal } from "../../store/store.ts";
import { historyMark, isOtherHistory, keptMark } from "./history-mark.ts";
import type { Statement } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import { numbers } from "./sql-arrays.ts";

/** A namespace's row at the moment of a statement. */
export interface PgNamespaceRow extends SpaceRow {
  /** The mark of the history that last wrote to it (see history-mark.ts). */
  servedBy: string | null;
  /** The oid of the row's table, which changes when a dump is restored. It comes with the row, so that a process that is running during the restore notices. */
  tableOid: number;
  /** How often the row was written: data read under one count is valid as long as the count is the same. */
  changes: number;
  /** The server's clock; `nowMs` is the namespace's clock. */
  hostMs: number;
}

type Packed = [
  id: number | null,
  revision: number | null,
  clock: number | null,
  compacted: number | null,
  compactedAt: number | null,
  floor: number | null,
  tombstones: number | null,
  base: number | null,
  gaps: string | null,
  seal: string | null,
  servedBy: string | null,
  changes: number | null,
  tableOid: number | null,
  host: number,
  now: number,
];

/** All of a namespace's row `s` in one column, with the server's clock and the time at which the statement judges expiry. */
export const factsColumn = (host: string, now: string): string =>
  `json_build_array(s.id, s.revision, s.clock, s.compacted, s.compacted_at, s.version_floor, s.tombstones, s.base, s.gaps, s.seal, s.served_by, s.changes, s.tableoid::bigint, ${host}, ${now})::text`;

/** The time of the statement, not of the transaction, which may have waited for a lock. A test's clock is passed as a parameter. */
export const hostClock = (parameter: string): string => `coalesce(${parameter}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;

/**
 * The start of every reading statement: the namespace as `n` (id, now, facts, revision, compacted_at), present even if the namespace does not exist.
 * $1: name, $2: a test's clock, $3: the latest time this process has returned. One statement sees one moment, so reads need no other consistency.
 */
export const withNamespace = (t: Tables, recursive = ""): string =>
  `WITH ${recursive} n AS MATERIALIZED (
    SELECT coalesce(s.id, 0) AS id, coalesce(s.revision, 0) AS revision, coalesce(s.compacted_at, 0) AS compacted_at, c.now, ${factsColumn("h.host", "c.now")} AS facts
    FROM (SELECT ${hostClock("$2")} AS host) h LEFT JOIN ${t.namespace} s ON s.name = $1 CROSS JOIN LATERAL (SELECT greatest(h.host, s.clock, $3::bigint) AS now) c)`;

/** The facts, in only one row of the result. */
export const factsOnce = "CASE WHEN row_number() OVER () = 1 THEN n.facts END";

export function factsOf(rows: readonly (readonly unknown[])[]): PgNamespaceRow {
  for (const row of rows) if (row[0] !== null) return unpackFacts(row[0] as string);
  throw new RangeError("An answer came without the namespace's facts.");
}

/** `nowMs` is the statement's own time: a later one, returned meanwhile by another call, would contradict what the statement considered live. */
export function unpackFacts(text: string): PgNamespaceRow {
  const [id, revision, clockMs, compacted, compactedAtMs, versionFloor, tombstones, base, gaps, seal, servedBy, changes, tableOid, hostMs, nowMs] = JSON.parse(text) as Packed;
  // For a namespace that does not exist, only the times are known.
  return {
    id: id ?? 0,
    revision: revision ?? 0,
    clockMs: clockMs ?? 0,
    compacted: compacted ?? 0,
    compactedAtMs: compactedAtMs ?? 0,
    versionFloor: versionFloor ?? 0,
    tombstones: tombstones ?? 0,
    base: base ?? 0,
    gaps: gaps === null ? [] : (JSON.parse(gaps) as NamespaceFacts["gaps"]),
    seal: seal === null ? undefined : (JSON.parse(seal) as Seal),
    servedBy,
    changes: changes ?? 0,
    tableOid: tableOid ?? 0,
    hostMs,
    nowMs,
  };
}

/** The times and revisions that this process has returned, so that an entry that a reader saw expire stays expired and a history that went back is noticed. */
export class PgNamespaceClock {
  readonly #timeSource: Clock | undefined;
  readonly #shownMs = new Map<string, number>();
  readonly #revisions = new Map<string, Revision>();

  constructor(timeSource: Clock | undefined) {
    this.#timeSource = timeSource;
  }

  get isTested(): boolean {
    return this.#timeSource !== undefined;
  }

  /** A test's clock, as a parameter. */
  get testMs(): number | null {
    return this.#timeSource?.nowMs() ?? null;
  }

  /** The parameters $1 to $3 of every statement about a namespace. */
  parameters(name: string): [name: string, testMs: number | null, shownMs: number] {
    return [name, this.testMs, this.#shownMs.get(name) ?? 0];
  }

  /** Facts read under the namespace's lock, with the time to decide by: an entry that a caller saw expire stays expired. */
  atLatest(name: string, row: PgNamespaceRow): PgNamespaceRow {
    return { ...row, nowMs: Math.max(row.nowMs, this.#shownMs.get(name) ?? 0) };
  }

  /** Records that a caller sees this revision and this time, or only one of them. */
  noteShown(name: string, { revision, nowMs }: Pick<SpaceRow, "revision" | "nowMs">, only?: "revision" | "time"): void {
    if (only !== "revision" && nowMs > (this.#shownMs.get(name) ?? 0)) this.#shownMs.set(name, nowMs);
    if (only !== "time" && revision > (this.#revisions.get(name) ?? 0)) this.#revisions.set(name, revision);
  }

  seenRevision(name: string): Revision {
    return this.#revisions.get(name) ?? 0;
  }

  /** The namespace was cleared on purpose. */
  forget(name: string): void {
    this.#revisions.delete(name);
    this.#shownMs.delete(name);
  }
}

/** Locks the row, as the first statement of a writing transaction. Later statements then read what the last holder of the lock left. */
export const lockNamespace = (t: Tables, id: number): Statement => ({ name: "lock", text: `SELECT id FROM ${t.namespace} WHERE id = $1 FOR UPDATE`, values: [id] });

/** Locks the rows that no other session has locked, and returns them. */
export const lockFreeNamespaces = (t: Tables, ids: readonly number[]): Statement => ({
  name: "lock-free",
  text: `SELECT id FROM ${t.namespace} WHERE id = ANY($1::int[]) FOR UPDATE SKIP LOCKED`,
  values: [numbers("int", ids)],
});

/** Reads the facts after the lock, at the current time. */
export const readNamespace = (t: Tables, parameters: readonly unknown[]): Statement => ({ name: "facts", text: `${withNamespace(t)} SELECT n.facts FROM n`, values: parameters });

/** Two processes may choose the same id. Then one of them inserts nothing and tries again. */
export const insertNamespace = (t: Tables, name: string): Statement => ({
  text: `INSERT INTO ${t.namespace} (id, name) SELECT coalesce(max(id), 0) + 1, $1 FROM ${t.namespace} ON CONFLICT DO NOTHING`,
  values: [name],
});

export function isServedByOther(row: PgNamespaceRow, identity: string | null): boolean {
  if (row.servedBy === null || row.revision === 0) return false;
  const mark = historyMark(identity, row);
  return row.servedBy !== mark && isOtherHistory(row.servedBy, mark);
}

/**
 * Called under the lock, before anything is decided. If the revision is below one that was seen, or another history wrote last (a replica was promoted,
 * a backup restored), commits may be missing whose revisions and versions callers still hold. The namespace then continues above all of them.
 */
export function leapIfWentBack(row: PgNamespaceRow, identity: string | null, seen: Revision): boolean {
  const isOther = isServedByOther(row, identity);
  const wentBack = row.revision < seen;
  row.servedBy = keptMark(row.servedBy, historyMark(identity, row));
  if (!isOther && !wentBack) return false;
  const base = baseAbove(row.revision, seen, row.hostMs);
  row.gaps = [...row.gaps, [row.revision, base] as const].slice(-gapsMax);
  row.revision = base;
  row.base = base;
  return true;
}
