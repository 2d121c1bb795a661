import { revisionAt } from "../../ledger/log-position.ts";
import { areaSum, damagedRecord, documentSum, postingSum, requireSum, termSum } from "../../ledger/record-sum.ts";
import { SearchCandidates } from "../../ledger/search-candidates.ts";
import { limits } from "../../store/limits.ts";
import type { IndexedText, NewText, Revision, SearchAnswer, SearchHit, SearchQuery } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { LiveHead } from "./key-chain.ts";
import { liveHeadColumns, readHead, requireLiveHead } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import { keyName, rowName } from "./log-rows.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";

/**
 * The inverted index, written in the same transaction as the entry it makes findable. A posting names its document by the place
 * of the entry's log row, so that "the newest first" is the order of the table and a replaced entry cannot be mistaken for the new one.
 * `term` counts the postings of each term: counting them at each question would walk every note that has a common word.
 * Where one statement serves many terms or places, they go in as a JSON array; postings with their weights are cheaper one by one.
 */
export function addDocument(connection: Connection, namespaceId: number, key: string, logPosition: number, { area, length, terms }: IndexedText): void {
  const areaId = ensureArea(connection, namespaceId, area);
  connection.statement("UPDATE area SET documents = documents + 1, length = length + ?1, sum = sum - 1 - ?1 WHERE id = ?2").get(length, areaId);
  const names = JSON.stringify(terms.map(([term]) => term));
  connection
    .statement("INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?)")
    .get(namespaceId, key, areaId, logPosition, length, names, documentSum(namespaceId, key, areaId, logPosition, length, names));
  const posting = connection.statement("INSERT INTO posting VALUES (?, ?, ?, ?, ?, ?)");
  const sumOfTerm: string[] = [];
  for (const [term, weight] of terms) {
    const sum = termSum(areaId, term);
    posting.get(areaId, term, logPosition, weight, length, postingSum(sum, logPosition, weight, length));
    sumOfTerm.push(`${JSON.stringify(term)}:${sum}`);
  }
  connection
    .statement("INSERT INTO term SELECT ?, t.key, 1, t.value - 1 FROM json_each(?) AS t WHERE true ON CONFLICT DO UPDATE SET documents = documents + 1, sum = sum - 1")
    .get(areaId, `{${sumOfTerm.join(",")}}`);
}

interface RawDocument {
  readonly area: number;
  readonly place: number;
  readonly length: number;
  readonly terms: string;
  readonly sum: number;
}

/** What the index has of an entry that says it is findable. */
export function requireDocument(connection: Connection, namespaceId: number, key: string): RawDocument {
  const found = connection.statement("SELECT area, place, length, terms, sum FROM document WHERE ns = ? AND k = ?").get(namespaceId, key) as RawDocument | undefined;
  if (found === undefined) throw damagedRecord(keyName(key));
  requireSum(documentSum(namespaceId, key, found.area, found.place, found.length, found.terms), found.sum, keyName, key);
  return found;
}

export function removeDocument(connection: Connection, namespaceId: number, key: string): void {
  const found = requireDocument(connection, namespaceId, key);
  connection.statement("DELETE FROM document WHERE ns = ? AND k = ?").get(namespaceId, key);
  connection.statement("UPDATE area SET documents = documents - 1, length = length - ?1, sum = sum + 1 + ?1 WHERE id = ?2").get(found.length, found.area);
  connection.statement("DELETE FROM posting WHERE area = ? AND place = ? AND term IN (SELECT value FROM json_each(?))").get(found.area, found.place, found.terms);
  connection.statement("UPDATE term SET documents = documents - 1, sum = sum + 1 WHERE area = ? AND term IN (SELECT value FROM json_each(?))").get(found.area, found.terms);
  connection.statement("DELETE FROM term WHERE area = ? AND term IN (SELECT value FROM json_each(?)) AND documents = 0").get(found.area, found.terms);
}

/** What is findable stays so, by other terms: no entry is touched. */
export function replaceTexts(connection: Connection, namespaceId: number, texts: readonly NewText[]): number {
  let replaced = 0;
  for (const { key, revision, index } of texts) {
    const head = readHead(connection, namespaceId, key);
    if (head?.findable !== 1 || revisionAt(head.place) !== revision) continue;
    removeDocument(connection, namespaceId, key);
    addDocument(connection, namespaceId, key, head.place, index);
    replaced += 1;
  }
  return replaced;
}

function ensureArea(connection: Connection, namespaceId: number, name: string): number {
  const found = connection.statement("SELECT id FROM area WHERE ns = ? AND name = ?").get(namespaceId, name) as { readonly id: number } | undefined;
  if (found !== undefined) return found.id;
  const { id } = connection.statement("INSERT INTO area (ns, name, documents, length, sum) VALUES (?, ?, 0, 0, 0) RETURNING id").get(namespaceId, name) as { readonly id: number };
  connection.statement("UPDATE area SET sum = ? WHERE id = ?").run(areaSum(namespaceId, id, name), id);
  return id;
}

interface Area {
  readonly id: number;
  readonly name: string;
  readonly documents: number;
  readonly length: number;
  readonly sum: number;
}

/** All of a namespace: they are a handful, and one whose name is damaged is then not taken for one that is not there. */
export function readAreas(connection: Connection, namespaceId: number): Area[] {
  const areas = connection.statement("SELECT id, name, documents, length, sum FROM area WHERE ns = ?").all(namespaceId) as Area[];
  for (const { id, name, documents, length, sum } of areas) requireSum(areaSum(namespaceId, id, name) - documents - length, sum, areaName, name);
  return areas;
}

export const areaName = (name: unknown): string => `the text index of area ${JSON.stringify(String(name).slice(0, 200))}`;

function countOf(connection: Connection, areaId: number, term: string): number {
  const found = connection.statement("SELECT documents, sum FROM term WHERE area = ? AND term = ?").get(areaId, term) as
    | { readonly documents: number; readonly sum: number }
    | undefined;
  if (found === undefined) return 0;
  requireSum(termSum(areaId, term) - found.documents, found.sum, termName, term);
  return found.documents;
}

export const termName = (term: string): string => `the text index of term ${JSON.stringify(term)}`;

type SummedPosting = [place: number, weight: number, length: number, sum: number];

function requirePostings(areaId: number, term: string, postings: readonly SummedPosting[]): readonly SummedPosting[] {
  const start = termSum(areaId, term);
  for (const [logPosition, weight, length, sum] of postings) requireSum(postingSum(start, logPosition, weight, length), sum, termName, term);
  return postings;
}

/** A search on its way. Candidates are named by place, which no later entry gets, so that its parts may be in different read transactions. */
export interface TextSearch {
  /** When the candidates were chosen. */
  readonly revision: Revision;
  readonly terms: readonly string[];
  readonly areas: readonly Area[];
  readonly frequencies: readonly number[];
  readonly candidates: SearchCandidates;
  /** Of the candidates, as JSON. */
  readonly logPositions: string;
  /** Positions of the terms whose weights are still to be looked up. */
  readonly unprobed: number[];
}

/** Chooses the candidates. */
export function beginSearch(connection: Connection, space: SqliteNamespaceRow, { areas: names, terms }: SearchQuery): TextSearch {
  const all = readAreas(connection, space.id);
  const areas = names.flatMap((name) => all.filter((area) => area.name === name && area.documents > 0));
  const frequencies = terms.map((term) => areas.reduce((sum, { id }) => sum + countOf(connection, id, term), 0));
  const candidates = new SearchCandidates(frequencies);
  const newest = connection.arrayStatement(`SELECT place, weight, length, sum FROM posting WHERE area = ? AND term = ? ORDER BY place DESC LIMIT ${limits.searchCandidatesMax}`);
  for (const i of candidates.essential) {
    const term = terms[i] as string;
    const postings = areas.flatMap(({ id }) => requirePostings(id, term, newest.all(id, term) as SummedPosting[]));
    // Counted when they were written: one that is missing would leave its entry out without a sign.
    if (postings.length < Math.min(frequencies[i] as number, limits.searchCandidatesMax)) throw damagedRecord(termName(term));
    candidates.choose(i, postings);
  }
  return { revision: space.revision, terms, areas, frequencies, candidates, logPositions: JSON.stringify(candidates.places), unprobed: candidates.unknown };
}

/** Looks up weights until all are there, or it is time for others: then it gives what to wait for, and is called again. */
export function probeTerms(connection: Connection, { terms, areas, candidates, logPositions, unprobed }: TextSearch, pause: SearchQuery["pause"]): Promise<void> | undefined {
  const probe = connection.arrayStatement(
    "SELECT p.place, p.weight, p.length, p.sum FROM json_each(?) AS c CROSS JOIN posting AS p ON p.area = ? AND p.term = ? AND p.place = c.value",
  );
  for (let i = unprobed.pop(); i !== undefined; i = unprobed.pop()) {
    const term = terms[i] as string;
    for (const { id } of areas)
      for (const [logPosition, weight] of requirePostings(id, term, probe.all(logPositions, id, term) as SummedPosting[])) candidates.weigh(logPosition, i, weight);
    const turn = pause?.();
    if (turn !== undefined) return turn;
  }
  return undefined;
}

/** What of the candidates is live now. */
export function finishSearch(connection: Connection, space: SqliteNamespaceRow, nowMs: number, search: TextSearch): SearchAnswer {
  const { areas, frequencies, candidates, logPositions } = search;
  const found = connection
    .arrayStatement(
      `SELECT ${liveHeadColumns} FROM json_each(?) AS c CROSS JOIN log ON log.id = ${logId("?", "c.value")} CROSS JOIN kv ON kv.ns = ? AND kv.k = log.k AND kv.place = c.value`,
    )
    .all(logPositions, space.id, space.id) as LiveHead[];
  // Unless it was replaced or removed since the candidates were chosen, whatever has postings is in the log and among the entries, or damaged.
  if (found.length < candidates.size && space.revision === search.revision) {
    const there = new Set(found.map(([logPosition]) => logPosition));
    throw damagedRecord(rowName(candidates.places.find((logPosition) => !there.has(logPosition)) as number));
  }
  const hits: SearchHit[] = [];
  for (const row of found) {
    requireLiveHead(space.id, row);
    const [logPosition, key, , , exp] = row;
    if (exp === null || exp > nowMs) hits.push(candidates.hit(logPosition, key));
  }
  return {
    revision: space.revision,
    documents: areas.reduce((sum, area) => sum + area.documents, 0),
    totalLength: areas.reduce((sum, area) => sum + area.length, 0),
    frequencies,
    hits,
  };
}
