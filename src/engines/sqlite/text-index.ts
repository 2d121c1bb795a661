import { essentialTerms } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { revisionAt } from "../../store/place.ts";
import type { IndexedText, SearchAnswer, SearchQuery } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import { logId } from "./log-id.ts";
import type { NamespaceRow } from "./namespace-row.ts";

/**
 * The inverted index, written in the same transaction as the entry it makes findable. A posting names its document by the place
 * of the entry's log row, so that "the newest first" is the order of the table and a replaced entry cannot be mistaken for the new one.
 * `term` counts the postings of each term: counting them at each question would walk every note that has a common word.
 * Where one statement serves many terms or places, they go in as a JSON array; postings with their weights are cheaper one by one.
 */
export function addDocument(connection: Connection, namespaceId: number, key: string, place: number, { area, length, terms }: IndexedText): void {
  const areaId = ensureArea(connection, namespaceId, area);
  connection.statement("UPDATE area SET documents = documents + 1, length = length + ? WHERE id = ?").run(length, areaId);
  const names = JSON.stringify(terms.map(([term]) => term));
  connection.statement("INSERT INTO document VALUES (?, ?, ?, ?, ?, ?)").run(namespaceId, key, areaId, place, length, names);
  const posting = connection.statement("INSERT INTO posting VALUES (?, ?, ?, ?, ?)");
  for (const [term, weight] of terms) posting.run(areaId, term, place, weight, length);
  connection.statement("INSERT INTO term SELECT ?, value, 1 FROM json_each(?) WHERE true ON CONFLICT DO UPDATE SET documents = documents + 1").run(areaId, names);
}

export function removeDocument(connection: Connection, namespaceId: number, key: string): void {
  const found = connection.statement("SELECT area, place, length, terms FROM document WHERE ns = ? AND k = ?").get(namespaceId, key) as
    | { readonly area: number; readonly place: number; readonly length: number; readonly terms: string }
    | undefined;
  if (found === undefined) return;
  connection.statement("DELETE FROM document WHERE ns = ? AND k = ?").run(namespaceId, key);
  connection.statement("UPDATE area SET documents = documents - 1, length = length - ? WHERE id = ?").run(found.length, found.area);
  connection.statement("DELETE FROM posting WHERE area = ? AND place = ? AND term IN (SELECT value FROM json_each(?))").run(found.area, found.place, found.terms);
  connection.statement("UPDATE term SET documents = documents - 1 WHERE area = ? AND term IN (SELECT value FROM json_each(?))").run(found.area, found.terms);
  connection.statement("DELETE FROM term WHERE area = ? AND term IN (SELECT value FROM json_each(?)) AND documents = 0").run(found.area, found.terms);
}

function ensureArea(connection: Connection, namespaceId: number, name: string): number {
  const found = connection.statement("SELECT id FROM area WHERE ns = ? AND name = ?").get(namespaceId, name) as { readonly id: number } | undefined;
  if (found !== undefined) return found.id;
  return (connection.statement("INSERT INTO area (ns, name, documents, length) VALUES (?, ?, 0, 0) RETURNING id").get(namespaceId, name) as { readonly id: number }).id;
}

interface Area {
  readonly id: number;
  readonly documents: number;
  readonly length: number;
}

interface Candidate {
  readonly length: number;
  readonly weights: number[];
}
interface Posting {
  readonly place: number;
  readonly weight: number;
  readonly length: number;
}

/** A search on its way. Candidates are named by place, which no later entry gets, so that its parts may be in different read transactions. */
export interface TextSearch {
  readonly terms: readonly string[];
  readonly areas: readonly Area[];
  readonly frequencies: readonly number[];
  readonly candidates: ReadonlyMap<number, Candidate>;
  readonly places: string;
  /** Positions of the terms whose weights are still to be looked up. */
  readonly unprobed: number[];
}

/** Chooses the candidates. */
export function beginSearch(connection: Connection, space: NamespaceRow, { areas: names, terms }: SearchQuery): TextSearch {
  const byName = connection.statement("SELECT id, documents, length FROM area WHERE ns = ? AND name = ?");
  const areas = names.flatMap((name) => (byName.all(space.id, name) as Area[]).filter((area) => area.documents > 0));
  const count = connection.statement("SELECT documents FROM term WHERE area = ? AND term = ?");
  const frequencies = terms.map((term) => areas.reduce((sum, { id }) => sum + ((count.get(id, term) as { readonly documents: number } | undefined)?.documents ?? 0), 0));
  const essential = new Set(essentialTerms(frequencies));
  const candidates = new Map<number, Candidate>();
  const noWeights = terms.map(() => 0);
  const newest = connection.statement(`SELECT place, weight, length FROM posting WHERE area = ? AND term = ? ORDER BY place DESC LIMIT ${limits.searchCandidatesMax}`);
  for (const i of essential) {
    const postings = areas.flatMap(({ id }) => newest.all(id, terms[i] as string) as Posting[]);
    if (areas.length > 1) postings.sort((a, b) => b.place - a.place);
    for (const { place, weight, length } of postings.slice(0, limits.searchCandidatesMax)) {
      const candidate = candidates.get(place) ?? { length, weights: [...noWeights] };
      candidate.weights[i] = weight;
      candidates.set(place, candidate);
    }
  }
  // An essential term may have more postings than were read above.
  const isUnprobed = (frequency: number, i: number): boolean => frequency > 0 && !(essential.has(i) && frequency <= limits.searchCandidatesMax);
  const unprobed = candidates.size === 0 ? [] : frequencies.flatMap((frequency, i) => (isUnprobed(frequency, i) ? [i] : []));
  return { terms, areas, frequencies, candidates, places: JSON.stringify([...candidates.keys()]), unprobed };
}

/** Looks up weights until all are there, or it is time for others: then it gives what to wait for, and is called again. */
export function probeTerms(connection: Connection, { terms, areas, candidates, places, unprobed }: TextSearch, pause: SearchQuery["pause"]): Promise<void> | undefined {
  // The postings of a common term are never walked as a whole: only the candidates' are looked up.
  const probe = connection.statement("SELECT p.place, p.weight FROM json_each(?) AS c CROSS JOIN posting AS p ON p.area = ? AND p.term = ? AND p.place = c.value");
  for (let i = unprobed.pop(); i !== undefined; i = unprobed.pop()) {
    for (const { id } of areas) for (const { place, weight } of probe.all(places, id, terms[i] as string) as Posting[]) (candidates.get(place) as Candidate).weights[i] = weight;
    const turn = pause?.();
    if (turn !== undefined) return turn;
  }
  return undefined;
}

/** What of the candidates is live now. */
export function finishSearch(connection: Connection, space: NamespaceRow, nowMs: number, { areas, frequencies, candidates, places }: TextSearch): SearchAnswer {
  const live = connection
    .statement(
      `SELECT c.value AS place, kv.k AS key FROM json_each(?) AS c CROSS JOIN log ON log.id = ${logId("?", "c.value")}
       CROSS JOIN kv ON kv.ns = ? AND kv.k = log.k AND kv.place = c.value AND (kv.exp IS NULL OR kv.exp > ?)`,
    )
    .all(places, space.id, space.id, nowMs) as { readonly place: number; readonly key: string }[];
  return {
    revision: space.revision,
    documents: areas.reduce((sum, area) => sum + area.documents, 0),
    totalLength: areas.reduce((sum, area) => sum + area.length, 0),
    frequencies,
    hits: live.map(({ place, key }) => ({ key, revision: revisionAt(place), ...(candidates.get(place) as Candidate) })),
  };
}
