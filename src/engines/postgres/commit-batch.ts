import type { LoadedLog } from "../../ledger/load-plan.ts";
import type { LockedRows, NamedRows, RowDecision, Work } from "../../ledger/rows.ts";
import { BatchWrites } from "./batch-writes.ts";
import { historyMark } from "./history-mark.ts";
import type { PgNamespaceClock, PgNamespaceRow } from "./namespace-row.ts";
import { leapIfWentBack, lockFreeNamespaces, lockNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { FoundSlots, FoundSource, WantedEntry } from "./read-slots.ts";
import { fillWanted, readWanted, SlotQuestions } from "./read-slots.ts";
import { compactionReads, expiredKeys } from "./reclaim.ts";
import type { Tables } from "./schema.ts";
import type { Transaction } from "./transaction.ts";
import { forgetRowsName } from "./write-rows.ts";

/** The destination of a batch: the parts common to all of an engine's batches, and the namespace. */
export interface NamespaceHandle {
  readonly tables: Tables;
  readonly clock: PgNamespaceClock;
  readonly namespace: string;
  /** The namespace's id as this process remembers it. */
  readonly id: number;
  readonly contention: Contention;
}

/** Whether other processes also write to a namespace, judged by the state in which this process last found it. */
export class Contention {
  isContended = false;
  #changesLeft: number | undefined;

  /** Another process holds the namespace's lock. */
  foundLocked(): void {
    this.isContended = true;
  }

  /** This process wrote to the namespace. `changes`: the row's count as it was found. Every write to a namespace increments it. */
  wrote(changes: number): void {
    this.isContended = this.#changesLeft !== undefined && this.#changesLeft !== changes;
    this.#changesLeft = changes + 1;
  }
}

/** The namespace does not exist under the remembered id: the store was created again meanwhile. */
export class StaleNamespaceError extends Error {}

/** The outcome of a decision: a result, or the error that prevented it. After an error, nothing was changed. */
export type Outcome = { readonly result: unknown; readonly notifies: boolean } | { readonly error: unknown };

/** A namespace's batch in flight, alone or with others. It is settled when its outcome is known. */
export interface Part {
  readonly namespaceHandle: NamespaceHandle;
  readonly named: NamedRows;
  readonly decide: (locked: LockedRows) => RowDecision<unknown>;
  outcome: Outcome | undefined;
}

/**
 * How to lock namespaces that other sessions may hold. At most one is waited for, before anything else is locked: a waiting session holds no lock, so there is
 * no deadlock. Of the others, only the free ones are locked. `lockWaitMs`: how long to wait; by default, most of a deadline.
 */
export type Locking = "free ones" | { readonly waitsForFirst: true; readonly lockWaitMs?: number };

/** A namespace that this transaction has locked. */
export class PgLockedRows implements LockedRows {
  readonly space: PgNamespaceRow;
  readonly source: FoundSource;
  readonly log: LoadedLog;
  /** The history went back, and the namespace continues above every revision that may be lost. This is written whatever the decision is. */
  hasLeapt = false;
  readonly #handle: NamespaceHandle;
  readonly #identity: string | null;
  readonly #servedBy: string | null;

  constructor(handle: NamespaceHandle, { space, source, log }: FoundSlots, identity: string | null) {
    this.space = space;
    this.source = source;
    this.log = log;
    this.#handle = handle;
    this.#identity = identity;
    this.#servedBy = space.servedBy;
  }

  get reads(): LockedRows["reads"] {
    const { tables, clock, namespace } = this.#handle;
    return { ...compactionReads(tables), noteShown: (space, only) => clock.noteShown(namespace, space, only) };
  }

  expired(count: number): Work<readonly string[]> {
    return expiredKeys(this.#handle.tables, this.space, this.source, count);
  }

  continueHistory(): void {
    const { clock, namespace } = this.#handle;
    this.hasLeapt = leapIfWentBack(this.space, this.#identity, clock.seenRevision(namespace));
  }

  /** Whether the namespace's row must record a new history mark. */
  get tellsHistory(): boolean {
    return this.hasLeapt || this.space.servedBy !== this.#servedBy;
  }

  /** The history starts with the loaded records: a dump made before the first commit must include the mark too. */
  beginHistory(): void {
    this.space.servedBy = historyMark(this.#identity, this.space);
  }
}

/**
 * Locks the rows in the first round trip and returns the data of the locked namespaces. An error concerns only its own namespace; undefined: another session holds
 * the lock.
 */
export async function lockRows(
  tx: Transaction,
  asked: readonly Pick<Part, "namespaceHandle" | "named">[],
  locking: Locking,
): Promise<(PgLockedRows | StaleNamespaceError | undefined)[]> {
  const { tables: t, clock } = (asked[0] as Part).namespaceHandle;
  const questions = new SlotQuestions(asked.map(({ namespaceHandle: { namespace, id }, named }) => ({ namespace, id, named })));
  const locks = lockStatements(
    t,
    asked.map(({ namespaceHandle: { id } }) => id),
    locking,
  );
  const answers = await tx.lock([...locks, ...questions.statements(t, clock)], locking === "free ones" ? undefined : locking.lockWaitMs);
  const held = new Set(answers.slice(0, locks.length).flatMap(({ rows }) => rows.map(([id]) => id as unknown as number)));
  const founds = questions.found(answers.slice(locks.length), clock);
  return asked.map(({ namespaceHandle }, i) => {
    const found = founds[i] as FoundSlots;
    const { id, contention } = namespaceHandle;
    if (!held.has(id)) contention.foundLocked();
    if (found.space.id !== id) return new StaleNamespaceError();
    return held.has(id) ? new PgLockedRows(namespaceHandle, found, tx.session.facts.identity) : undefined;
  });
}

interface Decided {
  readonly part: Part;
  readonly locked: PgLockedRows;
  readonly decision: RowDecision<unknown>;
}

/**
 * One transaction with one batch from each of several namespaces: each keeps its own checks, revisions, outcome and errors. Settles all parts except those whose
 * namespace another session has locked. An exception applies to all parts that are not settled.
 *
 * Takes two round trips. The first locks the namespaces' rows and then, in later statements (a statement that waits for a lock sees the state before the wait),
 * reads the facts and everything the batches name. After the decision, the second writes all changes and commits.
 */
export async function commitBatch(tx: Transaction, asked: readonly Part[], locking: Locking): Promise<void> {
  const parts = asked.filter(({ outcome }) => outcome === undefined);
  if (parts.length === 0) return;
  const { tables: t } = (parts[0] as Part).namespaceHandle;
  const decided: Decided[] = [];
  for (const [i, locked] of (await lockRows(tx, parts, locking)).entries()) {
    const part = parts[i] as Part;
    // An error of one batch is no reason to keep the others waiting.
    try {
      if (locked instanceof StaleNamespaceError) throw locked;
      if (locked !== undefined) decided.push({ part, locked, decision: part.decide(locked) });
    } catch (error) {
      part.outcome = { error };
    }
  }
  const wanted = decided.flatMap(({ locked: { space, source } }) => source.wanted.map((each): WantedEntry => ({ id: space.id, ...each })));
  if (wanted.length > 0) fillWanted(wanted, (await tx.ask([readWanted(t, wanted)]))[0] as StatementResult);
  const isChange = ({ locked, decision }: Decided): boolean => decision.changes !== undefined || locked.hasLeapt;
  const changed = decided.filter(isChange);
  // Decided under the lock, with nothing to write: the result is valid, whatever happens to the others.
  for (const each of decided) if (!isChange(each)) settle(each);
  if (changed.length === 0) return tx.abandon();
  const writes = new BatchWrites();
  for (const { locked, decision } of changed) writes.add(locked, decision.changes);
  await writeAll(tx, t, writes);
  for (const each of changed) {
    each.part.namespaceHandle.contention.wrote(each.locked.space.changes);
    settle(each);
  }
}

function settle({ part, locked: { space }, decision: { result, notifies = false } }: Decided): void {
  const { clock, namespace } = part.namespaceHandle;
  clock.noteShown(namespace, space);
  part.outcome = { result, notifies };
}

function lockStatements(t: Tables, ids: readonly number[], locking: Locking): Statement[] {
  if (locking === "free ones") return [lockFreeNamespaces(t, ids)];
  const [first, ...rest] = ids as [number, ...number[]];
  return [lockNamespace(t, first), ...(rest.length > 0 ? [lockFreeNamespaces(t, rest)] : [])];
}

/** The last round trip: writes all changes and commits. Returns the number of log rows removed. */
export async function writeAll(tx: Transaction, t: Tables, writes: BatchWrites): Promise<number> {
  const texts = await writes.textStatements(t, (statements) => tx.ask(statements));
  const statements = [...writes.statements(t), ...texts];
  const answers = await tx.commit(statements);
  return answers.reduce((sum, { count }, i) => (statements[i]?.name === forgetRowsName ? sum + count : sum), 0);
}
