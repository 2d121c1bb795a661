import { jumpEvery } from "../../store/place.ts";
import type { Buried, PlannedRequest, PlannedRow } from "../../store/plan-batch.ts";
import { lapseText, opCode } from "./log-rows.ts";
import type { NamespaceRow } from "./namespace-row.ts";
import type { Tables } from "./schema.ts";
import type { Statement } from "./session.ts";
import { bigintArray, smallintArray, textArray, texts } from "./sql-arrays.ts";

/** Statements that write many rows each: their columns go in as arrays, so that one text serves any number of rows. */

/** What becomes of the entry: another row tells, or this one does, and it can be found by its text or not. */
export const standing = { none: 0, entry: 1, findable: 2 } as const;
export type Standing = (typeof standing)[keyof typeof standing];

/**
 * The rows of the log, the entries that the newest of them make, and the namespace's own row, in one statement: each statement more costs the server
 * a message and an answer. The order of its parts does not matter, because none reads what another writes.
 */
export function writeRows(t: Tables, space: NamespaceRow, rows: readonly PlannedRow[], standingOf: (row: PlannedRow) => Standing): Statement {
  return {
    name: "write",
    text: `WITH r AS MATERIALIZED (
        SELECT * FROM unnest($12::bigint[], $13::text[], $14::smallint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[], $28::smallint[])
          AS r (place, k, op, ver, exp, created, at, prev, anchor, writer, agent, kind, act, subject, lapse, v, standing)),
      l AS (INSERT INTO ${t.log} (ns, place, k, op, ver, exp, created, at, prev, jump, writer, agent, kind, act, subject, lapse, v)
        SELECT $1, place, k, op, ver, exp, created, at, prev, CASE WHEN ${jumpsHere} THEN anchor END, writer, agent, kind, act, subject, lapse, v FROM r),
      n AS (${namespaceUpdate(t)})
      INSERT INTO ${t.kv} (ns, k, place, anchor, ver, created, exp, findable, at, writer, agent)
        SELECT $1, k, place, CASE WHEN ${jumpsHere} THEN place ELSE anchor END, ver, created, exp, standing = ${standing.findable}, at, writer, agent FROM r WHERE standing > ${standing.none}
        ON CONFLICT (ns, k) DO UPDATE SET place = excluded.place, anchor = excluded.anchor, ver = excluded.ver, created = excluded.created, exp = excluded.exp, findable = excluded.findable,
          at = excluded.at, writer = excluded.writer, agent = excluded.agent`,
    values: [
      ...namespaceValues(space),
      bigintArray(rows, (row) => row.place),
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
      smallintArray(rows, standingOf),
    ],
  };
}

/** The rule of `jumps`, for the server. */
const jumpsHere = `op = ${opCode.put} AND ver % ${jumpEvery} = 0`;

const namespaceUpdate = (t: Tables): string =>
  `UPDATE ${t.namespace} SET revision = $2, clock = $3, compacted = $4, compacted_at = $5, version_floor = $6, tombstones = $7, base = $8, gaps = $9, seal = $10, served_by = $11, changes = changes + 1 WHERE id = $1`;

const namespaceValues = (row: NamespaceRow): unknown[] => [
  row.id,
  row.revision,
  row.clockMs,
  row.compacted,
  row.compactedAtMs,
  row.versionFloor,
  row.tombstones,
  row.base,
  row.gaps.length === 0 ? "[]" : JSON.stringify(row.gaps),
  row.seal === undefined ? null : JSON.stringify(row.seal),
  row.servedBy,
];

/** The namespace's row alone, where no rows are written. */
export const writeNamespace = (t: Tables, row: NamespaceRow): Statement => ({ name: "namespace", text: namespaceUpdate(t), values: namespaceValues(row) });

const deleteKeys = (name: string, table: string, id: number, keys: readonly string[]): Statement => ({
  name,
  text: `DELETE FROM ${table} WHERE ns = $1 AND k = ANY($2::text[])`,
  values: [id, texts(keys)],
});

export const removeEntries = (t: Tables, id: number, keys: readonly string[]): Statement => deleteKeys("remove", t.kv, id, keys);
export const unbury = (t: Tables, id: number, keys: readonly string[]): Statement => deleteKeys("unbury", t.tombstone, id, keys);

export interface Grave extends Buried {
  readonly key: string;
}

/** What a row that ended its key leaves. */
export const graveOf = (row: PlannedRow): Grave => ({ key: row.key, place: row.place, version: row.version, anchor: row.anchor });

export const bury = (t: Tables, id: number, graves: readonly Grave[]): Statement => ({
  name: "bury",
  text: `INSERT INTO ${t.tombstone} (ns, k, place, anchor, ver) SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
    ON CONFLICT (ns, k) DO UPDATE SET place = excluded.place, anchor = excluded.anchor, ver = excluded.ver`,
  values: [
    id,
    textArray(graves, ({ key }) => key),
    bigintArray(graves, ({ place }) => place),
    bigintArray(graves, ({ anchor }) => anchor),
    bigintArray(graves, ({ version }) => version),
  ],
});

export const keepRequests = (t: Tables, id: number, requests: readonly PlannedRequest[]): Statement => ({
  name: "keep",
  text: `INSERT INTO ${t.request} (ns, key, fingerprint, kept_until, outcome) SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[])
    ON CONFLICT (ns, key) DO UPDATE SET fingerprint = excluded.fingerprint, kept_until = excluded.kept_until, outcome = excluded.outcome`,
  values: [
    id,
    textArray(requests, ({ key }) => key),
    textArray(requests, ({ fingerprint }) => fingerprint),
    bigintArray(requests, ({ keptUntilMs }) => keptUntilMs),
    textArray(requests, ({ outcome }) => JSON.stringify(outcome)),
  ],
});
