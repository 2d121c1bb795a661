import type { RecordLoadPlan } from "../../ledger/load-plan.ts";
import type { BatchPlan, PlannedRequest, PlannedRow } from "../../ledger/plan-batch.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import type { AddedText } from "./text-index.ts";
import { indexStatements, readAreas, readDocuments, toDocuments } from "./text-index.ts";
import type { KeyState, OwnedKeys, TombstoneRow } from "./write-rows.ts";
import {
  deleteTombstones,
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
  /** Entries that become findable without another row. */
  readonly #marked: OwnedKeys = { ids: [], keys: [] };
  /** Whose rows say more than where they stand, or write no row of the log. */
  readonly #others: ((t: Tables) => Statement)[] = [];

  /** Counts on what is remembered of ended keys. `tellsHistory`: the namespace's row must say anew which history it belongs to. `load`: what keys of another store say beside. */
  add(space: PgNamespaceRow, plan: BatchPlan, tellsHistory = false, load?: RecordLoadPlan): void {
    const { id } = space;
    const newest = new Map<PlannedRow, KeyState>();
    const texts: ChangedTexts = { id, unfindable: [], added: [] };
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
    for (const tombstone of load?.tombstones ?? []) {
      this.#tombstoneRows.push({ id, ...tombstone });
      space.tombstones += 1;
    }
    for (const { key, slot, index: text } of load?.texts ?? []) {
      texts.added.push({ key, logPosition: slot.logPosition, index: text });
      own(this.#marked, id, key);
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

  /** Texts to search by come with `textStatements`. */
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

  /** What the index must be asked first, if something findable comes or goes. */
  async textStatements(t: Tables, ask: (statements: readonly Statement[]) => Promise<StatementResult[]>): Promise<Statement[]> {
    if (this.#texts.length === 0) return [];
    const answers = await ask(this.#texts.flatMap(({ id, unfindable }) => [readDocuments(t, id, unfindable), readAreas(t, id)]));
    return this.#texts.flatMap(({ id, added }, i) => indexStatements(t, id, answers[2 * i + 1] as StatementResult, toDocuments(answers[2 * i] as StatementResult), added));
  }
}
