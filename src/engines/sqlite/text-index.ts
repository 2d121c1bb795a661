import { essentialTerms } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import type { IndexedText, SearchAnswer, SearchQuery } from "../../store/store.ts";
import type { Connection } from "./connection.ts";
import { logId } from "./log-id.ts";
import type { NamespaceRow } from "./namespace-row.ts";

/**
 * The inverted index, written in the same transaction as the entry it makes findable. A posting names its document by the place
 * of the entry's log row, so that "the newest first" is the order of the table and a replaced entry cannot be mistaken for the new one.
 */
export function addDocument(connection: Connection, namespaceId: number, key: string, place: number, { area, length, terms }: IndexedText): void {
  const areaId = ensureArea(connection, namespaceId, area);
  connection.statement("UPDATE area SET documents = documents + 1, length = length + ? WHERE id = ?").run(length, areaId);
  connection.statement("INSERT INTO document VALUES (?, ?, ?, ?, ?, ?)").run(namespaceId, key, areaId, place, length, JSON.stringify(terms.map(([term]) => term)));
  const posting = connection.statement("INSERT INTO posting VALUES (?, ?, ?, ?, ?)");
  for (const [term, weight] of terms) posting.run(areaId, term, place, weight, length);
}

export function removeDocument(connection: Connection, namespaceId: number, key: string): void {
  const found = connection.statement("SELECT area, place, length, terms FROM document WHERE ns = ? AND k = ?").get(namespaceId, key) as
    | { readonly area: number; readonly place: number; readonly length: number; readonly terms: string }
    | undefined;
  if (found === undefined) return;
  connection.statement("DELETE FROM document WHERE ns = ? AND k = ?").run(namespaceId, key);
  connection.statement("UPDATE area SET documents = documents - 1, length = length - ? WHERE id = ?").run(found.length, found.area);
  const posting = connection.statement("DELETE FROM posting WHERE area = ? AND term = ? AND place = ?");
  for (const term of JSON.parse(found.terms) as string[]) posting.run(found.area, term, found.place);
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

/** Inside one read transaction. */
export function searchText(connection: Connection, space: NamespaceRow, nowMs: number, { areas: names, terms }: SearchQuery): SearchAnswer {
  const byName = connection.statement("SELECT id, documents, length FROM area WHERE ns = ? AND name = ?");
  const areas = names.flatMap((name) => (byName.all(space.id, name) as Area[]).filter((area) => area.documents > 0));
  const count = connection.statement("SELECT count(*) AS n FROM posting WHERE area = ? AND term = ?");
  const frequencies = terms.map((term) => areas.reduce((sum, { id }) => sum + (count.get(id, term) as { readonly n: number }).n, 0));
  const essential = essentialTerms(frequencies).map((i) => terms[i] as string);
  return {
    revision: space.revision,
    documents: areas.reduce((sum, area) => sum + area.documents, 0),
    totalLength: areas.reduce((sum, area) => sum + area.length, 0),
    frequencies,
    hits: essential.length === 0 ? [] : readHits(connection, space, nowMs, areas, terms, essential),
  };
}

function readHits(
  connection: Connection,
  space: NamespaceRow,
  nowMs: number,
  areas: readonly Area[],
  terms: readonly string[],
  essential: readonly string[],
): SearchAnswer["hits"] {
  const marks = (count: number): string => Array.from({ length: count }, () => "?").join(", ");
  const areaIds = areas.map(({ id }) => id);
  const newest = `SELECT place FROM (SELECT place FROM posting WHERE area IN (${marks(areaIds.length)}) AND term = ? ORDER BY place DESC LIMIT ${limits.searchCandidatesMax})`;
  const candidates = connection
    .statement(
      `SELECT kv.k AS key, c.place FROM (${essential.map(() => newest).join(" UNION ")}) AS c CROSS JOIN log ON log.id = ${logId("?", "c.place")}
       CROSS JOIN kv ON kv.ns = ? AND kv.k = log.k AND kv.place = c.place AND (kv.exp IS NULL OR kv.exp > ?)`,
    )
    .all(...essential.flatMap((term) => [...areaIds, term]), space.id, space.id, nowMs) as { readonly key: string; readonly place: number }[];
  // One probe per candidate, area and term: the postings of a common term are never walked as a whole.
  const probe = connection.statement("SELECT weight, length FROM posting WHERE area = ? AND term = ? AND place = ?");
  return candidates.map(({ key, place }) => {
    let length = 0;
    const weights = terms.map((term) => {
      for (const area of areaIds) {
        const found = probe.get(area, term, place) as { readonly weight: number; readonly length: number } | undefined;
        if (found === undefined) continue;
        length = found.length;
        return found.weight;
      }
      return 0;
    });
    return { key, length, weights };
  });
}
