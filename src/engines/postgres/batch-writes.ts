import type { BatchPlan, PlannedRequest, PlannedRow } from "../../ledger/plan-batch.ts";
import type { AddedText, RowChanges } from "../../ledger/rows.ts";
import type { PgLockedRows } from "./commit-batch.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import { indexStatements, readAreas, readDocuments, toDocuments } from "./text-index.ts";
import type { KeyState, OwnedKeys, TombstoneRow } from "./write-rows.ts";
import {
  deleteTombstones,
  forgetRequests,
  forgetRows,
  keepRequests,
  keyState,
  markFindable,
  own,
  removeEntries,
  tombstoneRowOf,
  writeHistory,
  writeNamespace,
  writeRows,
  writeTombstones,
} from "./write-rows.ts";

/** The texts of one namespace that are removed from the index, by key, and those that are added. */
interface ChangedTexts {
  readonly id: number;
  readonly unfindable: string[];
  readonly added: AddedText[];
}

/** All changes of decisions in one or more namespaces. The number of statements depends on the tables to write, not on the number of namespaces. */
export class BatchWrites {
  readonly #spaces: PgNamespaceRow[] = [];
  readonly #ids: number[] = [];
  readonly #rows: PlannedRow[] = [];
  readonly #keyStates: KeyState[] = [];
  readonly #removed: OwnedKeys = { ids: [], keys: [] };
  readonly #tombstoneRows: TombstoneRow[] = [];
  readonly #removedTombstones: OwnedKeys = { ids: [], keys: [] };
  readonly #requestIds: number[] = [];
  readonly #requests: PlannedRequest[] = [];
  readonly #texts: ChangedTexts[] = [];
  /** Entries that become findable without a new log row. */
  readonly #marked: OwnedKeys = { ids: [], keys: [] };
  /** Statements for all other changes: deletions of log rows and request keys, and updates of a namespace's row that `writeRows` does not make. */
  readonly #others: ((t: Tables) => Statement)[] = [];

  /** Adds the changes of one namespace's decision, and updates its count of tombstones. */
  add(locked: PgLockedRows, { plan, load, texts: replaced = [], requestsPast, rows = [], tombstones = [], space: isWhole = false }: RowChanges = {}): void {
    const { space } = locked;
    const { id } = space;
    if (load !== undefined && isWhole) locked.beginHistory();
    const texts: ChangedTexts = { id, unfindable: replaced.map(({ key }) => key), added: [...replaced] };
    if (plan !== undefined) this.#addPlan(space, plan, texts);
    for (const tombstone of load?.tombstones ?? []) {
      this.#tombstoneRows.push({ id, ...tombstone });
      space.tombstones += 1;
    }
    for (const { key, slot, index } of load?.texts ?? []) {
      texts.added.push({ key, logPosition: slot.logPosition, index });
      own(this.#marked, id, key);
    }
    if (texts.unfindable.length > 0 || texts.added.length > 0) this.#texts.push(texts);
    for (const key of tombstones) own(this.#removedTombstones, id, key);
    if (requestsPast !== undefined) this.#others.push((t) => forgetRequests(t, id, requestsPast));
    if (rows.length > 0) this.#others.push((t) => forgetRows(t, id, rows));
    const hasRows = plan !== undefined && plan.rows.length > 0;
    if (hasRows) this.#spaces.push(space);
    if (isWhole || (!hasRows && (plan !== undefined || locked.hasLeapt))) this.#others.push((t) => writeNamespace(t, space));
    else if (locked.tellsHistory) this.#others.push((t) => writeHistory(t, space));
  }

  #addPlan(space: PgNamespaceRow, plan: BatchPlan, texts: ChangedTexts): void {
    const { id } = space;
    const newest = new Map<PlannedRow, KeyState>();
    for (const [key, { stored, present, index, row, tombstone }] of plan.changed()) {
      if (stored?.findable) texts.unfindable.push(key);
      if (present) {
        newest.set(row, index === undefined ? keyState.entry : keyState.findable);
        if (index !== undefined) texts.added.push({ key, logPosition: row.logPosition, index });
        if (tombstone !== undefined) {
          own(this.#removedTombstones, id, key);
          space.tombstones -= 1;
        }
      } else {
        if (stored !== undefined) own(this.#removed, id, key);
        this.#tombstoneRows.push(tombstoneRowOf(id, row));
        if (tombstone === undefined) space.tombstones += 1;
      }
    }
    for (const row of plan.rows) {
      this.#ids.push(id);
      this.#rows.push(row);
      this.#keyStates.push(newest.get(row) ?? keyState.none);
    }
    for (const request of plan.requests) {
      this.#requestIds.push(id);
      this.#requests.push(request);
    }
  }

  /** The statements for everything except index texts, which `textStatements` returns. */
  statements(t: Tables): Statement[] {
    const statements = this.#others.map((statementOf) => statementOf(t));
    if (this.#spaces.length > 0) statements.unshift(writeRows(t, { spaces: this.#spaces, ids: this.#ids, rows: this.#rows, keyStates: this.#keyStates }));
    if (this.#removed.keys.length > 0) statements.push(removeEntries(t, this.#removed));
    if (this.#tombstoneRows.length > 0) statements.push(writeTombstones(t, this.#tombstoneRows));
    if (this.#removedTombstones.keys.length > 0) statements.push(deleteTombstones(t, this.#removedTombstones));
    if (this.#marked.keys.length > 0) statements.push(markFindable(t, this.#marked));
    if (this.#requests.length > 0) statements.push(keepRequests(t, this.#requestIds, this.#requests));
    return statements;
  }

  /** The statements that change the index. Queries the index first if a findable entry is added or removed. */
  async textStatements(t: Tables, ask: (statements: readonly Statement[]) => Promise<StatementResult[]>): Promise<Statement[]> {
    if (this.#texts.length === 0) return [];
    const answers = await ask(this.#texts.flatMap(({ id, unfindable }) => [readDocuments(t, id, unfindable), readAreas(t, id)]));
    return this.#texts.flatMap(({ id, added }, i) => indexStatements(t, id, answers[2 * i + 1] as StatementResult, toDocuments(answers[2 * i] as StatementResult), added));
  }
}
