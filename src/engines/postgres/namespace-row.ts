import type { Clock } from "../../kernel/clock.ts";
import { baseAbove, gapsMax } from "../../store/engine-rules.ts";
import type { NamespaceFacts, Revision, Seal } from "../../store/store.ts";
import { historyMark, isOtherHistory, keptMark } from "./history-mark.ts";
import type { Statement } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import { numbers } from "./sql-arrays.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A namespace as its row says, at the moment of a statement. */
export interface PgNamespaceRow extends Mutable<NamespaceFacts> {
  /** 0: nothing was ever committed to it. */
  id: number;
  tombstones: number;
  /** The history that last wrote to it (see history-mark.ts). */
  servedBy: string | null;
  /** The table it stands in, by the server's number: another one after a dump was restored. Comes with the row, so that a process which lives through that sees it too. */
  tableOid: number;
  /** How often the row was written: what was read under one count is true as long as it stands. */
  changes: number;
  /** The server's clock, and the namespace's, which never goes back. */
  hostMs: number;
  nowMs: number;
}

type Packed = [
  id: number | null,
  revision: number,
  clock: number,
  compacted: number,
  compactedAt: number,
  floor: number,
  tombstones: number,
  base: number,
  gaps: string,
  seal: string | null,
  servedBy: string | null,
  changes: number,
  tableOid: number,
  host: number,
];

/** All of a namespace's row `s` in one column, with the clock. */
export const factsColumn = (host: string): string =>
  `json_build_array(s.id, s.revision, s.clock, s.compacted, s.compacted_at, s.version_floor, s.tombstones, s.base, s.gaps, s.seal, s.served_by, s.changes, s.tableoid::bigint, ${host})::text`;

/** The time of the statement, not of the transaction: that may have waited for a lock. A test's clock comes in as a parameter. */
export const hostClock = (parameter: string): string => `coalesce(${parameter}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;

/**
 * The beginning of every reading statement: the namespace as `n` (id, now, facts, revision, compacted_at), there even when the namespace is not.
 * $1: name, $2: a test's clock, $3: the latest time this process has answered with. One statement sees one moment, so nothing else has to hold reads together.
 */
export const withNamespace = (t: Tables, recursive = ""): string =>
  `WITH ${recursive} n AS MATERIALIZED (
    SELECT coalesce(s.id, 0) AS id, coalesce(s.revision, 0) AS revision, coalesce(s.compacted_at, 0) AS compacted_at, greatest(h.host, s.clock, $3::bigint) AS now, ${factsColumn("h.host")} AS facts
    FROM (SELECT ${hostClock("$2")} AS host) h LEFT JOIN ${t.namespace} s ON s.name = $1)`;

/** The facts, in one row of the answer only. */
export const factsOnce = "CASE WHEN row_number() OVER () = 1 THEN n.facts END";

export function factsOf(rows: readonly (readonly unknown[])[], clock: PgNamespaceClock, name: string): PgNamespaceRow {
  for (const row of rows) if (row[0] !== null) return unpackFacts(row[0] as string, clock, name);
  throw new RangeError("An answer came without the namespace's facts.");
}

export function unpackFacts(text: string, clock: PgNamespaceClock, name: string): PgNamespaceRow {
  const [id, revision, clockMs, compacted, compactedAtMs, versionFloor, tombstones, base, gaps, seal, servedBy, changes, tableOid, hostMs] = JSON.parse(text) as Packed;
  if (id === null) {
    const nothing = {
      id: 0,
      revision: 0,
      clockMs: 0,
      compacted: 0,
      compactedAtMs: 0,
      versionFloor: 0,
      tombstones: 0,
      base: 0,
      gaps: [],
      seal: undefined,
      servedBy: null,
      changes: 0,
      tableOid: 0,
    };
    return { ...nothing, ...seenAs(clock, name, hostMs, 0) };
  }
  return {
    id,
    revision,
    clockMs,
    compacted,
    compactedAtMs,
    versionFloor,
    tombstones,
    base,
    gaps: JSON.parse(gaps) as NamespaceFacts["gaps"],
    seal: seal === null ? undefined : (JSON.parse(seal) as Seal),
    servedBy,
    changes,
    tableOid,
    ...seenAs(clock, name, hostMs, clockMs),
  };
}

/** The two times of a namespace's row, from the server's clock and the row's. */
export const seenAs = (clock: PgNamespaceClock, name: string, hostMs: number, clockMs: number): Pick<PgNamespaceRow, "hostMs" | "nowMs"> => ({
  hostMs,
  nowMs: clock.nowMs(name, Math.max(hostMs, clockMs)),
});

/** What this process has answered with, so that what a reader saw expire stays expired and a history that went back is noticed. */
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

  /** A test's time, as a parameter. */
  get testMs(): number | null {
    return this.#timeSource?.nowMs() ?? null;
  }

  /** The parameters $1 to $3 of every statement about a namespace. */
  parameters(name: string): [name: string, testMs: number | null, shownMs: number] {
    return [name, this.testMs, this.#shownMs.get(name) ?? 0];
  }

  nowMs(name: string, ms: number): number {
    return Math.max(ms, this.#shownMs.get(name) ?? 0);
  }

  /** Somebody is answered with this time, or by it. */
  show(name: string, { nowMs }: Pick<PgNamespaceRow, "nowMs">): void {
    this.#shownMs.set(name, nowMs);
  }

  seeRevision(name: string, { revision }: Pick<PgNamespaceRow, "revision">): void {
    if (revision > (this.#revisions.get(name) ?? 0)) this.#revisions.set(name, revision);
  }

  seenRevision(name: string): Revision {
    return this.#revisions.get(name) ?? 0;
  }

  /** The namespace was emptied on purpose. */
  forget(name: string): void {
    this.#revisions.delete(name);
    this.#shownMs.delete(name);
  }
}

/** Locks the row, first of all in a writing transaction; what is read in later statements is then what the last holder left. */
export const lockNamespace = (t: Tables, id: number): Statement => ({ name: "lock", text: `SELECT id FROM ${t.namespace} WHERE id = $1 FOR UPDATE`, values: [id] });

/** Locks those rows that nobody else has locked; answers which. */
export const lockFreeNamespaces = (t: Tables, ids: readonly number[]): Statement => ({
  name: "lock-free",
  text: `SELECT id FROM ${t.namespace} WHERE id = ANY($1::int[]) FOR UPDATE SKIP LOCKED`,
  values: [numbers("int", ids)],
});

/** Later than the lock: the facts, by the clock of now. */
export const readNamespace = (t: Tables, parameters: readonly unknown[]): Statement => ({ name: "facts", text: `${withNamespace(t)} SELECT n.facts FROM n`, values: parameters });

/** Two processes may choose the same number: then one of them finds nothing done and tries again. */
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
 * Called under the lock, before anything is decided. A revision below one that was seen, or another history than the one that wrote last (a replica was promoted,
 * a backup restored): commits may be missing whose revisions and versions are in somebody's hands. The namespace goes on above all of them.
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
