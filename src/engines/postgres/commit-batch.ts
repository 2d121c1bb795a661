import { requireUnsealed } from "../../store/engine-rules.ts";
import { BatchPlan } from "../../store/plan-batch.ts";
import type { CommitResult, PreparedCommit } from "../../store/store.ts";
import { BatchWrites } from "./batch-writes.ts";
import type { NamespaceMemory, RememberedPlan } from "./namespace-memory.ts";
import { guardOf, KnownSource } from "./namespace-memory.ts";
import type { PgNamespaceClock, PgNamespaceRow } from "./namespace-row.ts";
import { leapIfWentBack, lockFreeNamespaces, lockNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { FoundSlots, WantedEntry } from "./read-slots.ts";
import { fillWanted, readWanted, SlotQuestions } from "./read-slots.ts";
import type { Tables } from "./schema.ts";
import type { Transaction } from "./transaction.ts";
import { writeRowsIf } from "./write-rows.ts";

/** Where a batch is written: what stays the same for all of an engine's batches, and which namespace. */
export interface NamespaceHandle {
  readonly tables: Tables;
  readonly clock: PgNamespaceClock;
  readonly namespace: string;
  /** As this process knows it. */
  readonly id: number;
  readonly memory: NamespaceMemory;
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

/**
 * One transaction for one batch of each of several namespaces: each keeps its own checks, revisions, outcome and refusals. From memory in one round trip, if that
 * holds; otherwise in two. Settles the parts, but for those whose namespace somebody else has locked. What is thrown is the end of all that are not settled.
 */
export async function commitBatch(tx: Transaction, parts: readonly Part[], locking: Locking): Promise<void> {
  const remembered = new Map<Part, RememberedPlan>();
  for (const part of parts) {
    if (part.outcome !== undefined) continue;
    const { clock, namespace, memory } = part.namespaceHandle;
    const plan = memory.plan(clock, namespace, tx.session.facts.identity, part.commits);
    if (plan !== undefined) remembered.set(part, plan);
  }
  if (remembered.size > 0) await commitRemembered(tx, remembered);
  const open = parts.filter(({ outcome }) => outcome === undefined);
  if (open.length > 0) await commitAfterLooking(tx, open, locking, remembered);
}

/** Settles all of them, or none. */
async function commitRemembered(tx: Transaction, remembered: ReadonlyMap<Part, RememberedPlan>): Promise<void> {
  const plans = [...remembered.values()];
  const [[{ namespaceHandle }]] = remembered as unknown as [[Part]];
  const { tables: t, clock } = namespaceHandle;
  const writes = new BatchWrites();
  for (const { space, plan } of plans) writes.add(space, plan);
  const answers = await tx.commitIf([writeRowsIf(t, writes.rows, guardOf(t, plans, clock.testMs)), ...writes.statementsBeside(t)]);
  if (answers === undefined) return;
  const hostMs = (answers[0] as StatementResult).rows[0]?.[0] as unknown as number;
  for (const [part, plan] of remembered) {
    part.namespaceHandle.memory.confirm(plan, hostMs);
    settle(part, plan.space, { results: plan.results, notifies: true });
  }
}

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
  readonly wanted: KnownSource["wanted"];
  /** Something is to be written. */
  readonly isChange: boolean;
  readonly tellsHistory: boolean;
}

/**
 * In two round trips. First the locks on the namespaces' rows and, in later statements (a statement that waits for a lock sees the time before the wait),
 * the facts and everything the batches name; then, decided in between, everything that changed, and the commit.
 */
async function commitAfterLooking(tx: Transaction, parts: readonly Part[], locking: Locking, remembered: ReadonlyMap<Part, RememberedPlan>): Promise<void> {
  const [{ namespaceHandle }] = parts as readonly [Part];
  const { tables: t, clock } = namespaceHandle;
  const questions = new SlotQuestions(parts.map(({ namespaceHandle: { namespace, id }, commits }) => ({ namespace, id, commits })));
  const locks = lockStatements(t, parts, locking);
  const answers = await tx.lock([...locks, ...questions.statements(t, clock)], locking === "free ones" ? undefined : locking.lockWaitMs);
  const held = new Set(answers.slice(0, locks.length).flatMap(({ rows }) => rows.map(([id]) => id as unknown as number)));
  const founds = questions.found(answers.slice(locks.length), clock);
  const decided: Decided[] = [];
  for (const [i, part] of parts.entries()) {
    const found = founds[i] as FoundSlots;
    const { id, memory } = part.namespaceHandle;
    const isFree = held.has(id);
    const plan = remembered.get(part);
    if (plan !== undefined && (!isFree || memory.isInVain(plan, found.space))) memory.wasInVain();
    if (!isFree) memory.wasLocked();
    // One batch's own refusal is no reason to keep the others waiting.
    try {
      if (found.space.id !== id) throw new StaleNamespaceError();
      if (isFree) decided.push(decide(tx, part, found));
    } catch (error) {
      part.outcome = { error };
    }
  }
  const wanted = decided.flatMap(({ part, wanted }) => wanted.map((each): WantedEntry => ({ id: part.namespaceHandle.id, ...each })));
  if (wanted.length > 0) fillWanted(wanted, (await tx.ask([readWanted(t, wanted)]))[0] as StatementResult);
  const changed = decided.filter((each) => each.isChange);
  // Decided under the lock, and nothing of it is to be written: it holds, whatever becomes of the others.
  for (const each of decided) if (!each.isChange) settle(each.part, each.found.space, { results: each.results, notifies: false });
  if (changed.length === 0) return tx.abandon();
  const writes = new BatchWrites();
  for (const { found, plan, tellsHistory } of changed) writes.add(found.space, plan, tellsHistory);
  await writeAll(tx, t, writes);
  for (const { part, found, plan, results } of changed) {
    part.namespaceHandle.memory.learn(found.space, plan, found.keys);
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
  const { space, keys, requests } = found;
  requireUnsealed(space.seal, "commit");
  clock.show(namespace, space);
  const { servedBy } = space;
  const leapt = leapIfWentBack(space, tx.session.facts.identity, clock.seenRevision(namespace));
  const source = new KnownSource(keys, requests);
  const plan = new BatchPlan(source, space, space.nowMs);
  const results = part.commits.map((commit) => plan.apply(commit));
  const isChange = plan.rows.length > 0 || plan.requests.length > 0 || leapt;
  return { part, found, plan, results, wanted: source.wanted, isChange, tellsHistory: leapt || space.servedBy !== servedBy };
}

/** The last round trip: everything that was changed, and the commit. */
export async function writeAll(tx: Transaction, t: Tables, writes: BatchWrites, before: readonly Statement[] = []): Promise<void> {
  const texts = await writes.textStatements(t, (statements) => tx.ask(statements));
  await tx.commit([...before, ...writes.statements(t), ...texts]);
}
