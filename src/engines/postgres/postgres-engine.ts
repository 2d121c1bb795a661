import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { silentLog } from "../../kernel/log.ts";
import { requireSeal, requireUnsealed } from "../../store/engine-rules.ts";
import { singleKey } from "../../store/ranges.ts";
import type {
  CommitResult,
  Committed,
  Compacted,
  DumpPage,
  DumpQuery,
  Engine,
  EngineHealth,
  LogPage,
  LogQuery,
  NamespaceFacts,
  NewText,
  PreparedCommit,
  Range,
  ReadOptions,
  RetentionPolicy,
  Seal,
  SearchAnswer,
  SearchQuery,
  Snapshot,
  StoredRecord,
  StoredRequest,
  StorePosition,
} from "../../store/store.ts";
import { PostgresChangeSignal } from "./change-signal.ts";
import type { NamespaceHandle } from "./commit-batch.ts";
import { StaleNamespaceError } from "./commit-batch.ts";
import { dumpPage } from "./dump-records.ts";
import { healthOf, readSettings } from "./engine-health.ts";
import { clearSlice, loadRecords } from "./load-records.ts";
import { NamespaceHandles } from "./namespace-handles.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import { factsOf, PgNamespaceClock, readNamespace, withNamespace } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import { PointReads } from "./point-reads.ts";
import { PostgresConnections } from "./postgres-connections.ts";
import { countStatement, readPast, readStatement, toSnapshot } from "./read-entries.ts";
import { askForPage, isTooWide, logByKey, logByRevision, toLogPage } from "./read-log.ts";
import { compactSlice, hasSomethingToCompact, lockSpace, sweepLook, sweepSlice } from "./reclaim.ts";
import { replaceTexts } from "./replace-texts.ts";
import type { Tables } from "./schema.ts";
import { prepareStore, tablesIn } from "./schema.ts";
import { oldestVersion, openServerSession } from "./server.ts";
import type { ServerSettings } from "./server-settings.ts";
import { readServerSettings } from "./server-settings.ts";
import { SharedCommits } from "./shared-commits.ts";
import { texts } from "./sql-arrays.ts";
import { searchText } from "./text-index.ts";
import type { Transaction } from "./transaction.ts";
import { writeNamespace } from "./write-rows.ts";

export interface PostgresEngineOptions {
  readonly url: string;
  readonly log?: Log;
  /** False: a store that is not there yet is `not_found` instead of being made. */
  readonly creates?: boolean;
  /** Instead of the server's clock; only for tests, which own time. */
  readonly timeSource?: Clock;
  /** Steps of the schema, and the oldest server; others only in tests of the refusals. */
  readonly migrations?: readonly ((tables: Tables) => string)[];
  readonly oldestVersion?: number;
}

/** Opens the store, making its schema and tables first where there are none. Safe for any number of processes at once. */
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
  return new PostgresEngine(connections, settings, tables, options);
}

async function loadDriver(): Promise<typeof import("pg")> {
  try {
    return (await import("pg")).default as typeof import("pg");
  } catch (error) {
    throw new HoldfastError("store_unsupported", "The package pg, which speaks to PostgreSQL, is not installed.", { hint: "npm install pg", cause: error });
  }
}

class PostgresEngine implements Engine {
  readonly name = "postgres";
  readonly #connections: PostgresConnections;
  readonly #settings: ServerSettings;
  readonly #tables: Tables;
  readonly #clock: PgNamespaceClock;
  readonly #commits: SharedCommits;
  readonly #points: PointReads;
  readonly #changeSignal: PostgresChangeSignal;
  readonly #handles: NamespaceHandles;
  #wasAskedToListen = false;

  constructor(connections: PostgresConnections, settings: ServerSettings, tables: Tables, { timeSource, log = silentLog }: PostgresEngineOptions) {
    this.#connections = connections;
    this.#settings = settings;
    this.#tables = tables;
    this.#clock = new PgNamespaceClock(timeSource);
    this.#handles = new NamespaceHandles(connections, tables, this.#clock);
    this.#commits = new SharedCommits(connections, this.#handles, settings.deadlineMs, (namespace) => this.#changeSignal.notify(namespace));
    this.#points = new PointReads(connections, { tables, clock: this.#clock, readable: (answer, namespace) => this.#readable(answer, namespace) });
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

  async position(namespace: string): Promise<StorePosition> {
    const answer = await this.#connections.ask(readNamespace(this.#tables, this.#clock.parameters(namespace)));
    const { revision, nowMs } = this.#readable(answer, namespace);
    return { revision, nowMs };
  }

  async read(namespace: string, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
    const { at } = options;
    if (at !== undefined)
      return this.#connections.reading(async (ask) => {
        const [facts] = await ask([readNamespace(this.#tables, this.#clock.parameters(namespace))]);
        return readPast(ask, this.#tables, this.#readable(facts as StatementResult, namespace), at, ranges, options);
      });
    const key = ranges.length === 1 ? singleKey(ranges[0] as Range) : undefined;
    if (key !== undefined && !key.includes("\0")) return this.#points.read(namespace, key, options.values !== false);
    const answer = await this.#connections.ask(readStatement(this.#tables, this.#clock.parameters(namespace), ranges, options));
    return toSnapshot(answer, this.#readable(answer, namespace), options);
  }

  commit(namespace: string, commits: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
    return this.#commits.commit(namespace, commits);
  }

  async readRequest(namespace: string, key: string): Promise<StoredRequest | undefined> {
    const t = this.#tables;
    const answer = await this.#connections.ask({
      name: "request",
      text: `${withNamespace(t)} SELECT n.facts, r.fingerprint, r.outcome FROM n LEFT JOIN ${t.request} r ON r.ns = n.id AND r.key = $4 AND r.kept_until > n.now`,
      values: [...this.#clock.parameters(namespace), key],
    });
    this.#readable(answer, namespace);
    const [, fingerprint, outcome] = answer.rows[0] as unknown as [string, string | null, string];
    return fingerprint === null ? undefined : { fingerprint, outcome: JSON.parse(outcome) as Committed };
  }

  async log(namespace: string, query: LogQuery): Promise<LogPage> {
    const parameters = this.#clock.parameters(namespace);
    const byKey = query.narrow ? await askForPage(query, (count) => this.#connections.ask(logByKey(this.#tables, parameters, query, count))) : undefined;
    const isByKey = byKey !== undefined && !isTooWide(byKey);
    const answer = isByKey ? byKey : await askForPage(query, (count) => this.#connections.ask(logByRevision(this.#tables, parameters, query, count)));
    return toLogPage(answer, this.#readable(answer, namespace, false), query, isByKey);
  }

  async count(namespace: string, range: Range): Promise<number> {
    const answer = await this.#connections.ask(countStatement(this.#tables, this.#clock.parameters(namespace), range));
    this.#readable(answer, namespace);
    return answer.rows[0]?.[1] as unknown as number;
  }

  search(namespace: string, query: SearchQuery): Promise<SearchAnswer> {
    return this.#connections.reading((ask) => searchText(ask, this.#tables, this.#clock, namespace, query, (space) => this.#requireReadable(space, namespace)));
  }

  reindex(namespace: string, given: readonly NewText[]): Promise<number> {
    return this.#writing(namespace, (tx, namespaceHandle) => replaceTexts(tx, namespaceHandle, given));
  }

  onChange(namespace: string, notify: () => void): () => void {
    this.#wasAskedToListen = true;
    return this.#changeSignal.listen(namespace, notify);
  }

  async sweep(namespace: string, limit: number): Promise<number> {
    const look = await this.#connections.ask(sweepLook(this.#tables, this.#clock.parameters(namespace)));
    this.#clock.show(namespace, factsOf(look.rows, this.#clock, namespace));
    if ((look.rows[0]?.[1] as unknown as boolean) !== true) return 0;
    const swept = await this.#writing(namespace, (tx, namespaceHandle) => sweepSlice(tx, namespaceHandle, limit));
    if (swept > 0) this.#changeSignal.notify(namespace);
    return swept;
  }

  async compact(namespace: string, policy: RetentionPolicy, limit: number): Promise<Compacted> {
    const space = await this.#space(namespace);
    this.#clock.show(namespace, space);
    if (!(await hasSomethingToCompact((statement) => this.#connections.ask(statement), this.#tables, space, policy))) return { removed: 0, more: false };
    return this.#writing(namespace, (tx, namespaceHandle) => compactSlice(tx, namespaceHandle, policy, limit));
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
      const space = factsOf((facts as StatementResult).rows, this.#clock, namespace);
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

  dump(namespace: string, query: DumpQuery): Promise<DumpPage> {
    return this.#connections.reading((ask) => dumpPage(ask, this.#tables, this.#clock, namespace, query));
  }

  load(namespace: string, records: readonly StoredRecord[], facts?: NamespaceFacts, by?: string): Promise<void> {
    return this.#writing(namespace, (tx, namespaceHandle) => loadRecords(tx, namespaceHandle, records, facts, by));
  }

  async seal(namespace: string, seal: Seal | undefined, expected?: Seal): Promise<void> {
    await this.#writing(namespace, async (tx, namespaceHandle) => {
      const [space] = await lockSpace(tx, namespaceHandle);
      requireSeal(space.seal, expected);
      space.seal = seal;
      await tx.commit([writeNamespace(this.#tables, space)]);
    });
    this.#changeSignal.notify(namespace);
  }

  async clear(namespace: string): Promise<void> {
    while (await this.#writing(namespace, (tx, namespaceHandle) => clearSlice(tx, namespaceHandle)));
    this.#clock.forget(namespace);
    this.#handles.forget(namespace);
    this.#changeSignal.notify(namespace);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changeSignal.close();
    await this.#connections.close();
  }

  #readable(answer: StatementResult, namespace: string, showsTime = true): PgNamespaceRow {
    return this.#requireReadable(factsOf(answer.rows, this.#clock, namespace), namespace, showsTime);
  }

  #requireReadable(space: PgNamespaceRow, namespace: string, showsTime = true): PgNamespaceRow {
    requireUnsealed(space.seal, "read");
    this.#clock.seeRevision(namespace, space);
    if (showsTime) this.#clock.show(namespace, space);
    return space;
  }

  async #space(namespace: string): Promise<PgNamespaceRow> {
    return factsOf((await this.#connections.ask(readNamespace(this.#tables, this.#clock.parameters(namespace)))).rows, this.#clock, namespace);
  }

  /** Under the namespace's lock. */
  async #writing<T>(namespace: string, work: (tx: Transaction, namespaceHandle: NamespaceHandle) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const namespaceHandle = this.#handles.known(namespace) ?? (await this.#handles.require(namespace));
      const outcome = await this.#connections.writing(async (tx) => {
        try {
          return { result: await work(tx, namespaceHandle) };
        } catch (error) {
          if (error instanceof StaleNamespaceError) return { error };
          throw error;
        }
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
