import { HoldfastError } from "../../kernel/errors.ts";
import { revisionAt } from "../../ledger/log-position.ts";
import { asideSum, namespaceSum, requireSum } from "../../ledger/record-sum.ts";
import type { NamespaceFacts, Seal } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { RawLink } from "./key-chain.ts";
import { linkColumns, requireLink } from "./key-chain.ts";
import { logId, namespaceIdMax, positionIn } from "./log-id.ts";

type Writable<T> = { -readonly [P in keyof T]: T[P] };

/**
 * A namespace as its row and its newest log row say; read anew in every transaction, because other processes change it.
 * The revision and the clock are not stored a second time: a commit then has one page less to make durable.
 */
export interface SqliteNamespaceRow extends Writable<NamespaceFacts> {
  /** 0: nothing was ever committed to it. */
  id: number;
  name: string;
  tombstones: number;
}

/** What most namespaces do not have, in one column of JSON: every column more costs every read and commit its share. */
interface Aside extends Partial<Pick<NamespaceFacts, "base" | "gaps" | "seal">> {
  /** A time that no log row tells, taken over from another store. */
  readonly clockMs?: number;
}

const select = `SELECT n.id, n.compacted, n.compacted_at, n.version_floor, n.tombstones, n.aside, ${positionIn("newest.id")}, newest.at
  FROM namespace AS n LEFT JOIN log AS newest ON newest.id = (SELECT max(id) FROM log WHERE id >= ${logId("n.id", "0")} AND id < ${logId("(n.id + 1)", "0")})
  WHERE n.name = ?`;

type Selected = [id: number, compacted: number, compactedAtMs: number, versionFloor: number, tombstones: number, aside: string | null, place: number | null, at: number | null];

const noGaps: NamespaceFacts["gaps"] = [];
const nothingAside: Aside = {};

export function readNamespace(connection: Connection, name: string): SqliteNamespaceRow {
  const row = connection.arrayStatement(select).get(name) as Selected | undefined;
  if (row === undefined) return { id: 0, name, revision: 0, compacted: 0, compactedAtMs: 0, clockMs: 0, versionFloor: 0, tombstones: 0, base: 0, gaps: noGaps, seal: undefined };
  requireSelected(connection, name, row);
  const [id, compacted, compactedAtMs, versionFloor, tombstones, text, logPosition, at] = row;
  const { clockMs = 0, base = 0, gaps = noGaps, seal } = text === null ? nothingAside : (JSON.parse(text) as Aside);
  return {
    id,
    name,
    // Compaction may have let go of the newest row, when all it said was that a key is gone.
    revision: Math.max(compacted, base, revisionAt(logPosition ?? 0)),
    compacted,
    compactedAtMs,
    clockMs: Math.max(compactedAtMs, clockMs, at ?? 0),
    versionFloor,
    tombstones,
    base,
    gaps,
    seal,
  };
}

/** What was verified last, by connection and name: reading the same again, as most reads do, proves nothing new. */
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

/** The newest log row as this connection wrote it: finding the same there again proves as much as its checksum would. */
export function expectNewest(connection: Connection, name: string, logPosition: number, atMs: number): void {
  const seen = verified.get(connection);
  const before = seen?.get(name);
  if (before === undefined) return;
  const [id, compacted, compactedAtMs, versionFloor, tombstones, aside] = before;
  seen?.set(name, [id, compacted, compactedAtMs, versionFloor, tombstones, aside, logPosition, atMs]);
}

/** Inside a write transaction: as above, but there afterwards. */
export function ensureNamespace(connection: Connection, name: string): SqliteNamespaceRow {
  const found = readNamespace(connection, name);
  if (found.id > 0) return found;
  const { id } = connection.statement("SELECT coalesce(max(id), 0) + 1 AS id FROM namespace").get() as { readonly id: number };
  if (id > namespaceIdMax) throw new HoldfastError("limit_exceeded", `One store may have ${namespaceIdMax} namespaces.`);
  connection.statement("INSERT INTO namespace VALUES (?, ?, 0, 0, 0, 0, NULL, ?, ?)").run(id, name, namespaceSum(id, name, 0, 0, 0, 0), asideSum(id, null));
  return { ...found, id };
}

/** What does not follow from the log and changes as a namespace is used. */
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

/** What only moving changes. */
export function writeFacts(connection: Connection, row: SqliteNamespaceRow, facts: NamespaceFacts): void {
  const { compacted, compactedAtMs, versionFloor, clockMs, base, gaps } = facts;
  writeNamespace(connection, { ...row, compacted, compactedAtMs, versionFloor });
  const { at } = connection
    .statement(`SELECT max(at) AS at FROM (SELECT at FROM log WHERE id < ${logId("(?1 + 1)", "0")} AND id >= ${logId("?1", "0")} ORDER BY id DESC LIMIT 1)`)
    .get(row.id) as {
    readonly at: number | null;
  };
  writeAside(connection, row.id, {
    ...(clockMs > Math.max(compactedAtMs, at ?? 0) ? { clockMs } : {}),
    ...(base > 0 ? { base } : {}),
    ...(gaps.length > 0 ? { gaps } : {}),
    ...(row.seal === undefined ? {} : { seal: row.seal }),
  });
}

export function writeSeal(connection: Connection, row: SqliteNamespaceRow, seal: Seal | undefined): void {
  const { aside } = connection.statement("SELECT aside FROM namespace WHERE id = ?").get(row.id) as { readonly aside: string | null };
  const { seal: _, ...others } = aside === null ? nothingAside : (JSON.parse(aside) as Aside);
  writeAside(connection, row.id, seal === undefined ? others : { ...others, seal });
}

/** As one that was never used, but for its rows elsewhere. */
export function resetNamespaceRow(connection: Connection, row: SqliteNamespaceRow): void {
  writeNamespace(connection, { ...row, compacted: 0, compactedAtMs: 0, versionFloor: 0, tombstones: 0 });
  writeAside(connection, row.id, nothingAside);
}

export const namespaceName = (name: string): string => `namespace ${JSON.stringify(name)}`;

function writeAside(connection: Connection, id: number, aside: Aside): void {
  const text = Object.keys(aside).length === 0 ? null : JSON.stringify(aside);
  connection.statement("UPDATE namespace SET aside = ?, aside_sum = ? WHERE id = ?").run(text, asideSum(id, text), id);
}
