import { logPositionOf, revisionAt, seqAt } from "../../ledger/log-position.ts";
import type { Fetched, RowReads } from "../../ledger/rows.ts";
import { opOf, parseLapse, recordOf } from "../../ledger/stored-row.ts";
import { limits } from "../../store/limits.ts";
import type { Committed, HistoryRecord, IndexedText, StoredKey, StoredLogRow, StoredRequestKey } from "../../store/store.ts";
import type { PgLogRow } from "./log-rows.ts";
import { logColumns } from "./log-rows.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import { one } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import { texts } from "./sql-arrays.ts";

/** One more than a page has. */
const recordsMax = limits.dumpRecordsMax + 1;
/** More than a page has by its own count: records that are cut here are cut again by `pageOf`, between revisions. */
const fetchedBytesMax = 4 * limits.commitBytesMax;

type RawStoredRow = [created: number, lapse: string | null, ...row: PgLogRow];

export const dumpReads = (t: Tables): Pick<RowReads, "storedRows" | "storedKeys" | "storedRequests"> => ({
  *storedRows({ id }, after): Generator<readonly Statement[], Fetched<StoredLogRow>, StatementResult[]> {
    const count = recordsMax + limits.commitRowsMax;
    const [answer, end] = yield [
      {
        name: "dump-log",
        // Sizes first, without reading the values: a page of large values must not be read completely only to be cut afterwards.
        text: `WITH sized AS (SELECT place, sum(octet_length(v)) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM (SELECT place, v FROM ${t.log} WHERE ns = $1 AND place >= $2 ORDER BY place LIMIT $3) head)
          SELECT l.created, l.lapse, ${logColumns("l", true)} FROM sized CROSS JOIN LATERAL (SELECT * FROM ${t.log} WHERE ns = $1 AND place = sized.place LIMIT 1) l
          WHERE coalesce(sized.before, 0) <= ${fetchedBytesMax} ORDER BY l.place`,
        values: [id, logPositionOf(after + 1), count],
      },
      { name: "dump-end", text: `SELECT max(place) FROM ${t.log} WHERE ns = $1`, values: [id] },
    ];
    const rows = ((answer as StatementResult).rows as unknown as RawStoredRow[]).map(toStoredRow);
    const last = rows.at(-1)?.revision ?? 0;
    const isWhole = rows.length === 0 || (last === revisionAt((end as StatementResult).rows[0]?.[0] as unknown as number) && rows.length < count);
    // The last revision may be incomplete; the one before it is not.
    return { isWhole, records: isWhole || rows[0]?.revision === last ? rows : rows.filter((row) => row.revision < last) };
  },
  *storedKeys({ id }, which) {
    const isOnly = "only" in which;
    const where = isOnly ? "ns = $1 AND k = ANY($2::text[])" : "ns = $1 AND k > $2";
    const part = (table: string, isPresent: boolean): string => `(SELECT k, place, ver, ${isPresent} AS present FROM ${table} WHERE ${where} ORDER BY k LIMIT $3)`;
    const { rows } = yield* one({
      name: `dump-keys-${isOnly ? "only" : "after"}`,
      text: `SELECT h.k, h.place, h.ver, h.present, (SELECT a.name FROM ${t.area} a WHERE a.ns = $1 AND a.id = d.area), d.length, d.terms
        FROM (SELECT * FROM (${part(t.kv, true)} UNION ALL ${part(t.tombstone, false)}) both_kinds ORDER BY k LIMIT $3) h
        LEFT JOIN LATERAL (SELECT area, length, terms FROM ${t.document} WHERE ns = $1 AND k = h.k LIMIT 1) d ON true ORDER BY h.k`,
      values: [id, isOnly ? texts(which.only) : (which.after ?? ""), recordsMax + limits.commitRowsMax],
    });
    return { isWhole: true, records: (rows as unknown as RawKey[]).map(toStoredKey) };
  },
  *storedRequests({ id }, { keptUntilMs, key }) {
    const isFirst = key === undefined;
    const { rows } = yield* one({
      name: `dump-requests-${isFirst ? "from" : "after"}`,
      text: `SELECT key, fingerprint, kept_until, outcome FROM ${t.request} WHERE ns = $1 AND ${isFirst ? "kept_until >= $2" : "(kept_until, key) > ($2, $4)"} ORDER BY kept_until, key LIMIT $3`,
      values: [id, keptUntilMs, recordsMax, ...(isFirst ? [] : [key])],
    });
    return {
      isWhole: true,
      records: (rows as unknown as [string, string, number, string][]).map(
        ([name, fingerprint, kept, outcome]): StoredRequestKey => ({ kind: "request", key: name, fingerprint, keptUntilMs: kept, outcome: JSON.parse(outcome) as Committed }),
      ),
    };
  },
});

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

const toStoredKey = ([key, logPosition, version, isPresent, area, length, terms]: RawKey): StoredKey => ({
  kind: "key",
  key,
  revision: revisionAt(logPosition),
  seq: seqAt(logPosition),
  version,
  present: isPresent,
  ...present("index", area === null ? undefined : { area, length: length as number, terms: JSON.parse(terms as string) as IndexedText["terms"] }),
});
