import { requireUnsealed } from "../../store/engine-rules.ts";
import type { BatchSource, Buried, StoredSlot } from "../../store/plan-batch.ts";
import { BatchPlan } from "../../store/plan-batch.ts";
import type { CommitResult, Committed, Entry, HistoryRecord, PreparedCommit, StoredRequest } from "../../store/store.ts";
import type { RawEntry } from "./log-rows.ts";
import { entryColumns, parseLapse, toEntry } from "./log-rows.ts";
import type { NamespaceClock, NamespaceRow } from "./namespace-row.ts";
import { factsOf, leapIfWentBack, lockNamespace, withNamespace, writeNamespace } from "./namespace-row.ts";
import type { Tables } from "./schema.ts";
import type { Answer, Statement } from "./session.ts";
import { numberArray, textArray } from "./sql-arrays.ts";
import { indexStatements, readAreas, readDocuments, toDocuments } from "./text-index.ts";
import type { Transaction } from "./transaction.ts";
import type { ChangedSlot, Grave } from "./write-rows.ts";
import { appendRows, bury, keepRequests, putEntries, removeEntries, unbury } from "./write-rows.ts";

/** Where a batch is written: what stays the same for all of an engine's batches, and which namespace. */
export interface BatchPlace {
  readonly tables: Tables;
  readonly clock: NamespaceClock;
  readonly namespace: string;
  /** As this process knows it. */
  readonly id: number;
}

/** The namespace is not there under the number that was remembered: the store was made anew meanwhile. */
export class StaleNamespaceError extends Error {}

/**
 * One batch in two round trips. First the lock on the namespace's row and, in later statements (a statement that waits for a lock sees the time before the wait),
 * the facts and everything the batch names; then, decided in between, everything that changed, and the commit.
 */
export async function commitBatch(
  tx: Transaction,
  place: BatchPlace,
  commits: readonly PreparedCommit[],
): Promise<{ readonly results: readonly CommitResult[]; readonly rings: boolean }> {
  const { tables: t, clock, namespace, id } = place;
  const checked = new Set(commits.flatMap((commit) => commit.checks.map(({ key }) => key)));
  const written = new Set(commits.flatMap((commit) => commit.writes.map(({ key }) => key)));
  const requests = commits.flatMap(({ request }) => request?.key ?? []);
  const parameters = clock.parameters(namespace);
  const statements = [lockNamespace(t, parameters), readSlots(t, [...parameters, id], new Set([...written, ...checked]), written)];
  if (requests.length > 0) statements.push(readRequests(t, id, requests));
  const [, slots, kept] = await tx.ask(statements);
  const space = requireSpace(slots as Answer, place);
  requireUnsealed(space.seal, "commit");
  clock.show(namespace, space);
  const leapt = leapIfWentBack(space, tx.session.facts.identity, clock.seenRevision(namespace));
  const source = new LoadedSource(slots as Answer, kept);
  const plan = new BatchPlan(source, space, space.nowMs);
  const results = commits.map((commit) => plan.apply(commit));
  if (source.wanted.length > 0) await fillEntries(tx, t, id, source.wanted);
  if (plan.rows.length === 0 && plan.requests.length === 0 && !leapt) await tx.abandon();
  else await writePlan(tx, t, space, plan);
  clock.seeRevision(namespace, space);
  return { results, rings: plan.rows.length > 0 };
}

function requireSpace(slots: Answer, { clock, namespace, id }: BatchPlace): NamespaceRow {
  const space = factsOf(slots.rows, clock, namespace);
  if (space.id !== id) throw new StaleNamespaceError();
  return space;
}

/** The facts in a row of their own; what is there under the keys; what is remembered of those that are to be written. */
const readSlots = (t: Tables, parameters: readonly unknown[], keys: Iterable<string>, written: Iterable<string>): Statement => ({
  name: "slots",
  text: `${withNamespace(t)}
    SELECT n.facts, NULL::text AS k, NULL::bigint AS rev, NULL::int AS seq, NULL::bigint AS ver, NULL::bigint AS created, NULL::bigint AS exp, NULL::boolean AS findable, NULL::text AS lapse FROM n
    UNION ALL SELECT NULL, kv.k, kv.rev, kv.seq, kv.ver, kv.created, kv.exp, kv.findable,
      CASE WHEN kv.exp IS NOT NULL THEN (SELECT l.lapse FROM ${t.log} l WHERE l.ns = kv.ns AND l.rev = kv.rev AND l.seq = kv.seq) END
      FROM ${t.kv} kv WHERE kv.ns = $4 AND kv.k = ANY($5::text[])
    UNION ALL SELECT NULL, b.k, b.rev, b.seq, b.ver, NULL, NULL, NULL, NULL FROM ${t.tombstone} b WHERE b.ns = $4 AND b.k = ANY($6::text[])`,
  values: [...parameters, textArray([...keys]), textArray([...written])],
});

const readRequests = (t: Tables, id: number, keys: readonly string[]): Statement => ({
  name: "requests",
  text: `SELECT key, fingerprint, kept_until, outcome FROM ${t.request} WHERE ns = $1 AND key = ANY($2::text[])`,
  values: [id, textArray(keys)],
});

type RawSlot = [facts: string | null, k: string, rev: number, seq: number, ver: number, created: number | null, exp: number | null, findable: boolean | null, lapse: string | null];

interface WantedEntry extends Pick<StoredSlot, "revision" | "seq"> {
  readonly entry: Entry;
}

/** What a batch names, loaded beforehand. Entries that break a check are promised here and filled in before anybody sees them. */
class LoadedSource implements BatchSource {
  readonly wanted: WantedEntry[] = [];
  readonly #slots = new Map<string, StoredSlot & { readonly lapse: string | null }>();
  readonly #buried = new Map<string, Buried>();
  readonly #requests = new Map<string, StoredRequest & { readonly keptUntilMs: number }>();

  constructor(slots: Answer, requests: Answer | undefined) {
    for (const [facts, key, revision, seq, version, createdAtMs, exp, findable, lapse] of slots.rows as unknown as RawSlot[]) {
      if (facts !== null) continue;
      if (createdAtMs === null) this.#buried.set(key, { revision, seq, version });
      else this.#slots.set(key, { revision, seq, version, createdAtMs, expiresAtMs: exp ?? undefined, findable: findable === true, lapse });
    }
    for (const [key, fingerprint, keptUntilMs, outcome] of (requests?.rows ?? []) as unknown as [string, string, number, string][])
      this.#requests.set(key, { fingerprint, keptUntilMs, outcome: JSON.parse(outcome) as Committed });
  }

  readSlot(key: string): StoredSlot | undefined {
    return this.#slots.get(key);
  }

  readBuried(key: string): Buried | undefined {
    return this.#buried.get(key);
  }

  readRequest(key: string, nowMs: number): StoredRequest | undefined {
    const known = this.#requests.get(key);
    return known !== undefined && nowMs < known.keptUntilMs ? known : undefined;
  }

  readLapse(key: string): HistoryRecord | undefined {
    return parseLapse(this.#slots.get(key)?.lapse ?? null);
  }

  readEntry(_key: string, { revision, seq }: StoredSlot): Entry {
    const entry = {} as Entry;
    this.wanted.push({ revision, seq, entry });
    return entry;
  }
}

/** Only a failed check needs a value: one more round trip then, still under the lock. */
async function fillEntries(tx: Transaction, t: Tables, id: number, wanted: readonly WantedEntry[]): Promise<void> {
  const [answer] = await tx.ask([
    {
      name: "entries",
      text: `SELECT l.seq, ${entryColumns("l")}, l.v FROM ${t.log} l JOIN unnest($2::bigint[], $3::int[]) AS p (rev, seq) ON l.ns = $1 AND l.rev = p.rev AND l.seq = p.seq`,
      values: [id, numberArray(wanted.map(({ revision }) => revision)), numberArray(wanted.map(({ seq }) => seq))],
    },
  ]);
  const entries = new Map(((answer as Answer).rows as unknown as [number, ...RawEntry][]).map(([seq, ...row]) => [`${row[1]}.${seq}`, toEntry(row)]));
  for (const { revision, seq, entry } of wanted) Object.assign(entry, entries.get(`${revision}.${seq}`));
}

/** The last round trip: everything that the plan changed, and the commit. */
export async function writePlan(tx: Transaction, t: Tables, space: NamespaceRow, plan: BatchPlan, before: readonly Statement[] = []): Promise<void> {
  const { id } = space;
  const put: ChangedSlot[] = [];
  const removed: string[] = [];
  const buried: Grave[] = [];
  const unburied: string[] = [];
  const unfindable: string[] = [];
  const findable: ChangedSlot[] = [];
  for (const [key, slot] of plan.changed()) {
    if (slot.stored?.findable) unfindable.push(key);
    if (slot.present) {
      put.push([key, slot]);
      if (slot.index !== undefined) findable.push([key, slot]);
      if (slot.buried !== undefined) unburied.push(key);
    } else {
      if (slot.stored !== undefined) removed.push(key);
      buried.push(slot.row);
      if (slot.buried === undefined) space.tombstones += 1;
    }
  }
  space.tombstones -= unburied.length;
  const statements: Statement[] = [...before];
  if (plan.rows.length > 0) statements.push(appendRows(t, id, plan.rows));
  if (put.length > 0) statements.push(putEntries(t, id, put));
  if (removed.length > 0) statements.push(removeEntries(t, id, removed));
  if (buried.length > 0) statements.push(bury(t, id, buried));
  if (unburied.length > 0) statements.push(unbury(t, id, unburied));
  if (plan.requests.length > 0) statements.push(keepRequests(t, id, plan.requests));
  if (unfindable.length > 0 || findable.length > 0) {
    const [documents, areas] = await tx.ask([readDocuments(t, id, unfindable), readAreas(t, id)]);
    const added = findable.map(([key, { row, index }]) => ({ key, revision: row.revision, seq: row.seq, index: index as NonNullable<typeof index> }));
    statements.push(...indexStatements(t, id, areas as Answer, toDocuments(documents as Answer), added));
  }
  statements.push(writeNamespace(t, space));
  await tx.commit(statements);
}
