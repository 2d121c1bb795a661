import { requireUnsealed } from "../../store/engine-rules.ts";
import type { PlannedRow } from "../../store/plan-batch.ts";
import { BatchPlan } from "../../store/plan-batch.ts";
import type { CommitResult, Committed, PreparedCommit } from "../../store/store.ts";
import type { RawEntry } from "./log-rows.ts";
import { entryColumns, toEntry } from "./log-rows.ts";
import type { KnownKeys, KnownRequests, NamespaceMemory } from "./namespace-memory.ts";
import { KnownSource, noKeys } from "./namespace-memory.ts";
import type { NamespaceClock, NamespaceRow } from "./namespace-row.ts";
import { factsOf, leapIfWentBack, lockNamespace, withNamespace } from "./namespace-row.ts";
import type { Tables } from "./schema.ts";
import type { Answer, Statement } from "./session.ts";
import { bigintArray, texts } from "./sql-arrays.ts";
import type { AddedText } from "./text-index.ts";
import { indexStatements, readAreas, readDocuments, toDocuments } from "./text-index.ts";
import type { Transaction } from "./transaction.ts";
import type { Grave, Standing } from "./write-rows.ts";
import { bury, graveOf, keepRequests, removeEntries, standing, unbury, writeNamespace, writeRows } from "./write-rows.ts";

/** Where a batch is written: what stays the same for all of an engine's batches, and which namespace. */
export interface BatchPlace {
  readonly tables: Tables;
  readonly clock: NamespaceClock;
  readonly namespace: string;
  /** As this process knows it. */
  readonly id: number;
  readonly memory: NamespaceMemory;
}

/** The namespace is not there under the number that was remembered: the store was made anew meanwhile. */
export class StaleNamespaceError extends Error {}

/** From memory in one round trip, if that holds; otherwise in two. */
export async function commitBatch(tx: Transaction, place: BatchPlace, commits: readonly PreparedCommit[]): Promise<Outcome> {
  const { tables: t, clock, namespace, memory } = place;
  // Sent with its commit, it must not be cut off while it waits for the lock: nobody would know whether it still happened.
  const remembered = !tx.hasTime ? undefined : memory.plan(t, clock, namespace, tx.session.facts.identity, commits);
  if (remembered === undefined) return commitAfterLooking(tx, place, commits);
  const { plan, results, space, guard } = remembered;
  if (!(await tx.commitIf(guard, planStatements(t, space, plan).statements))) {
    memory.wasInVain();
    return commitAfterLooking(tx, place, commits);
  }
  clock.show(namespace, space);
  clock.seeRevision(namespace, space);
  memory.confirm(remembered);
  return { results, rings: true };
}

interface Outcome {
  readonly results: readonly CommitResult[];
  readonly rings: boolean;
}

/**
 * One batch in two round trips. First the lock on the namespace's row and, in later statements (a statement that waits for a lock sees the time before the wait),
 * the facts and everything the batch names; then, decided in between, everything that changed, and the commit.
 */
async function commitAfterLooking(tx: Transaction, place: BatchPlace, commits: readonly PreparedCommit[]): Promise<Outcome> {
  const { tables: t, clock, namespace, id, memory } = place;
  const keys = new Set<string>();
  const requests: string[] = [];
  for (const { checks, writes, request } of commits) {
    for (const { key } of checks) keys.add(key);
    for (const { key } of writes) keys.add(key);
    if (request !== undefined) requests.push(request.key);
  }
  const named = [...keys];
  const statements = [readSlots(t, [...clock.parameters(namespace), id], named)];
  if (requests.length > 0) statements.push(readRequests(t, id, requests));
  const [slots, kept] = await tx.lock(lockNamespace(t, id), statements);
  const space = requireSpace(slots as Answer, place);
  requireUnsealed(space.seal, "commit");
  clock.show(namespace, space);
  const leapt = leapIfWentBack(space, tx.session.facts.identity, clock.seenRevision(namespace));
  const loaded = toKeys(named, slots as Answer);
  const source = new KnownSource(loaded, toRequests(kept));
  const plan = new BatchPlan(source, space, space.nowMs);
  const results = commits.map((commit) => plan.apply(commit));
  if (source.wanted.length > 0) await fillEntries(tx, t, id, source.wanted);
  if (plan.rows.length === 0 && plan.requests.length === 0 && !leapt) await tx.abandon();
  else {
    await writePlan(tx, t, space, plan);
    memory.learn(space, plan, loaded);
  }
  clock.seeRevision(namespace, space);
  return { results, rings: plan.rows.length > 0 };
}

function requireSpace(slots: Answer, { clock, namespace, id }: BatchPlace): NamespaceRow {
  const space = factsOf(slots.rows, clock, namespace);
  if (space.id !== id) throw new StaleNamespaceError();
  return space;
}

/**
 * The facts in a row of their own; what is there under the keys, and where nothing is, what is remembered. The numbers of a key come as one text:
 * five or six of an entry (the last is its expiry), three of something remembered, one of neither. As columns, taking them apart would be the costliest part of a commit.
 */
const readSlots = (t: Tables, parameters: readonly unknown[], keys: readonly string[]): Statement => ({
  name: "slots",
  text: `${withNamespace(t)}
    SELECT n.facts, 0::bigint AS i, NULL::text AS numbers, NULL::text AS lapse FROM n
    UNION ALL SELECT NULL, u.i, concat_ws(',', coalesce(kv.place, b.place), coalesce(kv.ver, b.ver), coalesce(kv.anchor, b.anchor, 0), kv.created, kv.findable::int, kv.exp),
      CASE WHEN kv.exp IS NOT NULL THEN (SELECT l.lapse FROM ${t.log} l WHERE l.ns = $4 AND l.place = kv.place) END
      FROM unnest($5::text[]) WITH ORDINALITY AS u (k, i) LEFT JOIN ${t.kv} kv ON kv.ns = $4 AND kv.k = u.k
      LEFT JOIN LATERAL (SELECT place, anchor, ver FROM ${t.tombstone} WHERE kv.k IS NULL AND ns = $4 AND k = u.k LIMIT 1) b ON true`,
  values: [...parameters, texts(keys)],
});

const readRequests = (t: Tables, id: number, keys: readonly string[]): Statement => ({
  name: "requests",
  text: `SELECT key, fingerprint, kept_until, outcome FROM ${t.request} WHERE ns = $1 AND key = ANY($2::text[])`,
  values: [id, texts(keys)],
});

type RawSlot = [facts: string | null, position: number, numbers: string, lapse: string | null];

function toKeys(keys: readonly string[], answer: Answer): KnownKeys {
  const known = noKeys();
  for (const [facts, position, numbers, lapse] of answer.rows as unknown as RawSlot[]) {
    if (facts !== null) continue;
    const key = keys[position - 1] as string;
    const [place, version, nearest, createdAtMs, findable, expiresAtMs] = numbers.split(",").map(Number) as [number, number?, number?, number?, number?, number?];
    const anchor = nearest === 0 ? undefined : nearest;
    if (version === undefined) known.nothing.add(key);
    else if (createdAtMs === undefined) known.buried.set(key, { place, version, anchor });
    else known.slots.set(key, { place, version, anchor, createdAtMs, expiresAtMs, findable: findable === 1, lapse });
  }
  return known;
}

const toRequests = (answer: Answer | undefined): KnownRequests =>
  new Map(
    ((answer?.rows ?? []) as unknown as [string, string, number, string][]).map(([key, fingerprint, keptUntilMs, outcome]) => [
      key,
      { fingerprint, keptUntilMs, outcome: JSON.parse(outcome) as Committed },
    ]),
  );

/** Only a failed check needs a value: one more round trip then, still under the lock. */
async function fillEntries(tx: Transaction, t: Tables, id: number, wanted: KnownSource["wanted"]): Promise<void> {
  const [answer] = await tx.ask([
    {
      name: "entries",
      text: `SELECT ${entryColumns("l")}, l.v FROM ${t.log} l WHERE l.ns = $1 AND l.place = ANY($2::bigint[])`,
      values: [id, bigintArray(wanted, ({ place }) => place)],
    },
  ]);
  const entries = new Map(((answer as Answer).rows as unknown as RawEntry[]).map((row) => [row[1], toEntry(row)]));
  for (const { place, entry } of wanted) Object.assign(entry, entries.get(place));
}

/** The last round trip: everything that the plan changed, and the commit. */
export async function writePlan(tx: Transaction, t: Tables, space: NamespaceRow, plan: BatchPlan, before: readonly Statement[] = []): Promise<void> {
  const { statements, unfindable, added } = planStatements(t, space, plan);
  if (unfindable.length > 0 || added.length > 0) {
    const [documents, areas] = await tx.ask([readDocuments(t, space.id, unfindable), readAreas(t, space.id)]);
    statements.push(...indexStatements(t, space.id, areas as Answer, toDocuments(documents as Answer), added));
  }
  await tx.commit([...before, ...statements]);
}

/** What writes a plan, but for the texts to search by: those that leave the index, and those that come in. Counts on what is remembered. */
function planStatements(t: Tables, space: NamespaceRow, plan: BatchPlan): { readonly statements: Statement[]; readonly unfindable: string[]; readonly added: AddedText[] } {
  const { id } = space;
  const newest = new Map<PlannedRow, Standing>();
  const removed: string[] = [];
  const buried: Grave[] = [];
  const unburied: string[] = [];
  const unfindable: string[] = [];
  const added: AddedText[] = [];
  for (const [key, { stored, present, index, row, buried: grave }] of plan.changed()) {
    if (stored?.findable) unfindable.push(key);
    if (present) {
      newest.set(row, index === undefined ? standing.entry : standing.findable);
      if (index !== undefined) added.push({ key, place: row.place, index });
      if (grave !== undefined) unburied.push(key);
    } else {
      if (stored !== undefined) removed.push(key);
      buried.push(graveOf(row));
      if (grave === undefined) space.tombstones += 1;
    }
  }
  space.tombstones -= unburied.length;
  const statements = [plan.rows.length > 0 ? writeRows(t, space, plan.rows, (row) => newest.get(row) ?? standing.none) : writeNamespace(t, space)];
  if (removed.length > 0) statements.push(removeEntries(t, id, removed));
  if (buried.length > 0) statements.push(bury(t, id, buried));
  if (unburied.length > 0) statements.push(unbury(t, id, unburied));
  if (plan.requests.length > 0) statements.push(keepRequests(t, id, plan.requests));
  return { statements, unfindable, added };
}
