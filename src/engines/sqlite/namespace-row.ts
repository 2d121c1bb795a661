import { HoldfastError } from "../../kernel/errors.ts";
import type { Revision } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import { logId, namespaceIdMax, placeIn, revisionAt } from "./log-id.ts";

/**
 * A namespace as its row and its newest log row say; read anew in every transaction, because other processes change it.
 * The revision and the clock are not stored a second time: a commit then has one page less to make durable.
 */
export interface NamespaceRow {
  /** 0: nothing was ever committed to it. */
  id: number;
  revision: Revision;
  compacted: Revision;
  /** The time of the compacted revision: its own rows may be gone. */
  compactedAtMs: number;
  clockMs: number;
  versionFloor: number;
  tombstones: number;
}

const select = `SELECT n.id, n.compacted, n.compacted_at, n.version_floor, n.tombstones, ${placeIn("newest.id")}, newest.at
  FROM namespace AS n LEFT JOIN log AS newest ON newest.id = (SELECT max(id) FROM log WHERE id >= ${logId("n.id", "0")} AND id < ${logId("(n.id + 1)", "0")})
  WHERE n.name = ?`;

export function readNamespace(connection: Connection, name: string): NamespaceRow {
  const row = connection.arrayStatement(select).get(name) as [number, number, number, number, number, number | null, number | null] | undefined;
  if (row === undefined) return { id: 0, revision: 0, compacted: 0, compactedAtMs: 0, clockMs: 0, versionFloor: 0, tombstones: 0 };
  const [id, compacted, compactedAtMs, versionFloor, tombstones, place, at] = row;
  // Compaction may have let go of the newest row, when all it said was that a key is gone.
  return { id, revision: Math.max(compacted, revisionAt(place ?? 0)), compacted, compactedAtMs, clockMs: Math.max(compactedAtMs, at ?? 0), versionFloor, tombstones };
}

/** Inside a write transaction: as above, but there afterwards. */
export function ensureNamespace(connection: Connection, name: string): NamespaceRow {
  const found = readNamespace(connection, name);
  if (found.id > 0) return found;
  const { id } = connection.statement("SELECT coalesce(max(id), 0) + 1 AS id FROM namespace").get() as { readonly id: number };
  if (id > namespaceIdMax) throw new HoldfastError("limit_exceeded", `One store may have ${namespaceIdMax} namespaces.`);
  connection.statement("INSERT INTO namespace VALUES (?, ?, 0, 0, 0, 0)").run(id, name);
  return { ...found, id };
}

/** What does not follow from the log. */
export function writeNamespace(connection: Connection, row: NamespaceRow): void {
  connection
    .statement("UPDATE namespace SET compacted = ?, compacted_at = ?, version_floor = ?, tombstones = ? WHERE id = ?")
    .run(row.compacted, row.compactedAtMs, row.versionFloor, row.tombstones, row.id);
}
