import type { LoadedLog } from "../../ledger/load-plan.ts";
import type { BatchSource, StoredSlot, Tombstone } from "../../ledger/plan-batch.ts";
import type { NamedRows } from "../../ledger/rows.ts";
import { parseLapse } from "../../ledger/stored-row.ts";
import type { Committed, Entry, HistoryRecord, StoredRequest } from "../../store/store.ts";
import type { RawEntry } from "./log-rows.ts";
import { entryColumns, toEntry } from "./log-rows.ts";
import type { PgNamespaceClock, PgNamespaceRow } from "./namespace-row.ts";
import { factsColumn, hostClock, unpackFacts } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import { bigintArray, intArray, numbers, texts } from "./sql-arrays.ts";

/** One namespace and the rows requested from it. */
interface Asked {
  readonly namespace: string;
  readonly id: number;
  readonly named: NamedRows;
}

/** The rows found for one namespace. */
export interface FoundSlots {
  readonly space: PgNamespaceRow;
  readonly source: FoundSource;
  readonly log: LoadedLog;
}

/** Answers a plan from the rows that were found. An entry that fails a check is a placeholder, filled in before a caller sees it. */
export class FoundSource implements BatchSource {
  readonly slots = new Map<string, StoredSlot & { readonly lapse: string | null }>();
  readonly tombstones = new Map<string, Tombstone>();
  readonly requests = new Map<string, StoredRequest & { readonly keptUntilMs: number }>();
  readonly wanted: { readonly logPosition: number; readonly entry: Entry }[] = [];

  readSlot(key: string): StoredSlot | undefined {
    return this.slots.get(key);
  }

  readTombstone(key: string): Tombstone | undefined {
    return this.tombstones.get(key);
  }

  readRequest(key: string, nowMs: number): StoredRequest | undefined {
    const known = this.requests.get(key);
    return known !== undefined && nowMs < known.keptUntilMs ? known : undefined;
  }

  readLapse(key: string): HistoryRecord | undefined {
    return parseLapse(this.slots.get(key)?.lapse ?? null);
  }

  readEntry(_key: string, { logPosition }: StoredSlot): Entry {
    const entry = {} as Entry;
    this.wanted.push({ logPosition, entry });
    return entry;
  }
}

/** All requests for several namespaces in one statement, plus one more if there are request keys. */
export class SlotQuestions {
  readonly #asked: readonly Asked[];
  readonly #owners: number[] = [];
  readonly #ids: number[] = [];
  readonly #keys: string[] = [];
  readonly #requestOwners = new Map<number, number>();
  readonly #requestIds: number[] = [];
  readonly #requestKeys: string[] = [];

  constructor(asked: readonly Asked[]) {
    this.#asked = asked;
    for (const [owner, { id, named }] of asked.entries()) {
      const { keys = [], requestKeys = [] } = named;
      this.#requestOwners.set(id, owner);
      for (const key of keys) {
        this.#owners.push(owner);
        this.#ids.push(id);
        this.#keys.push(key);
      }
      for (const key of requestKeys) {
        this.#requestIds.push(id);
        this.#requestKeys.push(key);
      }
    }
  }

  statements(t: Tables, clock: PgNamespaceClock): Statement[] {
    const others = this.#asked.flatMap(({ id, named: { logPositions } }) => (logPositions === undefined ? [] : logStatements(t, id, logPositions)));
    return [this.#slots(t, clock), ...(this.#requestKeys.length > 0 ? [this.#requests(t)] : []), ...others];
  }

  /** In the requested order. */
  found([slots, ...others]: readonly StatementResult[], clock: PgNamespaceClock): FoundSlots[] {
    const spaces: PgNamespaceRow[] = [];
    const sources = this.#asked.map(() => new FoundSource());
    for (const [facts, position, text, lapse] of (slots as StatementResult).rows as unknown as RawSlot[]) {
      const at = position - 1;
      if (facts === null) noteSlot(sources[this.#owners[at] as number] as FoundSource, this.#keys[at] as string, text, lapse);
      else spaces[at] = clock.atLatest((this.#asked[at] as Asked).namespace, unpackFacts(facts));
    }
    const kept = this.#requestKeys.length > 0 ? others.shift() : undefined;
    for (const [id, key, fingerprint, keptUntilMs, outcome] of (kept?.rows ?? []) as unknown as RawRequest[])
      sources[this.#requestOwners.get(id) as number]?.requests.set(key, { fingerprint, keptUntilMs, outcome: JSON.parse(outcome) as Committed });
    return sources.map((source, i) => ({
      space: spaces[i] as PgNamespaceRow,
      source,
      log: this.#asked[i]?.named.logPositions === undefined ? noLog : loadedLog(others.shift(), others.shift()),
    }));
  }

  /**
   * Returns the facts of each namespace in a separate row, and the entries or tombstones under the keys. The numbers of a key come as one text:
   * five or six for an entry (the last is its expiry), three for a tombstone, one for neither. As separate columns, parsing them would be the most expensive part of a commit.
   */
  #slots(t: Tables, clock: PgNamespaceClock): Statement {
    return {
      name: "slots",
      text: `SELECT ${factsColumn("h.host", "greatest(h.host, s.clock)")} AS facts, w.i, NULL::text AS numbers, NULL::text AS lapse
          FROM (SELECT ${hostClock("$2")} AS host) h CROSS JOIN unnest($1::text[]) WITH ORDINALITY AS w (name, i) LEFT JOIN LATERAL (SELECT *, tableoid FROM ${t.namespace} WHERE name = w.name LIMIT 1) s ON true
        UNION ALL SELECT NULL, u.i, concat_ws(',', coalesce(kv.place, b.place), coalesce(kv.ver, b.ver), coalesce(kv.anchor, b.anchor, 0), kv.created, kv.findable::int, kv.exp),
          CASE WHEN kv.exp IS NOT NULL THEN (SELECT l.lapse FROM ${t.log} l WHERE l.ns = u.ns AND l.place = kv.place) END
          FROM unnest($3::int[], $4::text[]) WITH ORDINALITY AS u (ns, k, i)
          LEFT JOIN LATERAL (SELECT k, place, ver, anchor, created, findable, exp FROM ${t.kv} WHERE ns = u.ns AND k = u.k LIMIT 1) kv ON true
          LEFT JOIN LATERAL (SELECT place, anchor, ver FROM ${t.tombstone} WHERE kv.k IS NULL AND ns = u.ns AND k = u.k LIMIT 1) b ON true`,
      values: [texts(this.#asked.map(({ namespace }) => namespace)), clock.testMs, numbers("int", this.#ids), texts(this.#keys)],
    };
  }

  #requests(t: Tables): Statement {
    return {
      name: "requests",
      text: `SELECT r.ns, r.key, r.fingerprint, r.kept_until, r.outcome FROM unnest($1::int[], $2::text[]) AS u (ns, key)
        CROSS JOIN LATERAL (SELECT * FROM ${t.request} WHERE ns = u.ns AND key = u.key LIMIT 1) r`,
      values: [numbers("int", this.#requestIds), texts(this.#requestKeys)],
    };
  }
}

type RawSlot = [facts: string | null, position: number, numbers: string, lapse: string | null];
type RawRequest = [ns: number, key: string, fingerprint: string, keptUntilMs: number, outcome: string];

/** The newest row, and those of the named rows that exist. */
const logStatements = (t: Tables, id: number, logPositions: readonly number[]): Statement[] => [
  { name: "newest-row", text: `SELECT place FROM ${t.log} WHERE ns = $1 ORDER BY place DESC LIMIT 1`, values: [id] },
  { name: "known", text: `SELECT place FROM ${t.log} WHERE ns = $1 AND place = ANY($2::bigint[])`, values: [id, numbers("bigint", logPositions)] },
];

const noLog: LoadedLog = { newest: 0, has: () => false };

function loadedLog(newest: StatementResult | undefined, known: StatementResult | undefined): LoadedLog {
  const placesIn = (answer: StatementResult | undefined): number[] => (answer?.rows ?? []).map(([place]) => place as unknown as number);
  const there = new Set(placesIn(known));
  return { newest: placesIn(newest)[0] ?? 0, has: (place) => there.has(place) };
}

function noteSlot(source: FoundSource, key: string, text: string, lapse: string | null): void {
  const [logPosition, version, nearest, createdAtMs, findable, expiresAtMs] = text.split(",").map(Number) as [number, number?, number?, number?, number?, number?];
  const anchor = nearest === 0 ? undefined : nearest;
  if (version === undefined) return;
  if (createdAtMs === undefined) source.tombstones.set(key, { logPosition, version, anchor });
  else source.slots.set(key, { logPosition, version, anchor, createdAtMs, expiresAtMs, findable: findable === 1, lapse });
}

/** An entry for which a placeholder was handed out. */
export interface WantedEntry {
  readonly id: number;
  readonly logPosition: number;
  readonly entry: Entry;
}

/** Only a failed check needs an entry's times and author. That takes one more round trip, still under the lock. */
export const readWanted = (t: Tables, wanted: readonly WantedEntry[]): Statement => ({
  name: "entries",
  text: `SELECT u.i, ${entryColumns("l")} FROM unnest($1::int[], $2::bigint[]) WITH ORDINALITY AS u (ns, place, i) CROSS JOIN LATERAL (SELECT * FROM ${t.log} WHERE ns = u.ns AND place = u.place LIMIT 1) l`,
  values: [intArray(wanted, ({ id }) => id), bigintArray(wanted, ({ logPosition }) => logPosition)],
});

export function fillWanted(wanted: readonly WantedEntry[], answer: StatementResult): void {
  for (const [position, ...row] of answer.rows as unknown as [number, ...RawEntry][]) Object.assign((wanted[position - 1] as WantedEntry).entry, toEntry(row));
}
