import { logPositionOf, revisionAt, seqAt } from "../../ledger/log-position.ts";
import { opOf, parseLapse, recordOf } from "../../ledger/stored-row.ts";
import { pageOf, requireKept } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import type { Committed, DumpPage, DumpQuery, HistoryRecord, IndexedText, NamespaceFacts, StoredKey, StoredLogRow, StoredRequestKey } from "../../store/store.ts";
import type { PgLogRow } from "./log-rows.ts";
import { logColumns } from "./log-rows.ts";
import type { PgNamespaceClock, PgNamespaceRow } from "./namespace-row.ts";
import { factsOf, readNamespace } from "./namespace-row.ts";
import type { Ask, StatementResult } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import { texts } from "./sql-arrays.ts";

/** More than a page takes by its own count: whoever is cut here is cut again, at a whole revision, by `pageOf`. */
const fetchedBytesMax = 4 * limits.commitBytesMax;

export async function dumpPage(ask: Ask, t: Tables, clock: PgNamespaceClock, namespace: string, query: DumpQuery): Promise<DumpPage> {
  const [answer] = await ask([readNamespace(t, clock.parameters(namespace))]);
  const space = factsOf((answer as StatementResult).rows, clock, namespace);
  const facts = toFacts(space);
  switch (query.part) {
    case "log":
      return { facts, ...(await dumpLog(ask, t, space, query.after)) };
    case "keys":
      return { facts, ...pageOf(await dumpKeys(ask, t, space, { after: query.after })) };
    case "requests":
      return { facts, ...pageOf(await dumpRequests(ask, t, space, query.after)) };
    case "changes": {
      requireKept(query.after, space);
      const page = await dumpLog(ask, t, space, query.after);
      const touched = [...new Set(page.records.map(({ key }) => key))];
      return { facts, records: [...page.records, ...(await dumpKeys(ask, t, space, { only: touched }))], done: page.done };
    }
  }
}

export const toFacts = ({ revision, clockMs, compacted, compactedAtMs, versionFloor, base, gaps, seal }: PgNamespaceRow): NamespaceFacts => ({
  revision,
  clockMs,
  compacted,
  compactedAtMs,
  versionFloor,
  base,
  gaps,
  seal,
});

type RawStoredRow = [created: number, lapse: string | null, ...row: PgLogRow];

async function dumpLog(ask: Ask, t: Tables, { id }: PgNamespaceRow, after: number): Promise<{ readonly records: readonly StoredLogRow[]; readonly done: boolean }> {
  const count = limits.dumpRecordsMax + limits.commitRowsMax + 1;
  const [answer, end] = await ask([
    {
      name: "dump-log",
      // Sizes first, from the rows' heads: a page of large values must not be read as a whole to be cut afterwards.
      text: `WITH sized AS (SELECT place, sum(octet_length(v)) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
          FROM (SELECT place, v FROM ${t.log} WHERE ns = $1 AND place >= $2 ORDER BY place LIMIT $3) head)
        SELECT l.created, l.lapse, ${logColumns("l", true)} FROM sized CROSS JOIN LATERAL (SELECT * FROM ${t.log} WHERE ns = $1 AND place = sized.place LIMIT 1) l
        WHERE coalesce(sized.before, 0) <= ${fetchedBytesMax} ORDER BY l.place`,
      values: [id, logPositionOf(after + 1), count],
    },
    { name: "dump-end", text: `SELECT max(place) FROM ${t.log} WHERE ns = $1`, values: [id] },
  ]);
  const rows = ((answer as StatementResult).rows as unknown as RawStoredRow[]).map(toStoredRow);
  const last = rows.at(-1)?.revision ?? 0;
  const isWhole = rows.length === 0 || (last === revisionAt((end as StatementResult).rows[0]?.[0] as unknown as number) && rows.length < count);
  // The last revision may be cut in two; the one before it is not.
  const whole = isWhole || rows[0]?.revision === last ? rows : rows.filter((row) => row.revision < last);
  const page = pageOf(whole);
  return { records: page.records, done: page.done && isWhole };
}

const toStoredRow = ([createdAtMs, lapse, logPosition, key, op, version, exp, atMs, writer, agent, kind, act, subject, v]: RawStoredRow): StoredLogRow => ({
  kind: "log",
  revision: revisionAt(logPosition),
  seq: seqAt(logPosition),
  key,
  op: opOf(op),
  version,
  atMs,
  createdAtMs,
  writer,
  ...present("json", v),
  ...present("expiresAtMs", exp),
  ...present("agent", agent),
  ...present("record", recordOf(kind, act, subject)),
  ...present("lapse", parseLapse(lapse)),
});

const present = <N extends string, T extends string | number | HistoryRecord | IndexedText>(name: N, value: T | null | undefined): { readonly [K in N]?: T } =>
  (value === null || value === undefined ? {} : { [name]: value }) as { readonly [K in N]?: T };

type RawKey = [k: string, place: number, ver: number, present: boolean, area: string | null, length: number | null, terms: string | null];

async function dumpKeys(ask: Ask, t: Tables, { id }: PgNamespaceRow, which: { readonly after?: string } | { readonly only: readonly string[] }): Promise<StoredKey[]> {
  const isOnly = "only" in which;
  const where = isOnly ? "ns = $1 AND k = ANY($2::text[])" : "ns = $1 AND k > $2";
  const part = (table: string, isPresent: boolean): string => `(SELECT k, place, ver, ${isPresent} AS present FROM ${table} WHERE ${where} ORDER BY k LIMIT $3)`;
  const [answer] = await ask([
    {
      name: `dump-keys-${isOnly ? "only" : "after"}`,
      text: `SELECT h.k, h.place, h.ver, h.present, (SELECT a.name FROM ${t.area} a WHERE a.ns = $1 AND a.id = d.area), d.length, d.terms
        FROM (SELECT * FROM (${part(t.kv, true)} UNION ALL ${part(t.tombstone, false)}) both_kinds ORDER BY k LIMIT $3) h
        LEFT JOIN LATERAL (SELECT area, length, terms FROM ${t.document} WHERE ns = $1 AND k = h.k LIMIT 1) d ON true ORDER BY h.k`,
      values: [id, isOnly ? texts(which.only) : (which.after ?? ""), limits.dumpRecordsMax + limits.commitRowsMax + 1],
    },
  ]);
  return ((answer as StatementResult).rows as unknown as RawKey[]).map(([key, logPosition, version, isPresent, area, length, terms]) => ({
    kind: "key",
    key,
    revision: revisionAt(logPosition),
    seq: seqAt(logPosition),
    version,
    present: isPresent,
    ...present("index", area === null ? undefined : { area, length: length as number, terms: JSON.parse(terms as string) as IndexedText["terms"] }),
  }));
}

async function dumpRequests(
  ask: Ask,
  t: Tables,
  { id }: PgNamespaceRow,
  { keptUntilMs, key }: { readonly keptUntilMs: number; readonly key?: string },
): Promise<StoredRequestKey[]> {
  const [answer] = await ask([
    {
      name: `dump-requests-${key === undefined ? "from" : "after"}`,
      text: `SELECT key, fingerprint, kept_until, outcome FROM ${t.request} WHERE ns = $1 AND ${key === undefined ? "kept_until >= $2" : "(kept_until, key) > ($2, $4)"} ORDER BY kept_until, key LIMIT $3`,
      values: [id, keptUntilMs, limits.dumpRecordsMax + 1, ...(key === undefined ? [] : [key])],
    },
  ]);
  return ((answer as StatementResult).rows as unknown as [string, string, number, string][]).map(([name, fingerprint, kept, outcome]) => ({
    kind: "request",
    key: name,
    fingerprint,
    keptUntilMs: kept,
    outcome: JSON.parse(outcome) as Committed,
  }));
}
