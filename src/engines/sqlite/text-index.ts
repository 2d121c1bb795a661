import { areaSum, damagedRecord, documentSum, postingSum, requireSum, termSum } from "../../ledger/record-sum.ts";
import type { Area, SpaceRow } from "../../ledger/rows.ts";
import { limits } from "../../store/limits.ts";
import type { IndexedText } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import type { LiveHead } from "./key-chain.ts";
import { liveHeadColumns, requireLiveHead } from "./key-chain.ts";
import { logId } from "./log-id.ts";
import { keyName, rowName } from "./log-rows.ts";

/**
 * The inverted index, written in the same transaction as the entry it makes findable. A posting identifies its document by the position
 * of the entry's log row, so "newest first" is the table's order, and a replaced entry cannot be mistaken for the new one.
 * `term` counts the postings of each term: counting them for each query would walk every note that contains a common word.
 * If one statement serves many terms or positions, they are passed as a JSON array; postings with their weights are cheaper one by one.
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

/** The index record of an entry that is marked as findable; throws if it is missing. */
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

function ensureArea(connection: Connection, namespaceId: number, name: string): number {
  const found = connection.statement("SELECT id FROM area WHERE ns = ? AND name = ?").get(namespaceId, name) as { readonly id: number } | undefined;
  if (found !== undefined) return found.id;
  const { id } = connection.statement("INSERT INTO area (ns, name, documents, length, sum) VALUES (?, ?, 0, 0, 0) RETURNING id").get(namespaceId, name) as { readonly id: number };
  connection.statement("UPDATE area SET sum = ? WHERE id = ?").run(areaSum(namespaceId, id, name), id);
  return id;
}

interface SummedArea extends Area {
  readonly name: string;
  readonly sum: number;
}

/** All areas of a namespace: there are only a few, and an area with a damaged name is not mistaken for a missing one. */
export function readAreas(connection: Connection, namespaceId: number): SummedArea[] {
  const areas = connection.statement("SELECT id, name, documents, length, sum FROM area WHERE ns = ?").all(namespaceId) as SummedArea[];
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

function requirePostings(areaId: number, term: string, postings: SummedPosting[]): SummedPosting[] {
  const start = termSum(areaId, term);
  for (const [logPosition, weight, length, sum] of postings) requireSum(postingSum(start, logPosition, weight, length), sum, termName, term);
  return postings;
}

/** The number of postings is checked against the stored count: a missing posting would silently drop its entry from the results. */
export function readNewestPostings(connection: Connection, areas: readonly Area[], { term, frequency }: { readonly term: string; readonly frequency: number }): SummedPosting[] {
  const newest = connection.arrayStatement(`SELECT place, weight, length, sum FROM posting WHERE area = ? AND term = ? ORDER BY place DESC LIMIT ${limits.searchCandidatesMax}`);
  const postings = areas.flatMap(({ id }) => requirePostings(id, term, newest.all(id, term) as SummedPosting[]));
  if (postings.length < Math.min(frequency, limits.searchCandidatesMax)) throw damagedRecord(termName(term));
  return postings;
}

export function countTerms(
  connection: Connection,
  namespaceId: number,
  names: readonly string[],
  terms: readonly string[],
): { readonly areas: readonly Area[]; readonly frequencies: readonly number[] } {
  const all = readAreas(connection, namespaceId);
  const areas = names.flatMap((name) => all.filter((area) => area.name === name && area.documents > 0));
  return { areas, frequencies: terms.map((term) => areas.reduce((sum, { id }) => sum + countOf(connection, id, term), 0)) };
}

/** `places`: positions as JSON, sorted, so that lookups in the index are sequential. `isFewer`: the term has few postings compared with them. */
export function probeTerm(
  connection: Connection,
  areas: readonly Area[],
  term: string,
  { places, isFewer }: { readonly places: string; readonly isFewer: boolean },
): SummedPosting[] {
  // Reading postings in sequence costs about half as much as looking up the same number one by one.
  const walk = connection.arrayStatement("SELECT place, weight, length, sum FROM posting WHERE area = ? AND term = ?");
  const probe = connection.arrayStatement(
    "SELECT p.place, p.weight, p.length, p.sum FROM json_each(?) AS c CROSS JOIN posting AS p ON p.area = ? AND p.term = ? AND p.place = c.value",
  );
  return areas.flatMap(({ id }) => requirePostings(id, term, (isFewer ? walk.all(id, term) : probe.all(places, id, term)) as SummedPosting[]));
}

/**
 * Returns the documents that are live. `isUnchanged`: nothing was committed since they were found, so every document with postings must be in the log
 * and among the entries, or it is damaged.
 */
export function readLiveDocuments(connection: Connection, { id, nowMs }: SpaceRow, places: readonly number[], isUnchanged: boolean): [place: number, key: string][] {
  const found = connection
    .arrayStatement(
      `SELECT ${liveHeadColumns} FROM json_each(?) AS c CROSS JOIN log ON log.id = ${logId("?", "c.value")} CROSS JOIN kv ON kv.ns = ? AND kv.k = log.k AND kv.place = c.value`,
    )
    .all(JSON.stringify(places), id, id) as LiveHead[];
  if (found.length < places.length && isUnchanged) {
    const there = new Set(found.map(([place]) => place));
    throw damagedRecord(rowName(places.find((place) => !there.has(place)) as number));
  }
  const live: [number, string][] = [];
  for (const row of found) {
    requireLiveHead(id, row);
    const [place, key, , , exp] = row;
    if (exp === null || exp > nowMs) live.push([place, key]);
  }
  return live;
}
