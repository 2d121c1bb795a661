import { HoldfastError } from "../../kernel/errors.ts";
import type { Revision } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import { namespaceIdMax } from "./log-id.ts";

/** A namespace as its row says; read anew in every transaction, because other processes change it. */
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

const select = "SELECT id, revision, compacted, compacted_at AS compactedAtMs, clock_ms AS clockMs, version_floor AS versionFloor, tombstones FROM namespace WHERE name = ?";

export function readNamespace(connection: Connection, name: string): NamespaceRow {
  const row = connection.statement(select).get(name) as NamespaceRow | undefined;
  return row ?? { id: 0, revision: 0, compacted: 0, compactedAtMs: 0, clockMs: 0, versionFloor: 0, tombstones: 0 };
}

/** Inside a write transaction: as above, but there afterwards. */
export function ensureNamespace(connection: Connection, name: string): NamespaceRow {
  const found = readNamespace(connection, name);
  if (found.id > 0) return found;
  const { id } = connection.statement("SELECT coalesce(max(id), 0) + 1 AS id FROM namespace").get() as { readonly id: number };
  if (id > namespaceIdMax) throw new HoldfastError("limit_exceeded", `One store may have ${namespaceIdMax} namespaces.`);
  connection.statement("INSERT INTO namespace VALUES (?, ?, 0, 0, 0, 0, 0, 0)").run(id, name);
  return { ...found, id };
}

export function writeNamespace(connection: Connection, row: NamespaceRow): void {
  connection
    .statement("UPDATE namespace SET revision = ?, compacted = ?, compacted_at = ?, clock_ms = ?, version_floor = ?, tombstones = ? WHERE id = ?")
    .run(row.revision, row.compacted, row.compactedAtMs, row.clockMs, row.versionFloor, row.tombstones, row.id);
}
