import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { silentLog } from "../../kernel/log.ts";
import { shownUrl } from "../../kernel/store-url.ts";
import { noStoreError, requireUnsealed, revisionsUsedUp } from "../../store/engine-rules.ts";
import { compareKeys } from "../../store/ranges.ts";
import type {
  CommitResult,
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
import { RedisChangeSignal } from "./change-signal.ts";
import type { CommitDone, CommitReply } from "./commit-arguments.ts";
import { commitArguments, commitResults, partsOf } from "./commit-arguments.ts";
import { healthOf } from "./engine-health.ts";
import { filterOf, lexicalBounds, metaKey, namespacesKey, storeKey } from "./key-names.ts";
import { scriptArguments } from "./lua-script.ts";
import { clearAll, dumpPage, loadRecords, writeSeal } from "./moving.ts";
import type { NamespaceScripts } from "./namespace-scripts.ts";
import { ScriptRunner } from "./namespace-scripts.ts";
import { readLive, readPast, searchText } from "./read-entries.ts";
import { readLog } from "./read-log.ts";
import { encodeIndex, toRequest } from "./records.ts";
import type { Driver } from "./redis-connection.ts";
import { lostAnswer } from "./redis-errors.ts";
import { RedisRouter } from "./redis-router.ts";
import { changeMarkScript, commitScript, compactScript, countScript, positionScript, reindexScript, requestScript, sweepScript } from "./redis-scripts.ts";
import type { RedisSettings } from "./redis-url.ts";
import { parseRedisUrl } from "./redis-url.ts";

/** The version of the stored format. A store with a newer version is rejected. */
const schemaVersion = 1;

export interface RedisEngineOptions {
  readonly url: string;
  readonly log?: Log;
  /** False: if the store does not exist, throw `not_found` instead of creating it. */
  readonly creates?: boolean;
  /** Replaces the server's clock; only for tests, which control time. */
  readonly timeSource?: Clock;
}

export async function openRedisEngine({ url, log = silentLog, timeSource, creates = true }: RedisEngineOptions): Promise<Engine> {
  const settings = parseRedisUrl(url);
  const engine = new RedisEngine(await loadDriver(), settings, shownUrl(url), log, timeSource);
  try {
    await engine.ready(creates);
    return engine;
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    throw error;
  }
}

async function loadDriver(): Promise<Driver> {
  try {
    return await import("ioredis");
  } catch (cause) {
    throw new HoldfastError("store_unsupported", "The driver for Redis is not installed.", {
      hint: "Install it in the folder where Holdfast is installed: npm install ioredis@6",
      cause,
    });
  }
}

/** A server that does not respond while the store is opened is more likely a wrong address than one that is about to come back. */
const openMsMax = 3_000;

class RedisEngine implements Engine {
  readonly name = "redis";
  readonly #settings: RedisSettings;
  readonly #shownUrl: string;
  readonly #timeSource: Clock | undefined;
  readonly #router: RedisRouter;
  readonly #scripts: ScriptRunner;
  readonly #changeSignal: RedisChangeSignal;
  /** Namespaces known to be in the list. */
  readonly #listed = new Set<string>();
  #closed = false;

  constructor(driver: Driver, settings: RedisSettings, shown: string, log: Log, timeSource: Clock | undefined) {
    this.#settings = settings;
    this.#shownUrl = shown;
    this.#timeSource = timeSource;
    // A new connection may lead to a server that has lost the newest names of the list.
    this.#router = new RedisRouter(driver, settings, log, () => this.#listed.clear());
    this.#scripts = new ScriptRunner(this.#router, settings, timeSource);
    this.#changeSignal = new RedisChangeSignal(this.#router, settings, log);
  }

  /** Checks that every server is reachable and usable, and that the keys under the prefix belong to Holdfast, in a format that this build supports. */
  async ready(creates: boolean): Promise<void> {
    await this.#router.servers(performance.now() + Math.min(this.#settings.deadlineMs, openMsMax));
    const key = storeKey(this.#settings.prefix);
    const found = await this.#router.read(key, async (send) => {
      // Read first: a full Redis rejects even a write that changes nothing, and the stored data must stay readable.
      const stored = await send("hget", [key, "schema"]);
      if (stored !== null || !creates) return stored;
      await send("hsetnx", [key, "schema", String(schemaVersion)]);
      return send("hget", [key, "schema"]);
    });
    if (found === null) throw noStoreError();
    const version = Number(found);
    if (!Number.isSafeInteger(version) || version < 1)
      throw new HoldfastError("store_damaged", "The key that holds the store's schema version has an unexpected value. Nothing was overwritten.", {
        hint: "Another program may use the same prefix: choose another with prefix= in the store's URL.",
      });
    if (version > schemaVersion)
      throw new HoldfastError("store_newer", `The store has schema ${version}; this Holdfast knows schemas up to ${schemaVersion}. Nothing was changed.`, {
        hint: "Upgrade Holdfast, or choose another store with --store.",
        details: { schema_version: version, newest_known: schemaVersion },
      });
  }

  async position(namespace: string): Promise<StorePosition> {
    const scripts = this.#scripts.of(namespace);
    const [facts] = (await scripts.read(positionScript, scriptArguments(positionScript, {}))) as [string];
    const { revision, nowMs } = scripts.show(facts);
    return { revision, nowMs };
  }

  read(namespace: string, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
    const scripts = this.#scripts.of(namespace);
    return options.at === undefined ? readLive(scripts, ranges, options) : readPast(scripts, ranges, options.at, options);
  }

  async commit(namespace: string, batch: readonly PreparedCommit[]): Promise<readonly CommitResult[]> {
    const scripts = this.#scripts.of(namespace);
    await this.#list(namespace);
    const results: CommitResult[] = [];
    for (const part of partsOf(batch)) {
      try {
        results.push(...(await this.#commitPart(namespace, scripts, part)));
      } catch (error) {
        // Earlier parts have taken effect, so "nothing was changed" would be wrong for part of the batch.
        throw results.length === 0 ? error : lostAnswer(error);
      }
    }
    return results;
  }

  async #commitPart(namespace: string, scripts: NamespaceScripts, batch: readonly PreparedCommit[]): Promise<CommitResult[]> {
    const reply = (await scripts.write(commitScript, commitArguments(batch))) as CommitReply;
    if (reply[0] === "full") throw revisionsUsedUp();
    if (reply[0] === "sealed") {
      requireUnsealed(JSON.parse(reply[1] as string) as Seal, "commit");
      throw new HoldfastError("internal", "A namespace was refused because of a seal that forbids nothing.");
    }
    const [now, revision, raw, leapt] = reply as CommitDone;
    const nowMs = Number(now);
    // If part of the namespace was lost, its name in the list may be lost too.
    if (leapt === "1") this.#listed.delete(namespace);
    const before = this.#scripts.shownRevision(namespace);
    this.#scripts.noteShown(namespace, { revision: Number(revision), nowMs });
    // Callers of this commit get their answer first; watchers are notified a moment later.
    if (Number(revision) > before) setImmediate(() => this.#changeSignal.notify(namespace));
    if (leapt === "1") await this.#list(namespace).catch(() => {});
    return commitResults(batch, nowMs, raw);
  }

  async readRequest(namespace: string, key: string): Promise<StoredRequest | undefined> {
    const scripts = this.#scripts.of(namespace);
    const [facts, text] = (await scripts.read(requestScript, scriptArguments(requestScript, { key }))) as [string, string | null];
    scripts.show(facts);
    if (text === null) return undefined;
    const { fingerprint, outcome } = toRequest(text);
    return { fingerprint, outcome };
  }

  log(namespace: string, query: LogQuery): Promise<LogPage> {
    return readLog(this.#scripts.of(namespace), query);
  }

  async count(namespace: string, range: Range): Promise<number> {
    const scripts = this.#scripts.of(namespace);
    const [min, max] = lexicalBounds(range);
    const [facts, count] = (await scripts.read(countScript, scriptArguments(countScript, { min, max }, filterOf(range)))) as [string, string];
    scripts.show(facts);
    return Number(count);
  }

  search(namespace: string, query: SearchQuery): Promise<SearchAnswer> {
    return searchText(this.#scripts.of(namespace), query);
  }

  async reindex(namespace: string, texts: readonly NewText[]): Promise<number> {
    const args = scriptArguments(
      reindexScript,
      {},
      texts.flatMap(({ key, revision, index }) => [key, String(revision), encodeIndex(index)]),
    );
    const [replaced, now] = (await this.#scripts.of(namespace).write(reindexScript, args)) as [string, string];
    this.#scripts.noteShown(namespace, { revision: 0, nowMs: Number(now) });
    return Number(replaced);
  }

  onChange(namespace: string, notify: () => void): () => void {
    return this.#changeSignal.listen(namespace, notify);
  }

  async sweep(namespace: string, limit: number): Promise<number> {
    const [count, now] = (await this.#scripts.of(namespace).write(sweepScript, scriptArguments(sweepScript, { limit: String(limit) }))) as [string, string];
    this.#scripts.noteShown(namespace, { revision: 0, nowMs: Number(now) });
    const swept = Number(count);
    if (swept > 0) this.#changeSignal.notify(namespace);
    return swept;
  }

  async compact(namespace: string, policy: RetentionPolicy, limit: number): Promise<Compacted> {
    const { ageMs, revisions, tombstones } = policy;
    const args = scriptArguments(compactScript, { age_ms: String(ageMs), revisions: String(revisions), tombstones: String(tombstones), limit: String(limit) });
    const [removed, more, now] = (await this.#scripts.of(namespace).write(compactScript, args)) as [string, string, string];
    this.#scripts.noteShown(namespace, { revision: 0, nowMs: Number(now) });
    return { removed: Number(removed), more: more === "1" };
  }

  async namespaces(): Promise<readonly string[]> {
    const { prefix } = this.#settings;
    const key = namespacesKey(prefix);
    const names = (await this.#router.read(key, (send) => send("smembers", [key]))) as readonly string[];
    const used = await Promise.all(names.map((name) => this.#isUsed(name)));
    return names.filter((_, i) => used[i]).sort(compareKeys);
  }

  async #isUsed(namespace: string): Promise<boolean> {
    const key = metaKey(this.#settings.prefix, namespace);
    const [revision, seal] = (await this.#router.read(key, (send) => send("hmget", [key, "revision", "seal"]))) as [string | null, string | null];
    return Number(revision ?? 0) > 0 || seal !== null;
  }

  async health(namespace: string): Promise<EngineHealth> {
    const servers = await this.#router.servers();
    const scripts = this.#scripts.of(namespace);
    const shownRevision = this.#scripts.shownRevision(namespace);
    const startMs = performance.now();
    const [factsText, logRows, entries, tombstones, requests, serverNow] = (await scripts.read(changeMarkScript, [])) as [string, ...string[]];
    const roundTripMs = performance.now() - startMs;
    const clockDifferenceMs = this.#timeSource === undefined ? Math.round(Number(serverNow) + roundTripMs / 2 - Date.now()) : 0;
    return healthOf(
      servers,
      this.#settings,
      {
        facts: scripts.learn(factsText),
        logRows: Number(logRows),
        entries: Number(entries),
        tombstones: Number(tombstones),
        requests: Number(requests),
        roundTripMs: Math.round(roundTripMs * 100) / 100,
        clockDifferenceMs,
        shownRevision,
      },
      this.#shownUrl,
    );
  }

  async checkFiles(): Promise<readonly string[]> {
    return [];
  }

  dump(namespace: string, query: DumpQuery): Promise<DumpPage> {
    return dumpPage(this.#scripts.of(namespace), query);
  }

  async load(namespace: string, records: readonly StoredRecord[], facts?: NamespaceFacts, by?: string): Promise<void> {
    await this.#list(namespace);
    await loadRecords(this.#scripts.of(namespace), records, facts, by);
  }

  async seal(namespace: string, seal: Seal | undefined, expected?: Seal): Promise<void> {
    await this.#list(namespace);
    await writeSeal(this.#scripts.of(namespace), seal, expected);
    this.#changeSignal.notify(namespace);
  }

  async clear(namespace: string): Promise<void> {
    await clearAll(() => this.#scripts.of(namespace));
    this.#scripts.forget(namespace);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#changeSignal.close();
    this.#router.close();
  }

  /**
   * A namespace is listed before it gets data: in a cluster the two are in different slots, and an unlisted namespace would never be swept. Listing it twice does no
   * harm.
   */
  async #list(namespace: string): Promise<void> {
    if (this.#listed.has(namespace)) return;
    const key = namespacesKey(this.#settings.prefix);
    // Read first: a full Redis rejects even a write that changes nothing, and it must remain possible to move the stored data away.
    await this.#router.read(key, async (send) => (await send("sismember", [key, namespace])) === 1 || send("sadd", [key, namespace]));
    this.#listed.add(namespace);
  }
}
