import type { Fetched, RowReads, Work } from "../../ledger/rows.ts";
import { answered } from "../../ledger/rows.ts";
import type { StoredRecord } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import { withValues } from "./log-values.ts";
import { readKeysAfter, readStoredKey, readStoredRequests, readStoredRows } from "./moving.ts";
import type { SqliteNamespaceClock, SqliteNamespaceRow } from "./namespace-row.ts";
import { countLive, readLiveEntries, readPastEntries, readTimeBefore } from "./read-entries.ts";
import { readByKey, readBySpan } from "./read-log.ts";
import { isSweepDue, readOldTombstones, readPastRows } from "./reclaim.ts";
import { readStoredRequest } from "./stored-request.ts";
import { countTerms, probeTerm, readLiveDocuments, readNewestPostings } from "./text-index.ts";

/** The context of a read: set with each transaction, and again when work continues after a pause. Only one piece of work runs at a time. */
export interface SqliteMoment {
  connection: Connection;
  space: SqliteNamespaceRow;
}

/** Every read answers synchronously; only a search pauses. */
export const sqliteReads = (at: SqliteMoment, clock: SqliteNamespaceClock): RowReads => ({
  noteShown: (_space, only) => {
    if (only !== "revision") clock.show(at.space);
  },
  space: () => answered(at.space),
  live: (ranges, options) => answered(readLiveEntries(at.connection, at.space, ranges, options)),
  count: (range) => answered({ space: at.space, count: countLive(at.connection, at.space, range) }),
  request: (key) => answered({ space: at.space, request: readStoredRequest(at.connection, at.space.id, key, at.space.nowMs) }),
  timeBefore: (space, bound) => answered(readTimeBefore(at.connection, space, bound)),
  past: (space, part, bound, options, found) => answered(readPastEntries(at.connection, space, part, bound, options, found)),
  logBySpan: (query, count) => answered({ space: at.space, ...readBySpan(at.connection, at.space, query, count) }),
  logByKey: (query, count) => answered({ space: at.space, rows: readByKey(at.connection, at.space, query, count) }),
  logValues: (space, rows, query) => answered(withValues(at.connection, space, rows, query)),
  termCounts: (areas, terms) => answered({ space: at.space, ...countTerms(at.connection, at.space.id, areas, terms) }),
  postings: (_space, areas, terms) => answered(terms.map((each) => readNewestPostings(at.connection, areas, each))),
  /** Candidates are identified by position, which no later entry gets, so the parts of a search may run in different transactions. */
  *probe(space, places, { areas, terms, weigh, groups, hitsMax, pause }) {
    const json = JSON.stringify(places.toSorted((a, b) => a - b));
    for (const [i, { term, frequency }] of terms.entries()) {
      for (const [place, weight] of probeTerm(at.connection, areas, term, { places: json, isFewer: frequency * 2 <= places.length })) weigh(place, i, weight);
      const turn = pause?.();
      if (turn !== undefined) yield turn;
    }
    const live: [place: number, key: string][] = [];
    for (const group of groups()) {
      live.push(...readLiveDocuments(at.connection, at.space, group, at.space.revision === space.revision));
      if (live.length >= hitsMax) break;
    }
    return { space: at.space, live };
  },
  isSweepDue: () => answered({ space: at.space, isDue: isSweepDue(at.connection, at.space) }),
  pastRows: (space, rows) => answered(readPastRows(at.connection, space, rows)),
  oldTombstones: (space, tombstones) => answered(readOldTombstones(at.connection, space, tombstones)),
  storedRows: ({ id }, after) => whole(readStoredRows(at.connection, id, after)),
  storedKeys: ({ id }, which) => whole("only" in which ? which.only.flatMap((key) => readStoredKey(at.connection, id, key) ?? []) : readKeysAfter(at.connection, id, which.after)),
  storedRequests: ({ id }, after) => whole(readStoredRequests(at.connection, id, after)),
});

const whole = <R extends StoredRecord>(records: Iterable<R>): Work<Fetched<R>> => answered({ records, isWhole: true });
