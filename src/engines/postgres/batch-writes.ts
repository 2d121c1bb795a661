import type { BatchPlan, PlannedRequest, PlannedRow } from "../../store/plan-batch.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import type { AddedText } from "./text-index.ts";
import { indexStatements, readAreas, readDocuments, toDocuments } from "./text-index.ts";
import type { KeyState, OwnedKeys, RowsToWrite, TombstoneRow } from "./write-rows.ts";
import { deleteTombstones, keepRequests, keyState, own, removeEntries, tombstoneRowOf, writeHistory, writeNamespace, writeRows, writeTombstones } from "./write-rows.ts";

/** The texts of one namespace that leave the index, by their keys, and those that come in. */
interface ChangedTexts {
  readonly id: number;
  readonly unfindable: string[];
  readonly added: AddedText[];
}

/** Everything that plans change, of one namespace or of several: as few statements as there are tables to touch, however many namespaces there are. */
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
  /** Whose rows say more than where they stand, or write no row of the log. */
  readonly #others: ((t: Tables) => Statement)[] = [];

  /** Counts on what is remembered of ended keys. `tellsHistory`: the namespace's row must say anew which history it belongs to. */
  add(space: PgNamespaceRow, plan: BatchPlan, tellsHistory = false): void {
    const { id } = space;
    const newest = new Map<PlannedRow, KeyState>();
    const texts: ChangedTexts = { id, unfindable: [], added: [] };
    for (const [key, { stored, present, index, row, tombstone: tombstoneRows }] of plan.changed()) {
      if (stored?.findable) texts.unfindable.push(key);
      if (present) {
        newest.set(row, index === undefined ? keyState.entry : keyState.findable);
        if (index !== undefined) texts.added.push({ key, logPosition: row.logPosition, index });
        if (tombstoneRows !== undefined) {
          own(this.#removedTombstones, id, key);
          space.tombstones -= 1;
        }
      } else {
        if (stored !== undefined) own(this.#removed, id, key);
        this.#tombstoneRows.push(tombstoneRowOf(id, row));
        if (tombstoneRows === undefined) space.tombstones += 1;
      }
    }
    if (texts.unfindable.length > 0 || texts.added.length > 0) this.#texts.push(texts);
    for (const row of plan.rows) {
      this.#ids.push(id);
      this.#rows.push(row);
      this.#keyStates.push(newest.get(row) ?? keyState.none);
    }
    for (const request of plan.requests) {
      this.#requestIds.push(id);
      this.#requests.push(request);
    }
    if (plan.rows.length === 0) this.#others.push((t) => writeNamespace(t, space));
    else {
      this.#spaces.push(space);
      if (tellsHistory) this.#others.push((t) => writeHistory(t, space));
    }
  }

  get isEmpty(): boolean {
    return this.#spaces.length === 0 && this.#others.length === 0;
  }

  get rows(): RowsToWrite {
    return { spaces: this.#spaces, ids: this.#ids, rows: this.#rows, keyStates: this.#keyStates };
  }

  statements(t: Tables): Statement[] {
    return [...(this.#spaces.length > 0 ? [writeRows(t, this.rows)] : []), ...this.statementsBeside(t)];
  }

  /** All but the rows of the log with what goes along with them. Texts to search by come with `textStatements`. */
  statementsBeside(t: Tables): Statement[] {
    const statements = this.#others.map((statementOf) => statementOf(t));
    if (this.#removed.keys.length > 0) statements.push(removeEntries(t, this.#removed));
    if (this.#tombstoneRows.length > 0) statements.push(writeTombstones(t, this.#tombstoneRows));
    if (this.#removedTombstones.keys.length > 0) statements.push(deleteTombstones(t, this.#removedTombstones));
    if (this.#requests.length > 0) statements.push(keepRequests(t, this.#requestIds, this.#requests));
    return statements;
  }

  /** What the index must be asked first, if something findable comes or goes. */
  async textStatements(t: Tables, ask: (statements: readonly Statement[]) => Promise<StatementResult[]>): Promise<Statement[]> {
    if (this.#texts.length === 0) return [];
    const answers = await ask(this.#texts.flatMap(({ id, unfindable }) => [readDocuments(t, id, unfindable), readAreas(t, id)]));
    return this.#texts.flatMap(({ id, added }, i) => indexStatements(t, id, answers[2 * i + 1] as StatementResult, toDocuments(answers[2 * i] as StatementResult), added));
  }
}
