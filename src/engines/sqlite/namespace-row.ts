import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { revisionAt } from "../../ledger/log-position.ts";
import { asideSum, namespaceSum, requireSum } from "../../ledger/record-sum.ts";
import type { SpaceRow } from "../../ledger/rows.ts";
import type { NamespaceFacts } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { RawLink } from "./key-chain.ts";
import { linkColumns, requireLink } from "./key-chain.ts";
import { logId, namespaceIdMax, positionIn } from "./log-id.ts";

/**
 * A namespace, derived from its row and its newest log row. Read again in every transaction, because other processes change it.
 * The revision and the clock are not stored a second time, which leaves a commit one page less to make durable.
 */
export interface SqliteNamespaceRow extends SpaceRow {
  readonly name: string;
}

/**
 * The engine's clock: the host's, but never going back within a namespace. The row stores the time of the last commit for all processes.
 * This object remembers the times that this process has returned, so that an entry that a reader saw expire stays expired.
 */
export class SqliteNamespaceClock {
  readonly #host: Clock;
  readonly #shownMs = new Map<string, number>();

  constructor(host: Clock) {
    this.#host = host;
  }

  nowMs(namespace: string, clockMs: number): number {
    return Math.max(this.#host.nowMs(), clockMs, this.#shownMs.get(namespace) ?? 0);
  }

  show({ name, nowMs }: SqliteNamespaceRow): void {
    if (nowMs > (this.#shownMs.get(name) ?? 0)) this.#shownMs.set(name, nowMs);
  }
}

/** Facts that most namespaces do not have, in one JSON column: every additional column would slow down every read and commit. */
interface Aside extends Partial<Pick<NamespaceFacts, "base" | "gaps" | "seal">> {
  /** A time that no log row contains, loaded from another store. */
  readonly clockMs?: number;
}

const select = `SELECT n.id, n.compacted, n.compacted_at, n.version_floor, n.tombstones, n.aside, ${positionIn("newest.id")}, newest.at
  FROM namespace AS n LEFT JOIN log AS newest ON newest.id = (SELECT max(id) FROM log WHERE id >= ${logId("n.id", "0")} AND id < ${logId("(n.id + 1)", "0")})
  WHERE n.name = ?`;

type Selected = [id: number, compacted: number, compactedAtMs: number, versionFloor: number, tombstones: number, aside: string | null, place: number | null, at: number | null];

const noGaps: NamespaceFacts["gaps"] = [];
const nothingAside: Aside = {};
const unused: Selected = [0, 0, 0, 0, 0, null, null, null];

/** Without `clock`, the time is that of the last commit. */
export function readNamespace(connection: Connection, name: string, clock?: SqliteNamespaceClock): SqliteNamespaceRow {
  const row = connection.arrayStatement(select).get(name) as Selected | undefined;
  if (row !== undefined) requireSelected(connection, name, row);
  const [id, compacted, compactedAtMs, versionFloor, tombstones, text, logPosition, at] = row ?? unused;
  const aside = text === null ? nothingAside : (JSON.parse(text) as Aside);
  const base = aside.base ?? 0;
  const clockMs = Math.max(compactedAtMs, aside.clockMs ?? 0, at ?? 0);
  return {
    id,
    name,
    // Compaction may have deleted the newest row, if it only recorded that a key was deleted.
    revision: Math.max(compacted, base, revisionAt(logPosition ?? 0)),
    compacted,
    compactedAtMs,
    clockMs,
    versionFloor,
    tombstones,
    base,
    gaps: aside.gaps ?? noGaps,
    seal: aside.seal,
    nowMs: clock === undefined ? clockMs : clock.nowMs(name, clockMs),
  };
}

/** The row that was verified last, by connection and name. Most reads find the same row again, and verifying it twice proves nothing new. */
const verified = new WeakMap<Connection, Map<string, Selected>>();

function requireSelected(connection: Connection, name: string, row: Selected): void {
  let seen = verified.get(connection);
  if (seen === undefined) {
    seen = new Map();
    verified.set(connection, seen);
  }
  const before = seen.get(name);
  const [id, compacted, compactedAtMs, versionFloor, tombstones, aside, logPosition, at] = row;
  const isSameRow =
    before !== undefined &&
    before[0] === id &&
    before[1] === compacted &&
    before[2] === compactedAtMs &&
    before[3] === versionFloor &&
    before[4] === tombstones &&
    before[5] === aside;
  if (isSameRow && before[6] === logPosition && before[7] === at) return;
  if (!isSameRow) {
    const { sum, aside_sum } = connection.statement("SELECT sum, aside_sum FROM namespace WHERE id = ?").get(id) as { readonly sum: number; readonly aside_sum: number };
    requireSum(namespaceSum(id, name, compacted, compactedAtMs, versionFloor, tombstones), sum, namespaceName, name);
    requireSum(asideSum(id, aside), aside_sum, namespaceName, name);
  }
  if (logPosition !== null) requireLink(id, connection.statement(`SELECT ${linkColumns} FROM log WHERE id = ${logId("?", "?")}`).get(id, logPosition) as RawLink);
  seen.set(name, row);
}

/** Remembers the newest log row as this connection wrote it: finding the same row again proves as much as its checksum would. */
export function expectNewest(connection: Connection, name: string, logPosition: number, atMs: number): void {
  const seen = verified.get(connection);
  const before = seen?.get(name);
  if (before === undefined) return;
  const [id, compacted, compactedAtMs, versionFloor, tombstones, aside] = before;
  seen?.set(name, [id, compacted, compactedAtMs, versionFloor, tombstones, aside, logPosition, atMs]);
}

/** Inside a write transaction: like `readNamespace`, but creates the row if it does not exist. */
export function ensureNamespace(connection: Connection, name: string, clock?: SqliteNamespaceClock): SqliteNamespaceRow {
  const found = readNamespace(connection, name, clock);
  if (found.id > 0) return found;
  const { id } = connection.statement("SELECT coalesce(max(id), 0) + 1 AS id FROM namespace").get() as { readonly id: number };
  if (id > namespaceIdMax) throw new HoldfastError("limit_exceeded", `One store may have ${namespaceIdMax} namespaces.`);
  connection.statement("INSERT INTO namespace VALUES (?, ?, 0, 0, 0, 0, NULL, ?, ?)").run(id, name, namespaceSum(id, name, 0, 0, 0, 0), asideSum(id, null));
  return { ...found, id };
}

/** Writes the columns that do not follow from the log and that change in normal use. */
export function writeNamespace(connection: Connection, row: SqliteNamespaceRow): void {
  connection
    .statement("UPDATE namespace SET compacted = ?, compacted_at = ?, version_floor = ?, tombstones = ?, sum = ? WHERE id = ?")
    .run(
      row.compacted,
      row.compactedAtMs,
      row.versionFloor,
      row.tombstones,
      namespaceSum(row.id, row.name, row.compacted, row.compactedAtMs, row.versionFloor, row.tombstones),
      row.id,
    );
}

/** Writes every column. */
export function writeWholeNamespace(connection: Connection, row: SqliteNamespaceRow): void {
  writeNamespace(connection, row);
  const { clockMs, compactedAtMs, base, gaps, seal } = row;
  const newest = connection.statement(`SELECT at FROM log WHERE id < ${logId("(?1 + 1)", "0")} AND id >= ${logId("?1", "0")} ORDER BY id DESC LIMIT 1`).get(row.id) as
    | { readonly at: number }
    | undefined;
  writeAside(connection, row.id, {
    ...(clockMs > Math.max(compactedAtMs, newest?.at ?? 0) ? { clockMs } : {}),
    ...(base > 0 ? { base } : {}),
    ...(gaps.length > 0 ? { gaps } : {}),
    ...(seal === undefined ? {} : { seal }),
  });
}

/** Resets the row to that of a namespace that was never used. Its rows in other tables are not affected. */
export function resetNamespaceRow(connection: Connection, row: SqliteNamespaceRow): void {
  writeNamespace(connection, { ...row, compacted: 0, compactedAtMs: 0, versionFloor: 0, tombstones: 0 });
  writeAside(connection, row.id, nothingAside);
}

export const namespaceName = (name: string): string => `namespace ${JSON.stringify(name)}`;

function writeAside(connection: Connection, id: number, aside: Aside): void {
  const text = Object.keys(aside).length === 0 ? null : JSON.stringify(aside);
  connection.statement("UPDATE namespace SET aside = ?, aside_sum = ? WHERE id = ?").run(text, asideSum(id, text), id);
}
