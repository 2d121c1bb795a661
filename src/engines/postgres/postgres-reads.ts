import { narrowRowsMax } from "../../ledger/log-paging.ts";
import type { RowReads } from "../../ledger/rows.ts";
import { answered } from "../../ledger/rows.ts";
import { limits } from "../../store/limits.ts";
import type { Committed } from "../../store/store.ts";
import { dumpReads } from "./dump-records.ts";
import type { RawEntry } from "./log-rows.ts";
import { toEntry } from "./log-rows.ts";
import type { PgNamespaceClock } from "./namespace-row.ts";
import { factsOf, readNamespace, withNamespace } from "./namespace-row.ts";
import { one } from "./pg-session.ts";
import { endOf, startOf } from "./range-bounds.ts";
import { readPast, readStatement } from "./read-entries.ts";
import { logAnswer, logByKey, logBySpan } from "./read-log.ts";
import { compactionReads } from "./reclaim.ts";
import type { Tables } from "./schema.ts";
import { searchReads } from "./text-index.ts";

/** Each query is one statement, which sees one moment; the namespace's facts come with the result. */
export function postgresReads(t: Tables, clock: PgNamespaceClock, namespace: string): RowReads {
  const parameters = () => clock.parameters(namespace);
  return {
    noteShown: (space, only) => clock.noteShown(namespace, space, only),
    *space() {
      return factsOf((yield* one(readNamespace(t, parameters()))).rows);
    },
    *live(ranges, options) {
      const { limit = limits.readEntriesMax } = options;
      const { rows } = yield* one(readStatement(t, parameters(), ranges, options));
      const found = (rows as unknown as [unknown, ...RawEntry][]).filter(([, k]) => k !== null);
      return { space: factsOf(rows), entries: found.slice(0, limit).map(([, ...entry]) => toEntry(entry)), more: found.length > limit };
    },
    *count(range) {
      const text = `${withNamespace(t)} SELECT n.facts, (SELECT count(*) FROM ${t.kv} kv WHERE kv.ns = n.id AND kv.k >= $4 AND kv.k < $5 AND (kv.exp IS NULL OR kv.exp > n.now)) FROM n`;
      const { rows } = yield* one({ name: "count", text, values: [...parameters(), startOf(range), endOf(range)] });
      return { space: factsOf(rows), count: rows[0]?.[1] as unknown as number };
    },
    *request(key) {
      const text = `${withNamespace(t)} SELECT n.facts, r.fingerprint, r.outcome FROM n LEFT JOIN ${t.request} r ON r.ns = n.id AND r.key = $4 AND r.kept_until > n.now`;
      const { rows } = yield* one({ name: "request", text, values: [...parameters(), key] });
      const [, fingerprint, outcome] = rows[0] as unknown as [string, string | null, string];
      return { space: factsOf(rows), request: fingerprint === null ? undefined : { fingerprint, outcome: JSON.parse(outcome) as Committed } };
    },
    *timeBefore({ id }, bound) {
      const text = `SELECT at FROM ${t.log} WHERE ns = $1 AND place < $2 ORDER BY place DESC LIMIT 1`;
      return (yield* one({ name: "past-time", text, values: [id, bound] })).rows[0]?.[0];
    },
    past: (space, part, bound, options, found) => readPast(t, space, part, bound, options, found),
    *logBySpan(query, count) {
      const { first: from, last: to, ...found } = logAnswer(yield* one(logBySpan(t, parameters(), query, count)), query);
      return from === null || to === null ? found : { ...found, examined: { from, to } };
    },
    *logByKey(query, count) {
      const { first: visited, ...found } = logAnswer(yield* one(logByKey(t, parameters(), query, count)), query);
      return (visited ?? 0) >= narrowRowsMax ? { ...found, rows: undefined } : found;
    },
    // The values came with the rows.
    logValues: (_space, rows) => answered(rows),
    *isSweepDue() {
      const text = `${withNamespace(t)} SELECT n.facts, EXISTS (SELECT 1 FROM ${t.kv} WHERE ns = n.id AND exp IS NOT NULL AND exp <= n.now) OR EXISTS (SELECT 1 FROM ${t.request} WHERE ns = n.id AND kept_until <= n.now) FROM n`;
      const { rows } = yield* one({ name: "sweep-look", text, values: parameters() });
      return { space: factsOf(rows), isDue: rows[0]?.[1] as unknown as boolean };
    },
    ...searchReads(t, parameters),
    ...compactionReads(t),
    ...dumpReads(t),
  };
}
