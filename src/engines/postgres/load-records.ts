import { HoldfastError } from "../../kernel/errors.ts";
import { requireFilling } from "../../store/engine-rules.ts";
import { logPositionOf, revisionAt, seqAt } from "../../store/log-position.ts";
import type { PlannedRow } from "../../store/plan-batch.ts";
import { jumps } from "../../store/plan-batch.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { NamespaceFacts, StoredKey, StoredLogRow, StoredRecord, StoredRequestKey } from "../../store/store.ts";
import type { NamespaceHandle } from "./commit-batch.ts";
import { historyMark } from "./history-mark.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import { lockSpace } from "./reclaim.ts";
import type { Tables } from "./schema.ts";
import { bigintArray, booleanArray, texts } from "./sql-arrays.ts";
import type { AddedText } from "./text-index.ts";
import { indexStatements, readAreas, readDocuments, toDocuments } from "./text-index.ts";
import type { Transaction } from "./transaction.ts";
import type { KeyState, OwnedKeys, TombstoneRow } from "./write-rows.ts";
import { deleteTombstones, keepRequests, keyState, own, removeEntries, tombstoneRowOf, writeNamespace, writeRows, writeTombstones } from "./write-rows.ts";

/** What is there before records are taken over. */
interface Found {
  /** Where the newest row is; 0 when there is none. */
  readonly newest: number;
  /** Of the rows that are offered again, those that are there. */
  readonly known: ReadonlySet<number>;
  readonly entries: ReadonlyMap<string, Head & { readonly findable: boolean }>;
  readonly tombstones: ReadonlyMap<string, Head>;
}

/** Where the chain of a key begins. */
interface Head {
  readonly logPosition: number;
  readonly anchor: number | undefined;
}

/** A row with its place in the chain of its key. */
type LinkedRow = StoredLogRow & PlannedRow;

const rowName = (logPosition: number): string => `${revisionAt(logPosition)}.${seqAt(logPosition)}`;

/** Takes over records of another store in one transaction: what there was and is under their keys is looked up in one go, all of it written in another. */
export async function loadRecords(
  tx: Transaction,
  namespaceHandle: NamespaceHandle,
  records: readonly StoredRecord[],
  facts: NamespaceFacts | undefined,
  by: string | undefined,
): Promise<void> {
  const { tables: t } = namespaceHandle;
  const rows = records.filter((record): record is StoredLogRow => record.kind === "log");
  const keys = records.filter((record): record is StoredKey => record.kind === "key");
  const requests = records.filter((record): record is StoredRequestKey => record.kind === "request");
  const [space, ...answers] = await lockSpace(tx, namespaceHandle, ...foundStatements(t, namespaceHandle.id, rows, keys));
  requireFilling(space.seal, by);
  const found = toFound(answers);
  const fresh = requireOrder(rows, found);
  const state = new FillingState(space.id, found);
  for (const row of fresh) state.takeRow(space, row);
  for (const key of keys) state.takeKey(key);
  const statements = await state.statements(tx, t, space);
  if (requests.length > 0)
    statements.push(
      keepRequests(
        t,
        requests.map(() => space.id),
        requests,
      ),
    );
  if (facts !== undefined) {
    const { seal: _seal, ...own } = facts;
    Object.assign(space, own);
    // From here on: a dump made before the first commit must know it too.
    space.servedBy = historyMark(tx.session.facts.identity, space);
  }
  if (fresh.length > 0) statements.push(writeRows(t, { spaces: [], ids: fresh.map(() => space.id), rows: fresh, keyStates: fresh.map((row) => state.keyStateOf(row)) }));
  await tx.commit([...statements, writeNamespace(t, space)]);
}

function foundStatements(t: Tables, id: number, rows: readonly StoredLogRow[], keys: readonly StoredKey[]): Statement[] {
  const named = texts([...new Set([...rows, ...keys].map(({ key }) => key))]);
  return [
    { name: "newest-row", text: `SELECT place FROM ${t.log} WHERE ns = $1 ORDER BY place DESC LIMIT 1`, values: [id] },
    {
      name: "known",
      text: `SELECT place FROM ${t.log} WHERE ns = $1 AND place = ANY($2::bigint[])`,
      values: [id, bigintArray(rows, ({ revision, seq }) => logPositionOf(revision, seq))],
    },
    { name: "entries-there", text: `SELECT k, place, anchor, findable FROM ${t.kv} WHERE ns = $1 AND k = ANY($2::text[])`, values: [id, named] },
    { name: "tombstones-there", text: `SELECT k, place, anchor FROM ${t.tombstone} WHERE ns = $1 AND k = ANY($2::text[])`, values: [id, named] },
  ];
}

function toFound(answers: readonly StatementResult[]): Found {
  const [newest, known, entries, tombstones] = answers.map(({ rows }) => rows) as unknown as [
    [number][],
    [number][],
    [string, number, number | null, boolean][],
    [string, number, number | null][],
  ];
  return {
    newest: newest[0]?.[0] ?? 0,
    known: new Set(known.map(([logPosition]) => logPosition)),
    entries: new Map(entries.map(([key, logPosition, anchor, findable]) => [key, { logPosition, anchor: anchor ?? undefined, findable }])),
    tombstones: new Map(tombstones.map(([key, logPosition, anchor]) => [key, { logPosition, anchor: anchor ?? undefined }])),
  };
}

/** The rows that are new, each linked to the one before it of its key. The same ones again change nothing; older ones that are not there would be out of order. */
function requireOrder(rows: readonly StoredLogRow[], { newest: stored, known, entries, tombstones }: Found): LinkedRow[] {
  let newest = stored;
  const heads = new Map<string, Head>();
  const fresh: LinkedRow[] = [];
  for (const row of rows) {
    const logPosition = logPositionOf(row.revision, row.seq);
    if (logPosition > newest) {
      const latest = heads.get(row.key) ?? entries.get(row.key) ?? tombstones.get(row.key);
      // What a page remembered of the key may be of later than this row; a chain only leads back.
      const head = latest !== undefined && latest.logPosition < logPosition ? latest : undefined;
      fresh.push({ ...row, logPosition, previous: head?.logPosition, anchor: head?.anchor });
      heads.set(row.key, { logPosition, anchor: jumps(row) ? logPosition : head?.anchor });
      newest = logPosition;
    } else if (!known.has(logPosition)) throw new HoldfastError("invalid_input", `records: log row ${rowName(logPosition)} comes after ${rowName(newest)}; rows must be in order`);
  }
  return fresh;
}

/** Entries and tombstones under the keys of one load, as they come out of it. */
class FillingState {
  readonly #id: number;
  readonly #found: Found;
  readonly #newest = new Map<string, LinkedRow>();
  readonly #tombstoneRows = new Map<string, TombstoneRow>();
  readonly #texts = new Map<string, AddedText | undefined>();

  constructor(id: number, found: Found) {
    this.#id = id;
    this.#found = found;
  }

  /** A live entry follows from its newest row. */
  takeRow(space: PgNamespaceRow, row: LinkedRow): void {
    space.revision = Math.max(space.revision, row.revision);
    space.clockMs = Math.max(space.clockMs, row.atMs);
    this.#newest.set(row.key, row);
  }

  takeKey({ key, revision, seq, version, present, index }: StoredKey): void {
    const row = this.#newest.get(key);
    const entry = row === undefined ? this.#found.entries.get(key) : row.op === "put" ? row : undefined;
    if (!present) {
      // What the log told of the key is never less right than a page that speaks of it.
      if (row === undefined && entry === undefined && !this.#found.tombstones.has(key) && !this.#tombstoneRows.has(key))
        this.#tombstoneRows.set(key, { id: this.#id, key, logPosition: logPositionOf(revision, seq), version });
      return;
    }
    // A page may be older than the log that was loaded since: then a later page brings the text.
    const logPosition = logPositionOf(revision, seq);
    if (entry?.logPosition !== logPosition) return;
    this.#texts.set(key, index && { key, logPosition, index });
  }

  keyStateOf(row: PlannedRow): KeyState {
    if (row.op !== "put" || this.#newest.get(row.key) !== row) return keyState.none;
    return this.#texts.get(row.key) === undefined ? keyState.entry : keyState.findable;
  }

  async statements(tx: Transaction, t: Tables, space: PgNamespaceRow): Promise<Statement[]> {
    const { id } = space;
    const { entries, tombstones } = this.#found;
    const removed: OwnedKeys = { ids: [], keys: [] };
    const removedTombstones: OwnedKeys = { ids: [], keys: [] };
    const tombstoneRows = new Map(this.#tombstoneRows);
    for (const [key, row] of this.#newest) {
      if (row.op === "put") {
        if (tombstones.has(key)) own(removedTombstones, id, key);
      } else {
        if (entries.has(key)) own(removed, id, key);
        tombstoneRows.set(key, tombstoneRowOf(id, row));
      }
    }
    space.tombstones += [...tombstoneRows.keys()].filter((key) => !tombstones.has(key)).length - removedTombstones.keys.length;
    const statements: Statement[] = [];
    if (removed.keys.length > 0) statements.push(removeEntries(t, removed));
    if (tombstoneRows.size > 0) statements.push(writeTombstones(t, [...tombstoneRows.values()]));
    if (removedTombstones.keys.length > 0) statements.push(deleteTombstones(t, removedTombstones));
    return [...statements, ...(await this.#textStatements(tx, t, id))];
  }

  /** What had a text and has another row, or another text, now. */
  async #textStatements(tx: Transaction, t: Tables, id: number): Promise<Statement[]> {
    const touched = [...new Set([...this.#newest.keys(), ...this.#texts.keys()])];
    const unfindable = touched.filter((key) => this.#found.entries.get(key)?.findable);
    const added = [...this.#texts.values()].filter((text) => text !== undefined).sort((a, b) => compareKeys(a.key, b.key));
    if (unfindable.length === 0 && added.length === 0) return [];
    const [documents, areas] = await tx.ask([readDocuments(t, id, unfindable), readAreas(t, id)]);
    const marked = [...this.#texts.keys()].filter((key) => !this.#newest.has(key));
    return [
      ...indexStatements(t, id, areas as StatementResult, toDocuments(documents as StatementResult), added),
      {
        name: "mark-findable",
        text: `UPDATE ${t.kv} kv SET findable = m.findable FROM unnest($2::text[], $3::boolean[]) AS m (k, findable) WHERE kv.ns = $1 AND kv.k = m.k`,
        values: [id, texts(marked), booleanArray(marked, (key) => this.#texts.get(key) !== undefined)],
      },
    ];
  }
}

/** Tables of a namespace's records with their keys, in the order in which they can go. */
const emptied = (t: Tables): readonly (readonly [table: string, key: string])[] => [
  [t.posting, "area, term, place"],
  [t.term, "area, term"],
  [t.document, "k"],
  [t.area, "id"],
  [t.request, "key"],
  [t.tombstone, "k"],
  [t.kv, "k"],
  [t.log, "place"],
];
const clearedPerSlice = 5_000;

/** One slice of emptying a namespace that is sealed as `filling`; false when nothing was left and the seal is gone with the row. */
export async function clearSlice(tx: Transaction, namespaceHandle: NamespaceHandle): Promise<boolean> {
  const { tables: t, id } = namespaceHandle;
  const [space] = await lockSpace(tx, namespaceHandle);
  requireFilling(space.seal);
  const slices = await tx.ask(
    emptied(t).map(
      ([table, key]): Statement => ({
        text: `DELETE FROM ${table} WHERE ns = $1 AND (${key}) IN (SELECT ${key} FROM ${table} WHERE ns = $1 LIMIT ${clearedPerSlice})`,
        values: [id],
      }),
    ),
  );
  const isEmpty = slices.every(({ count }) => count < clearedPerSlice);
  await tx.commit(isEmpty ? [{ text: `DELETE FROM ${t.namespace} WHERE id = $1`, values: [id] }] : []);
  return !isEmpty;
}
