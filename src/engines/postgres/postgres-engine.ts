import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { silentLog } from "../../kernel/log.ts";
import { LedgerEngine } from "../../ledger/ledger-engine.ts";
import type { FoundKey, LockedRows, NamedRows, RowDecision, RowReads, Rows, SpaceRow, Work } from "../../ledger/rows.ts";
import type { Engine, EngineHealth, PreparedCommit } from "../../store/store.ts";
import { BatchWrites } from "./batch-writes.ts";
import { PostgresChangeSignal } from "./change-signal.ts";
import { lockRows, PgLockedRows, StaleNamespaceError, writeAll } from "./commit-batch.ts";
import { healthOf, readSettings } from "./engine-health.ts";
import { NamespaceHandles } from "./namespace-handles.ts";
import { factsOf, PgNamespaceClock, readNamespace } from "./namespace-row.ts";
import type { Ask, Statement, StatementResult } from "./pg-session.ts";
import { runWork } from "./pg-session.ts";
import { PointReads } from "./point-reads.ts";
import { PostgresConnections } from "./postgres-connections.ts";
import { postgresReads } from "./postgres-reads.ts";
import type { Tables } from "./schema.ts";
import { prepareStore, tablesIn } from "./schema.ts";
import { oldestVersion, openServerSession } from "./server.ts";
import type { ServerSettings } from "./server-settings.ts";
import { readServerSettings } from "./server-settings.ts";
import { SharedCommits } from "./shared-commits.ts";
import { texts } from "./sql-arrays.ts";
import type { Transaction } from "./transaction.ts";

export interface PostgresEngineOptions {
  readonly url: string;
  readonly log?: Log;
  /** False: if the store does not exist, throw `not_found` instead of creating it. */
  readonly creates?: boolean;
  /** Replaces the server's clock; only for tests, which control time. */
  readonly timeSource?: Clock;
  /** Migration steps and the oldest supported server; only tests of the rejections pass their own. */
  readonly migrations?: readonly ((tables: Tables) => string)[];
  readonly oldestVersion?: number;
}

/** Opens the store and creates its schema and tables if they do not exist. Safe for any number of processes at once. */
export async function openPostgresEngine(options: PostgresEngineOptions): Promise<Engine> {
  const settings = readServerSettings(options.url);
  const pg = await loadDriver();
  const tables = tablesIn(settings.schema);
  const connections = new PostgresConnections(
    (deadlineMs) => openServerSession(pg, settings, options.oldestVersion ?? oldestVersion, deadlineMs),
    settings,
    options.log ?? silentLog,
  );
  try {
    await connections.withSession((session, deadlineMs) => prepareStore(session, tables, deadlineMs, options));
  } catch (error) {
    await connections.close();
    throw error;
  }
  return new LedgerEngine(new PostgresRows(connections, settings, tables, options));
}

async function loadDriver(): Promise<typeof import("pg")> {
  try {
    return (await import("pg")).default as typeof import("pg");
  } catch (error) {
    throw new HoldfastError("store_unsupported", "The package pg, the driver for PostgreSQL, is not installed.", { hint: "npm install pg", cause: error });
  }
}

/** The maximum number of namespaces whose `RowReads` are cached. */
const readsMax = 128;

class PostgresRows implements Rows {
  readonly name = "postgres";
  readonly #connections: PostgresConnections;
  readonly #settings: ServerSettings;
  readonly #tables: Tables;
  readonly #clock: PgNamespaceClock;
  readonly #commits: SharedCommits;
  readonly #points: PointReads;
  readonly #changeSignal: PostgresChangeSignal;
  readonly #handles: NamespaceHandles;
  readonly #reads = new Map<string, RowReads>();
  readonly #askOne: Ask = async ([statement]) => [await this.#connections.ask(statement as Statement)];
  #wasAskedToListen = false;

  constructor(connections: PostgresConnections, settings: ServerSettings, tables: Tables, { timeSource, log = silentLog }: PostgresEngineOptions) {
    this.#connections = connections;
    this.#settings = settings;
    this.#tables = tables;
    this.#clock = new PgNamespaceClock(timeSource);
    this.#handles = new NamespaceHandles(connections, tables, this.#clock);
    this.#commits = new SharedCommits(connections, this.#handles, settings.deadlineMs, (namespace) => this.#changeSignal.notify(namespace));
    this.#points = new PointReads(connections, tables, this.#clock);
    const channel = `holdfast_${settings.schema}`;
    this.#changeSignal = new PostgresChangeSignal({
      channel,
      open: () => connections.openApart(),
      notify: async (payloads) =>
        void (await connections.ask({ name: "notify", text: "SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p", values: [channel, texts(payloads)] })),
      look: (namespaces) => this.#readChangeMarks(namespaces),
      log,
    });
  }

  ask<T>(namespace: string, look: (reads: RowReads) => Work<T>): Promise<T> {
    return runWork(look(this.#readsOf(namespace)), this.#askOne);
  }

  read<T>(namespace: string, look: (reads: RowReads) => Work<T>): Promise<T> {
    return this.#connections.reading((ask) => runWork(look(this.#readsOf(namespace)), ask));
  }

  /** A text that contains NUL is not a key, and neither is an empty one. */
  readKey(namespace: string, key: string, hasValue: boolean): Promise<FoundKey> {
    return this.#points.read(this.#readsOf(namespace), namespace, key.includes("\0") ? "" : key, hasValue);
  }

  commit<T>(namespace: string, batch: readonly PreparedCommit[], decide: (locked: LockedRows) => RowDecision<T>): Promise<T> {
    return this.#commits.commit(namespace, batch, decide);
  }

  async change<T>(namespace: string, named: NamedRows, decide: (locked: LockedRows) => Work<RowDecision<T>>): Promise<{ readonly result: T; readonly removed: number }> {
    const { decision, removed } = await this.#writing(namespace, named, async (tx, locked) => {
      const decision = await runWork(decide(locked), (statements) => tx.ask(statements));
      if (decision.changes === undefined && !locked.hasLeapt) return { decision, removed: 0 };
      const writes = new BatchWrites();
      writes.add(locked, decision.changes);
      const removed = await writeAll(tx, this.#tables, writes);
      if (decision.notifies && decision.changes?.plan !== undefined) this.#clock.noteShown(namespace, locked.space, "revision");
      return { decision, removed };
    });
    if (decision.notifies) this.#changeSignal.notify(namespace);
    return { result: decision.result, removed };
  }

  async clear(namespace: string, requireClearable: (space: SpaceRow) => void): Promise<void> {
    const emptySlice = (): Promise<boolean> =>
      this.#writing(namespace, {}, async (tx, { space }) => {
        requireClearable(space);
        const slices = await tx.ask(clearStatements(this.#tables, space.id));
        const isEmpty = slices.every(({ count }) => count < clearedPerSlice);
        await tx.commit(isEmpty ? [{ text: `DELETE FROM ${this.#tables.namespace} WHERE id = $1`, values: [space.id] }] : []);
        return isEmpty;
      });
    while (!(await emptySlice()));
    this.#clock.forget(namespace);
    this.#handles.forget(namespace);
    this.#changeSignal.notify(namespace);
  }

  onChange(namespace: string, notify: () => void): () => void {
    this.#wasAskedToListen = true;
    return this.#changeSignal.listen(namespace, notify);
  }

  async namespaces(): Promise<readonly string[]> {
    const answer = await this.#connections.ask({ text: `SELECT name FROM ${this.#tables.namespace} WHERE revision > 0 OR seal IS NOT NULL ORDER BY name` });
    return answer.rows.map(([name]) => name as unknown as string);
  }

  async health(namespace: string): Promise<EngineHealth> {
    return this.#connections.withSession(async (session, deadlineMs) => {
      const startMs = performance.now();
      const [facts] = await session.send([readNamespace(this.#tables, this.#clock.parameters(namespace))], deadlineMs);
      const roundTripMs = performance.now() - startMs;
      const hostNowMs = performance.timeOrigin + startMs + roundTripMs / 2;
      const space = factsOf((facts as StatementResult).rows);
      const answers = await session.send(readSettings(this.#tables), deadlineMs);
      return healthOf({
        answers,
        space,
        schema: this.#settings.schema,
        isDirect: session.facts.isDirect,
        isEncrypted: session.isEncrypted,
        identity: session.facts.identity,
        isListening: this.#wasAskedToListen ? this.#changeSignal.isListening : undefined,
        connections: this.#connections.connections,
        roundTripMs,
        clockDifferenceMs: this.#clock.isTested ? 0 : space.hostMs - hostNowMs,
        deadlineMs: this.#settings.deadlineMs,
      });
    });
  }

  async checkFiles(): Promise<readonly string[]> {
    return [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changeSignal.close();
    await this.#connections.close();
  }

  #readsOf(namespace: string): RowReads {
    const known = this.#reads.get(namespace);
    if (known !== undefined) return known;
    if (this.#reads.size >= readsMax) this.#reads.clear();
    const reads = postgresReads(this.#tables, this.#clock, namespace);
    this.#reads.set(namespace, reads);
    return reads;
  }

  /** Runs `work` under the namespace's lock. */
  async #writing<T>(namespace: string, named: NamedRows, work: (tx: Transaction, locked: PgLockedRows) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const namespaceHandle = this.#handles.known(namespace) ?? (await this.#handles.require(namespace));
      const outcome = await this.#connections.writing(async (tx) => {
        const [locked] = await lockRows(tx, [{ namespaceHandle, named }], { waitsForFirst: true });
        return locked instanceof PgLockedRows ? { result: await work(tx, locked) } : { error: locked ?? new StaleNamespaceError() };
      });
      if (!("error" in outcome)) return outcome.result;
      this.#handles.requireStale(outcome.error, namespace, attempt);
    }
  }

  async #readChangeMarks(namespaces: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const statement: Statement = {
      name: "standings",
      text: `SELECT name, revision, seal FROM ${this.#tables.namespace} WHERE name = ANY($1::text[])`,
      values: [texts(namespaces)],
    };
    const { rows } = await this.#connections.ask(statement);
    return new Map((rows as unknown as [string, number, string | null][]).map(([name, revision, seal]) => [name, `${revision} ${seal ?? ""}`]));
  }
}

/** The tables with a namespace's records and their keys, in the order in which they can be emptied. */
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

const clearStatements = (t: Tables, id: number): Statement[] =>
  emptied(t).map(([table, key]) => ({
    text: `DELETE FROM ${table} WHERE ns = $1 AND (${key}) IN (SELECT ${key} FROM ${table} WHERE ns = $1 LIMIT ${clearedPerSlice})`,
    values: [id],
  }));
