import type { AddedText, Area, AtMoment, RowReads } from "../../ledger/rows.ts";
import type { Posting } from "../../ledger/search-candidates.ts";
import { limits } from "../../store/limits.ts";
import type { IndexedText } from "../../store/store.ts";
import { factsOf, withNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import { one } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import { bigintArray, intArray, textArray, texts } from "./sql-arrays.ts";

/**
 * The inverted index, written in the same transaction as the entry it makes findable. A posting identifies its document by the position of the entry's log row,
 * so "newest first" is the order of the index, and a replaced entry cannot be mistaken for the new one.
 * `term` counts the postings of each term: counting them for each query would walk every note that contains a common word.
 */
export interface IndexedDocument {
  readonly logPosition: number;
  readonly key: string;
  readonly areaId: number;
  readonly length: number;
  readonly terms: IndexedText["terms"];
}

/** Reads the documents to remove from the index, and the areas. Needed before a write that affects a findable entry. */
export const readDocuments = (t: Tables, id: number, keys: readonly string[]): Statement => ({
  name: "documents",
  text: `SELECT k, area, place, length, terms FROM ${t.document} WHERE ns = $1 AND k = ANY($2::text[])`,
  values: [id, texts(keys)],
});
export const readAreas = (t: Tables, id: number): Statement => ({ name: "areas", text: `SELECT id, name FROM ${t.area} WHERE ns = $1`, values: [id] });

export const toDocuments = (answer: StatementResult): IndexedDocument[] =>
  (answer.rows as unknown as [string, number, number, number, string][]).map(([key, areaId, logPosition, length, terms]) => ({
    key,
    areaId,
    logPosition,
    length,
    terms: JSON.parse(terms) as IndexedText["terms"],
  }));

/** The statements that remove documents and add others. Areas keep their ids forever; new ids are assigned under the namespace's lock. */
export function indexStatements(t: Tables, id: number, areas: StatementResult, removed: readonly IndexedDocument[], added: readonly AddedText[]): Statement[] {
  const areaIds = new Map((areas.rows as unknown as [number, string][]).map(([areaId, name]) => [name, areaId]));
  const names = new Map([...areaIds].map(([name, areaId]) => [areaId, name]));
  let last = Math.max(0, ...areaIds.values());
  const documents = added.map(({ key, logPosition, index }): IndexedDocument => {
    let areaId = areaIds.get(index.area);
    if (areaId === undefined) {
      last += 1;
      areaId = last;
      areaIds.set(index.area, areaId);
      names.set(areaId, index.area);
    }
    return { key, areaId, logPosition, length: index.length, terms: index.terms };
  });
  const statements: Statement[] = [];
  if (removed.length > 0) {
    const postings = removed.flatMap((document) => document.terms.map(([term]) => ({ ...document, term })));
    statements.push(
      { name: "undocument", text: `DELETE FROM ${t.document} WHERE ns = $1 AND k = ANY($2::text[])`, values: [id, textArray(removed, ({ key }) => key)] },
      {
        name: "unpost",
        text: `DELETE FROM ${t.posting} p USING unnest($2::int[], $3::text[], $4::bigint[]) AS g (area, term, place)
          WHERE p.ns = $1 AND p.area = g.area AND p.term = g.term AND p.place = g.place`,
        values: [id, intArray(postings, ({ areaId }) => areaId), textArray(postings, ({ term }) => term), bigintArray(postings, ({ logPosition }) => logPosition)],
      },
    );
  }
  if (documents.length > 0) {
    const postings = documents.flatMap((document) => document.terms.map(([term, weight]) => ({ ...document, term, weight })));
    statements.push(
      {
        name: "document",
        text: `INSERT INTO ${t.document} (ns, k, area, place, length, terms) SELECT $1, * FROM unnest($2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::text[])`,
        values: [
          id,
          textArray(documents, ({ key }) => key),
          intArray(documents, ({ areaId }) => areaId),
          bigintArray(documents, ({ logPosition }) => logPosition),
          bigintArray(documents, ({ length }) => length),
          textArray(documents, ({ terms }) => JSON.stringify(terms)),
        ],
      },
      {
        name: "post",
        text: `INSERT INTO ${t.posting} (ns, area, term, place, weight, length) SELECT $1, * FROM unnest($2::int[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])`,
        values: [
          id,
          intArray(postings, ({ areaId }) => areaId),
          textArray(postings, ({ term }) => term),
          bigintArray(postings, ({ logPosition }) => logPosition),
          bigintArray(postings, ({ weight }) => weight),
          bigintArray(postings, ({ length }) => length),
        ],
      },
    );
  }
  return [...statements, ...countStatements(t, id, names, removed, documents)];
}

function countStatements(t: Tables, id: number, names: ReadonlyMap<number, string>, removed: readonly IndexedDocument[], added: readonly IndexedDocument[]): Statement[] {
  const areas = new Map<number, { documents: number; length: number }>();
  const terms = new Map<string, { readonly areaId: number; readonly term: string; documents: number }>();
  const count = (document: IndexedDocument, by: 1 | -1): void => {
    const area = areas.get(document.areaId) ?? { documents: 0, length: 0 };
    areas.set(document.areaId, { documents: area.documents + by, length: area.length + by * document.length });
    for (const [term] of document.terms) {
      const name = `${document.areaId} ${term}`;
      const known = terms.get(name) ?? { areaId: document.areaId, term, documents: 0 };
      known.documents += by;
      terms.set(name, known);
    }
  };
  for (const document of removed) count(document, -1);
  for (const document of added) count(document, 1);
  const moved = [...terms.values()].filter(({ documents }) => documents !== 0);
  const fewer = moved.filter(({ documents }) => documents < 0);
  const statements: Statement[] = [
    {
      name: "area",
      text: `INSERT INTO ${t.area} (ns, id, name, documents, length) SELECT $1, * FROM unnest($2::int[], $3::text[], $4::bigint[], $5::bigint[])
        ON CONFLICT (ns, id) DO UPDATE SET documents = area.documents + excluded.documents, length = area.length + excluded.length`,
      values: [
        id,
        intArray([...areas.keys()], (areaId) => areaId),
        textArray([...areas.keys()], (areaId) => names.get(areaId)),
        bigintArray([...areas.values()], ({ documents }) => documents),
        bigintArray([...areas.values()], ({ length }) => length),
      ],
    },
  ];
  if (moved.length > 0)
    statements.push({
      name: "term",
      text: `INSERT INTO ${t.term} (ns, area, term, documents) SELECT $1, * FROM unnest($2::int[], $3::text[], $4::bigint[])
        ON CONFLICT (ns, area, term) DO UPDATE SET documents = term.documents + excluded.documents`,
      values: [id, intArray(moved, ({ areaId }) => areaId), textArray(moved, ({ term }) => term), bigintArray(moved, ({ documents }) => documents)],
    });
  if (fewer.length > 0)
    statements.push({
      name: "unterm",
      text: `DELETE FROM ${t.term} d USING unnest($2::int[], $3::text[]) AS g (area, term) WHERE d.ns = $1 AND d.area = g.area AND d.term = g.term AND d.documents = 0`,
      values: [id, intArray(fewer, ({ areaId }) => areaId), textArray(fewer, ({ term }) => term)],
    });
  return statements;
}

type RawCount = [facts: string | null, area: number, documents: number, length: number, term: string | null];
type TermPosting = [position: number, place: number, weight: number, length: number];
const areaIds = (areas: readonly Area[]): Buffer => intArray(areas, ({ id }) => id);

export const searchReads = (t: Tables, parameters: () => readonly unknown[]): Pick<RowReads, "termCounts" | "postings" | "probe"> => ({
  *termCounts(names, terms) {
    const { rows } = yield* one({
      name: "frequencies",
      text: `${withNamespace(t)}
        SELECT n.facts, NULL::bigint AS id, NULL::bigint AS documents, NULL::bigint AS length, NULL::text AS term FROM n
        UNION ALL SELECT NULL, a.id, a.documents, a.length, NULL FROM n JOIN ${t.area} a ON a.ns = n.id AND a.name = ANY($4::text[]) AND a.documents > 0
        UNION ALL SELECT NULL, a.id, w.documents, NULL, w.term FROM n JOIN ${t.area} a ON a.ns = n.id AND a.name = ANY($4::text[])
          JOIN ${t.term} w ON w.ns = n.id AND w.area = a.id AND w.term = ANY($5::text[])`,
      values: [...parameters(), texts(names), texts(terms)],
    });
    const areas: Area[] = [];
    const byTerm = new Map<string, number>();
    for (const [facts, id, documents, length, term] of rows as unknown as RawCount[])
      if (term !== null) byTerm.set(term, (byTerm.get(term) ?? 0) + documents);
      else if (facts === null) areas.push({ id, documents, length });
    return { space: factsOf(rows), areas, frequencies: terms.map((term) => byTerm.get(term) ?? 0) };
  },
  *postings({ id }, areas, terms) {
    const { rows } = yield* one({
      name: "newest",
      text: `SELECT q.i::int, p.place, p.weight, p.length FROM unnest($2::text[]) WITH ORDINALITY AS q (term, i) CROSS JOIN unnest($3::int[]) AS a (id)
        CROSS JOIN LATERAL (SELECT place, weight, length FROM ${t.posting} WHERE ns = $1 AND area = a.id AND term = q.term ORDER BY place DESC LIMIT ${limits.searchCandidatesMax}) p`,
      values: [id, textArray(terms, ({ term }) => term), areaIds(areas)],
    });
    const byTerm = terms.map((): Posting[] => []);
    for (const [position, ...posting] of rows as unknown as TermPosting[]) byTerm[position - 1]?.push(posting);
    return byTerm;
  },
  *probe(space, places, { areas, terms, weigh }): Generator<readonly Statement[], AtMoment<{ readonly live: [number, string][] }>, StatementResult[]> {
    const { id, nowMs } = space;
    const placeArray = bigintArray(places, (place) => place);
    const [live, weights] = yield [
      {
        name: "live",
        text: `SELECT c.place, kv.k FROM unnest($2::bigint[]) AS c (place)
          CROSS JOIN LATERAL (SELECT k FROM ${t.log} WHERE ns = $1 AND place = c.place LIMIT 1) l
          CROSS JOIN LATERAL (SELECT k FROM ${t.kv} WHERE ns = $1 AND k = l.k AND place = c.place AND (exp IS NULL OR exp > $3) LIMIT 1) kv`,
        values: [id, placeArray, nowMs],
      },
      {
        name: "weights",
        text: `SELECT c.place, q.i::int, p.weight FROM unnest($3::text[]) WITH ORDINALITY AS q (term, i) CROSS JOIN unnest($4::int[]) AS a (id)
          CROSS JOIN unnest($2::bigint[]) AS c (place)
          CROSS JOIN LATERAL (SELECT weight FROM ${t.posting} WHERE ns = $1 AND area = a.id AND term = q.term AND place = c.place LIMIT 1) p`,
        values: [id, placeArray, textArray(terms, ({ term }) => term), areaIds(areas)],
      },
    ];
    for (const [place, term, weight] of (weights as StatementResult).rows as unknown as [number, number, number][]) weigh(place, term - 1, weight);
    return { space, live: (live as StatementResult).rows as unknown as [number, string][] };
  },
});
