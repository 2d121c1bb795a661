import type { PlannedRequest, PlannedRow, Slot } from "../../store/plan-batch.ts";
import { lapseText, opCode } from "./log-rows.ts";
import type { Tables } from "./schema.ts";
import type { Statement } from "./session.ts";
import { numberArray, textArray } from "./sql-arrays.ts";

/** Statements that write many rows each: their columns go in as arrays, so that one text serves any number of rows. */

export type ChangedSlot = readonly [key: string, slot: Pick<Slot, "present" | "index"> & { readonly row: PlannedRow }];

export function appendRows(t: Tables, id: number, rows: readonly PlannedRow[]): Statement {
  return {
    name: "append",
    text: `INSERT INTO ${t.log} (ns, rev, seq, k, op, ver, exp, created, at, writer, agent, kind, act, subject, lapse, v)
      SELECT $1, * FROM unnest($2::bigint[], $3::int[], $4::text[], $5::smallint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[])`,
    values: [
      id,
      numberArray(rows.map((row) => row.revision)),
      numberArray(rows.map((row) => row.seq)),
      textArray(rows.map((row) => row.key)),
      numberArray(rows.map((row) => opCode[row.op])),
      numberArray(rows.map((row) => row.version)),
      numberArray(rows.map((row) => row.expiresAtMs)),
      numberArray(rows.map((row) => row.createdAtMs)),
      numberArray(rows.map((row) => row.atMs)),
      textArray(rows.map((row) => row.writer)),
      textArray(rows.map((row) => row.agent)),
      textArray(rows.map((row) => row.record?.kind)),
      textArray(rows.map((row) => row.record?.op)),
      textArray(rows.map((row) => row.record?.subject)),
      textArray(rows.map((row) => lapseText(row.lapse))),
      textArray(rows.map((row) => row.json)),
    ],
  };
}

export function putEntries(t: Tables, id: number, slots: readonly ChangedSlot[]): Statement {
  const rows = slots.map(([, slot]) => slot.row);
  return {
    name: "put",
    text: `INSERT INTO ${t.kv} (ns, k, rev, seq, ver, created, exp, findable, at, writer, agent)
      SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::int[], $5::bigint[], $6::bigint[], $7::bigint[], $8::boolean[], $9::bigint[], $10::text[], $11::text[])
      ON CONFLICT (ns, k) DO UPDATE SET rev = excluded.rev, seq = excluded.seq, ver = excluded.ver, created = excluded.created, exp = excluded.exp, findable = excluded.findable,
        at = excluded.at, writer = excluded.writer, agent = excluded.agent`,
    values: [
      id,
      textArray(rows.map((row) => row.key)),
      numberArray(rows.map((row) => row.revision)),
      numberArray(rows.map((row) => row.seq)),
      numberArray(rows.map((row) => row.version)),
      numberArray(rows.map((row) => row.createdAtMs)),
      numberArray(rows.map((row) => row.expiresAtMs)),
      `{${slots.map(([, slot]) => (slot.index === undefined ? "f" : "t")).join(",")}}`,
      numberArray(rows.map((row) => row.atMs)),
      textArray(rows.map((row) => row.writer)),
      textArray(rows.map((row) => row.agent)),
    ],
  };
}

const deleteKeys = (name: string, table: string, id: number, keys: readonly string[]): Statement => ({
  name,
  text: `DELETE FROM ${table} WHERE ns = $1 AND k = ANY($2::text[])`,
  values: [id, textArray(keys)],
});

export const removeEntries = (t: Tables, id: number, keys: readonly string[]): Statement => deleteKeys("remove", t.kv, id, keys);
export const unbury = (t: Tables, id: number, keys: readonly string[]): Statement => deleteKeys("unbury", t.tombstone, id, keys);

export interface Grave {
  readonly key: string;
  readonly revision: number;
  readonly seq: number;
  readonly version: number;
}

export const bury = (t: Tables, id: number, graves: readonly Grave[]): Statement => ({
  name: "bury",
  text: `INSERT INTO ${t.tombstone} (ns, k, rev, seq, ver) SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::int[], $5::bigint[])
    ON CONFLICT (ns, k) DO UPDATE SET rev = excluded.rev, seq = excluded.seq, ver = excluded.ver`,
  values: [
    id,
    textArray(graves.map(({ key }) => key)),
    numberArray(graves.map(({ revision }) => revision)),
    numberArray(graves.map(({ seq }) => seq)),
    numberArray(graves.map(({ version }) => version)),
  ],
});

export const keepRequests = (t: Tables, id: number, requests: readonly PlannedRequest[]): Statement => ({
  name: "keep",
  text: `INSERT INTO ${t.request} (ns, key, fingerprint, kept_until, outcome) SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[])
    ON CONFLICT (ns, key) DO UPDATE SET fingerprint = excluded.fingerprint, kept_until = excluded.kept_until, outcome = excluded.outcome`,
  values: [
    id,
    textArray(requests.map(({ key }) => key)),
    textArray(requests.map(({ fingerprint }) => fingerprint)),
    numberArray(requests.map(({ keptUntilMs }) => keptUntilMs)),
    textArray(requests.map(({ outcome }) => JSON.stringify(outcome))),
  ],
});
