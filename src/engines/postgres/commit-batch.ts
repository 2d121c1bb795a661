import { BatchPlan } from "../../ledger/plan-batch.ts";
import { requireUnsealed } from "../../store/engine-rules.ts";
import type { CommitResult, PreparedCommit } from "../../store/store.ts";
import { BatchWrites } from "./batch-writes.ts";
import type { PgNamespaceClock, PgNamespaceRow } from "./namespace-row.ts";
import { leapIfWentBack, lockFreeNamespaces, lockNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { FoundSlots, WantedEntry } from "./read-slots.ts";
import { fillWanted, namedBy, readWanted, SlotQuestions } from "./read-slots.ts";
import type { Tables } from "./schema.ts";
import type { Transaction } from "./transaction.ts";

/** Where a batch is written: what stays the same for all of an engine's batches, and which namespace. */
export interface NamespaceHandle {
  readonly tables: Tables;
  readonly clock: PgNamespaceClock;
  readonly namespace: string;
  /** As this process knows it. */
  readonly id: number;
  readonly contention: Contention;
}

/** Whether other processes write to a namespace too, judged by how this one found it last. */
export class Contention {
  isContended = false;
  #changesLeft: number | undefined;

  /** Another process holds its lock. */
  foundLocked(): void {
    this.isContended = true;
  }

  /** This process wrote to it; `changes`: the row's count as it was found. Whoever writes anything in a namespace counts it up. */
  wrote(changes: number): void {
    this.isContended = this.#changesLeft !== undefined && this.#changesLeft !== changes;
    this.#changesLeft = changes + 1;
  }
}

/** The namespace is not there under the number that was remembered: the store was made anew meanwhile. */
export class StaleNamespaceError extends Error {}

/** How a batch ended: with an answer to each of its commits, or with what was in the way of all of them; nothing was changed then. */
export type Outcome = { readonly results: readonly CommitResult[]; readonly notifies: boolean } | { readonly error: unknown };

/** A namespace's batch on its way, alone or beside others. It is settled when it is known how it ended. */
export interface Part {
  readonly namespaceHandle: NamespaceHandle;
  readonly commits: readonly PreparedCommit[];
  outcome: Outcome | undefined;
}

/**
 * How namespaces are locked that others may have. One at most is waited for, and before anything else is locked: whoever waits holds nothing, so no two can wait for each other.
 * Of the rest those are taken that are free. `patienceMs`: how long, if not most of a deadline.
 */
export type Locking = "free ones" | { readonly waitsForFirst: true; readonly lockWaitMs?: number };

function settle(part: Part, space: PgNamespaceRow, outcome: Outcome): void {
  const { clock, namespace } = part.namespaceHandle;
  clock.show(namespace, space);
  clock.seeRevision(namespace, space);
  part.outcome = outcome;
}

interface Decided {
  readonly part: Part;
  readonly found: FoundSlots;
  readonly plan: BatchPlan;
  readonly results: readonly CommitResult[];
  /** Something is to be written. */
  readonly isChange: boolean;
  readonly tellsHistory: boolean;
}

/**
 * One transaction for one batch of each of several namespaces: each keeps its own checks, revisions, outcome and refusals. Settles the parts, but for those whose
 * namespace somebody else has locked. What is thrown is the end of all that are not settled.
 *
 * In two round trips. First the locks on the namespaces' rows and, in later statements (a statement that waits for a lock sees the time before the wait),
 * the facts and everything the batches name; then, decided in between, everything that changed, and the commit.
 */
export async function commitBatch(tx: Transaction, asked: readonly Part[], locking: Locking): Promise<void> {
  const parts = asked.filter(({ outcome }) => outcome === undefined);
  if (parts.length === 0) return;
  const { tables: t, clock } = (parts[0] as Part).namespaceHandle;
  const questions = new SlotQuestions(parts.map(({ namespaceHandle: { namespace, id }, commits }) => ({ namespace, id, ...namedBy(commits) })));
  const locks = lockStatements(t, parts, locking);
  const answers = await tx.lock([...locks, ...questions.statements(t, clock)], locking === "free ones" ? undefined : locking.lockWaitMs);
  const held = new Set(answers.slice(0, locks.length).flatMap(({ rows }) => rows.map(([id]) => id as unknown as number)));
  const founds = questions.found(answers.slice(locks.length), clock);
  const decided: Decided[] = [];
  for (const [i, part] of parts.entries()) {
    const found = founds[i] as FoundSlots;
    const { id, contention } = part.namespaceHandle;
    const isFree = held.has(id);
    if (!isFree) contention.foundLocked();
    // One batch's own refusal is no reason to keep the others waiting.
    try {
      if (found.space.id !== id) throw new StaleNamespaceError();
      if (isFree) decided.push(decide(tx, part, found));
    } catch (error) {
      part.outcome = { error };
    }
  }
  const wanted = decided.flatMap(({ part, found }) => found.source.wanted.map((each): WantedEntry => ({ id: part.namespaceHandle.id, ...each })));
  if (wanted.length > 0) fillWanted(wanted, (await tx.ask([readWanted(t, wanted)]))[0] as StatementResult);
  const changed = decided.filter((each) => each.isChange);
  // Decided under the lock, and nothing of it is to be written: it holds, whatever becomes of the others.
  for (const each of decided) if (!each.isChange) settle(each.part, each.found.space, { results: each.results, notifies: false });
  if (changed.length === 0) return tx.abandon();
  const writes = new BatchWrites();
  for (const { found, plan, tellsHistory } of changed) writes.add(found.space, plan, tellsHistory);
  await writeAll(tx, t, writes);
  for (const { part, found, plan, results } of changed) {
    part.namespaceHandle.contention.wrote(found.space.changes);
    settle(part, found.space, { results, notifies: plan.rows.length > 0 });
  }
}

function lockStatements(t: Tables, parts: readonly Part[], locking: Locking): Statement[] {
  const ids = parts.map(({ namespaceHandle }) => namespaceHandle.id);
  if (locking === "free ones") return [lockFreeNamespaces(t, ids)];
  const [first, ...rest] = ids as [number, ...number[]];
  return [lockNamespace(t, first), ...(rest.length > 0 ? [lockFreeNamespaces(t, rest)] : [])];
}

function decide(tx: Transaction, part: Part, found: FoundSlots): Decided {
  const { clock, namespace } = part.namespaceHandle;
  const { space } = found;
  requireUnsealed(space.seal, "commit");
  clock.show(namespace, space);
  const { servedBy } = space;
  const leapt = leapIfWentBack(space, tx.session.facts.identity, clock.seenRevision(namespace));
  const plan = new BatchPlan(found.source, space, space.nowMs);
  const results = part.commits.map((commit) => plan.apply(commit));
  const isChange = plan.rows.length > 0 || plan.requests.length > 0 || leapt;
  return { part, found, plan, results, isChange, tellsHistory: leapt || space.servedBy !== servedBy };
}

/** The last round trip: everything that was changed, and the commit. */
export async function writeAll(tx: Transaction, t: Tables, writes: BatchWrites, before: readonly Statement[] = []): Promise<void> {
  const texts = await writes.textStatements(t, (statements) => tx.ask(statements));
  await tx.commit([...before, ...writes.statements(t), ...texts]);
}
