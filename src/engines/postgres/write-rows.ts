import { jumpEvery } from "../../ledger/log-position.ts";
import type { PlannedRequest, PlannedRow, Tombstone } from "../../ledger/plan-batch.ts";
import { lapseText, opCode } from "../../ledger/stored-row.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import type { Statement } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import { bigintArray, intArray, numbers, smallintArray, textArray, texts } from "./sql-arrays.ts";

/**
 * Statements that write many rows each, of one namespace or of several. Columns are passed as arrays, so that one SQL text serves any number of rows.
 * `ids` are the rows' namespaces.
 */

/** The entry that a log row leaves: none (a later row decides, or the key has ended), an entry, or an entry that is also findable. */
export const keyState = { none: 0, entry: 1, findable: 2 } as const;
export type KeyState = (typeof keyState)[keyof typeof keyState];

/** Log rows with the entries that they produce, and the state of their namespaces afterwards. */
export interface RowsToWrite {
  readonly spaces: readonly PgNamespaceRow[];
  readonly ids: readonly number[];
  readonly rows: readonly PlannedRow[];
  readonly keyStates: readonly KeyState[];
}

/**
 * Writes the log rows, the entries that the newest of them produce, and the namespaces' own rows in one statement, because each extra statement costs the server
 * a message and a reply. The order of its parts does not matter, because none reads what another writes.
 */
export const writeRows = (t: Tables, written: RowsToWrite): Statement => ({
  name: "write",
  text: `WITH r AS MATERIALIZED (
      SELECT u.* FROM unnest($5::int[], $6::bigint[], $7::text[], $8::smallint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::smallint[])
        AS u (ns, place, k, op, ver, exp, created, at, prev, anchor, writer, agent, kind, act, subject, lapse, v, standing)),
    l AS (INSERT INTO ${t.log} (ns, place, k, op, ver, exp, created, at, prev, jump, writer, agent, kind, act, subject, lapse, v)
      SELECT ns, place, k, op, ver, exp, created, at, prev, CASE WHEN ${jumpsHere} THEN anchor END, writer, agent, kind, act, subject, lapse, v FROM r),
    s AS (UPDATE ${t.namespace} s SET revision = u.revision, clock = u.clock, tombstones = u.tombstones, changes = s.changes + 1
      FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[]) AS u (id, revision, clock, tombstones) WHERE s.id = u.id),
    e AS (INSERT INTO ${t.kv} (ns, k, place, anchor, ver, created, exp, findable, at, writer, agent)
      SELECT ns, k, place, CASE WHEN ${jumpsHere} THEN place ELSE anchor END, ver, created, exp, standing = ${keyState.findable}, at, writer, agent FROM r WHERE standing > ${keyState.none}
      ON CONFLICT (ns, k) DO UPDATE SET place = excluded.place, anchor = excluded.anchor, ver = excluded.ver, created = excluded.created, exp = excluded.exp, findable = excluded.findable,
        at = excluded.at, writer = excluded.writer, agent = excluded.agent)
    SELECT 1`,
  values: writtenValues(written),
});

/** The rule of `jumps`, as SQL. */
const jumpsHere = `op = ${opCode.put} AND ver % ${jumpEvery} = 0`;

const writtenValues = ({ spaces, ids, rows, keyStates }: RowsToWrite): unknown[] => [
  intArray(spaces, (space) => space.id),
  bigintArray(spaces, (space) => space.revision),
  bigintArray(spaces, (space) => space.clockMs),
  bigintArray(spaces, (space) => space.tombstones),
  numbers("int", ids),
  bigintArray(rows, (row) => row.logPosition),
  textArray(rows, (row) => row.key),
  smallintArray(rows, (row) => opCode[row.op]),
  bigintArray(rows, (row) => row.version),
  bigintArray(rows, (row) => row.expiresAtMs),
  bigintArray(rows, (row) => row.createdAtMs),
  bigintArray(rows, (row) => row.atMs),
  bigintArray(rows, (row) => row.previous),
  bigintArray(rows, (row) => row.anchor),
  textArray(rows, (row) => row.writer),
  textArray(rows, (row) => row.agent),
  textArray(rows, (row) => row.record?.kind),
  textArray(rows, (row) => row.record?.op),
  textArray(rows, (row) => row.record?.subject),
  textArray(rows, (row) => lapseText(row.lapse)),
  textArray(rows, (row) => row.json),
  numbers("smallint", keyStates),
];

/** Writes all columns of a namespace's row. */
export const writeNamespace = (t: Tables, row: PgNamespaceRow): Statement => ({
  name: "namespace",
  text: `UPDATE ${t.namespace} SET revision = $2, clock = $3, compacted = $4, compacted_at = $5, version_floor = $6, tombstones = $7, base = $8, gaps = $9, seal = $10, served_by = $11, changes = changes + 1 WHERE id = $1`,
  values: [
    row.id,
    row.revision,
    row.clockMs,
    row.compacted,
    row.compactedAtMs,
    row.versionFloor,
    row.tombstones,
    row.base,
    JSON.stringify(row.gaps),
    row.seal === undefined ? null : JSON.stringify(row.seal),
    row.servedBy,
  ],
});

/** Writes the columns that identify the history of a namespace's row. This does not count as a change, because it always accompanies one. */
export const writeHistory = (t: Tables, { id, base, gaps, servedBy }: PgNamespaceRow): Statement => ({
  name: "history",
  text: `UPDATE ${t.namespace} SET base = $2, gaps = $3, served_by = $4 WHERE id = $1`,
  values: [id, base, JSON.stringify(gaps), servedBy],
});

/** Keys of several namespaces, each with its own namespace id. */
export interface OwnedKeys {
  readonly ids: number[];
  readonly keys: string[];
}

export function own(owned: OwnedKeys, id: number, key: string): void {
  owned.ids.push(id);
  owned.keys.push(key);
}

const deleteKeys = (name: string, table: string, { ids, keys }: OwnedKeys): Statement => ({
  name,
  text: `DELETE FROM ${table} d USING unnest($1::int[], $2::text[]) AS g (ns, k) WHERE d.ns = g.ns AND d.k = g.k`,
  values: [numbers("int", ids), texts(keys)],
});

export const markFindable = (t: Tables, { ids, keys }: OwnedKeys): Statement => ({
  name: "mark-findable",
  text: `UPDATE ${t.kv} kv SET findable = true FROM unnest($1::int[], $2::text[]) AS m (ns, k) WHERE kv.ns = m.ns AND kv.k = m.k`,
  values: [numbers("int", ids), texts(keys)],
});

export const removeEntries = (t: Tables, keys: OwnedKeys): Statement => deleteKeys("remove", t.kv, keys);
export const deleteTombstones = (t: Tables, keys: OwnedKeys): Statement => deleteKeys("unbury", t.tombstone, keys);

export interface TombstoneRow extends Tombstone {
  readonly id: number;
  readonly key: string;
}

/** The tombstone for a row that ended its key. */
export const tombstoneRowOf = (id: number, row: PlannedRow): TombstoneRow => ({ id, key: row.key, logPosition: row.logPosition, version: row.version, anchor: row.anchor });

export const writeTombstones = (t: Tables, tombstoneRows: readonly TombstoneRow[]): Statement => ({
  name: "bury",
  text: `INSERT INTO ${t.tombstone} (ns, k, place, anchor, ver) SELECT * FROM unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
    ON CONFLICT (ns, k) DO UPDATE SET place = excluded.place, anchor = excluded.anchor, ver = excluded.ver`,
  values: [
    intArray(tombstoneRows, ({ id }) => id),
    textArray(tombstoneRows, ({ key }) => key),
    bigintArray(tombstoneRows, ({ logPosition }) => logPosition),
    bigintArray(tombstoneRows, ({ anchor }) => anchor),
    bigintArray(tombstoneRows, ({ version }) => version),
  ],
});

export const keepRequests = (t: Tables, ids: readonly number[], requests: readonly PlannedRequest[]): Statement => ({
  name: "keep",
  text: `INSERT INTO ${t.request} (ns, key, fingerprint, kept_until, outcome) SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::bigint[], $5::text[])
    ON CONFLICT (ns, key) DO UPDATE SET fingerprint = excluded.fingerprint, kept_until = excluded.kept_until, outcome = excluded.outcome`,
  values: [
    numbers("int", ids),
    textArray(requests, ({ key }) => key),
    textArray(requests, ({ fingerprint }) => fingerprint),
    bigintArray(requests, ({ keptUntilMs }) => keptUntilMs),
    textArray(requests, ({ outcome }) => JSON.stringify(outcome)),
  ],
});

/** Deletes expired request keys, oldest first. */
export const forgetRequests = (t: Tables, id: number, { nowMs, count }: { readonly nowMs: number; readonly count: number }): Statement => ({
  name: "forget-requests",
  text: `DELETE FROM ${t.request} WHERE ns = $1 AND key IN (SELECT key FROM ${t.request} WHERE ns = $1 AND kept_until <= $2 ORDER BY kept_until LIMIT $3)`,
  values: [id, nowMs, count],
});

export const forgetRowsName = "forget";
export const forgetRows = (t: Tables, id: number, places: readonly number[]): Statement => ({
  name: forgetRowsName,
  text: `DELETE FROM ${t.log} WHERE ns = $1 AND place = ANY($2::bigint[])`,
  values: [id, numbers("bigint", places)],
});
