import { createHash } from "node:crypto";
import { mcpSessionKeys } from "../../../domain/keyspace.ts";
import { number, object, storedAs, string } from "../../../domain/stored-record.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { HoldfastError } from "../../../kernel/errors.ts";
import { randomBase64Url } from "../../../kernel/ids.ts";
import type { Log } from "../../../kernel/log.ts";
import { limits } from "../../../store/limits.ts";
import { keyRange, rangeAfter } from "../../../store/ranges.ts";
import type { Entry, Put, Range, Revision, Store } from "../../../store/store.ts";
import { systemWriter } from "../../../store/store.ts";
import { transact } from "../../../store/transact.ts";
import { Subscriptions, subscribedBytesMax, subscribedBytesOf, subscribedUrisMax } from "../subscriptions.ts";

/** An unused session expires after this time; its client then repeats the handshake. */
export const sessionTtlMs = 24 * 3_600_000;
/** One principal's open sessions in all namespaces. A client that opens sessions without ending them loses its oldest ones. */
export const sessionsPerPrincipalMax = 1_000;
/** The total size of all subscriptions of one principal's sessions; see `subscribedBytesOf`. */
export const subscribedBytesPerPrincipalMax = 4_194_304;
/** This many are removed at once, so that not every new session has to search for the oldest. */
const forgottenAtOnce = 100;
/** A session that one node ended may stay cached on another for this long. */
export const sessionKnownMs = 5_000;
const sessionsKnownMax = 10_000;
const streamsWatchedMax = 65_536;

/** A stored session of the handshake era: the size of its subscriptions. Its owner is part of its key; its subscriptions are separate entries. */
interface SessionRecord {
  readonly count: number;
  readonly bytes: number;
}

/** A resource that a session subscribed to, and the revision since when. */
interface SubscriptionRecord {
  readonly uri: string;
  readonly since: Revision;
}

/** The sessions' owner: a principal (`owner`) in one namespace (`key`). */
export interface SessionCaller {
  readonly key: string;
  readonly owner?: string;
}

/** An open session of one principal. */
export interface McpSession {
  /** Secret: together with the caller's credential it gives access to the session. */
  readonly id: string;
  /** Stored beside the writer; reveals nothing about the id. */
  readonly label: string;
}

interface Known {
  readonly session: McpSession;
  readonly caller: string;
  checkedAtMs: number;
}

/** `known`: already subscribed. Returning undefined changes nothing. */
type Decide = (known: boolean, record: SessionRecord) => Decided | undefined | Promise<Decided | undefined>;
type Decided = SessionRecord & { readonly put?: SubscriptionRecord };

/** Notified when any node changed or ended a followed session. */
export interface SessionFollower {
  sessionChanged(): void;
}

export type SessionUris = ReadonlyMap<string, Revision>;

interface SessionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The sessions of the handshake era, kept in the store so that any node can serve any of them. A session is bound to its caller:
 * the id alone gives no access, and another principal's id is treated like an unknown one. Only digests of ids are stored.
 */
export class McpSessions {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #followers: Subscriptions;
  /** Oldest first. */
  readonly #known = new Map<string, Known>();

  constructor({ store, clock, log }: SessionsOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#followers = new Subscriptions({
      base: { store, clock },
      log,
      notify: (_, followers) => {
        for (const follower of followers) (follower as SessionFollower).sessionChanged();
      },
      urisMax: streamsWatchedMax,
      watched: { range: mcpSessionKeys.all, nameOf: (key) => key, nameOfKey: (key) => key },
    });
  }

  async open(caller: SessionCaller): Promise<McpSession> {
    const session = sessionOf(randomBase64Url(32));
    const owned = mcpSessionKeys.of(ownerOf(caller));
    if ((await this.#store.count(owned)) >= sessionsPerPrincipalMax) await this.#forgetOldest(owned);
    await this.#store.commit({ writes: [sessionPut(keyOf(session.id, caller), { count: 0, bytes: 0 }, sessionTtlMs)], writer: systemWriter });
    this.#remember(session, caller);
    return session;
  }

  /** The caller's session with this id; undefined if there is none. Returns immediately if it was checked a moment ago. */
  find(id: string, caller: SessionCaller): McpSession | undefined | Promise<McpSession | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined && this.#clock.nowMs() - known.checkedAtMs < sessionKnownMs) return known.caller === caller.key ? known.session : undefined;
    return this.#look(id, caller);
  }

  /** The resources the session subscribed to; undefined if it has ended. */
  async read({ id }: McpSession, caller: SessionCaller): Promise<SessionUris | undefined> {
    const entry = await this.#entry(id, caller);
    if (entry === undefined) return undefined;
    const uris = new Map<string, Revision>();
    for await (const entries of this.#subscriptions(entry.key)) for (const { uri, since } of entries.map(toSubscription)) uris.set(uri, since);
    return uris;
  }

  /** Changes after this revision are reported, whichever node has the session's stream. */
  async subscribe(session: McpSession, caller: SessionCaller, uri: string, since: Revision): Promise<void> {
    const bytes = subscribedBytesOf(uri);
    await this.#change(session, caller, uri, async (known, record) => {
      if (known) return undefined;
      if (record.count >= subscribedUrisMax) throw tooMuch(`One session may subscribe to ${subscribedUrisMax} resources.`);
      if (record.bytes + bytes > subscribedBytesMax)
        throw tooMuch(`The URIs that one session subscribes to may have ${subscribedBytesMax} bytes, 64 counted for each beside its own.`);
      if ((await this.#bytesOf(ownerOf(caller))) + bytes > subscribedBytesPerPrincipalMax)
        throw tooMuch(`The URIs that all your sessions subscribe to may have ${subscribedBytesPerPrincipalMax} bytes, 64 counted for each beside its own.`);
      return { count: record.count + 1, bytes: record.bytes + bytes, put: { uri, since } };
    });
  }

  async unsubscribe(session: McpSession, caller: SessionCaller, uri: string): Promise<void> {
    await this.#change(session, caller, uri, (known, record) => (known ? { count: record.count - 1, bytes: record.bytes - subscribedBytesOf(uri) } : undefined));
  }

  /** False: there was no such session. */
  async end(id: string, caller: SessionCaller): Promise<boolean> {
    const session = await this.find(id, caller);
    if (session === undefined) return false;
    this.#known.delete(id);
    await this.#delete([keyOf(id, caller)]);
    return true;
  }

  /** Resolves when every later change will be reported to the session. */
  async follow({ id }: McpSession, caller: SessionCaller, follower: SessionFollower): Promise<void> {
    await this.#followers.add(follower, [keyOf(id, caller)]);
  }

  unfollow(follower: SessionFollower): void {
    this.#followers.remove(follower);
  }

  close(): void {
    this.#followers.close();
  }

  async #look(id: string, caller: SessionCaller): Promise<McpSession | undefined> {
    const entry = await this.#entry(id, caller);
    if (entry === undefined) {
      if (this.#known.get(id)?.caller === caller.key) this.#known.delete(id);
      return undefined;
    }
    const session = sessionOf(id);
    this.#remember(session, caller);
    // The session is in use: extend its lifetime, but not with every request.
    if ((entry.expiresAtMs as number) - this.#clock.nowMs() < sessionTtlMs / 2) await this.#renew(entry);
    return session;
  }

  /** Subscriptions live twice as long, so that they are renewed in time however late the session was used. */
  async #renew(entry: Entry): Promise<void> {
    const { key, version } = entry;
    const renewed = await this.#store.commit({ checks: [{ key, version }], writes: [sessionPut(key, toSessionRecord(entry), sessionTtlMs)], writer: systemWriter });
    // Another node has renewed the session, or it was just changed.
    if (!renewed.ok) return;
    for await (const entries of this.#subscriptions(key)) {
      const checks = entries.map((each) => ({ key: each.key, version: each.version }));
      const writes = entries.map((each) => subscriptionPut(each.key, toSubscription(each)));
      if (writes.length > 0) await this.#store.commit({ checks, writes, writer: systemWriter });
    }
  }

  async #entry(id: string, caller: SessionCaller): Promise<Entry | undefined> {
    if (!/^[\w-]{43}$/.test(id)) return undefined;
    const { entries } = await this.#store.read(keyRange(keyOf(id, caller)));
    return entries[0];
  }

  /** Pages of as many entries as one commit can write. */
  async *#subscriptions(sessionKey: string, values = true): AsyncGenerator<readonly Entry[]> {
    const all = mcpSessionKeys.subscriptions(sessionKey);
    for (let rest = all, more = true; more; ) {
      const page = await this.#store.read(rest, { limit: limits.commitWritesMax, values });
      yield page.entries;
      more = page.more;
      rest = rangeAfter(all, page.entries.at(-1)?.key ?? "");
    }
  }

  async #bytesOf(owner: string): Promise<number> {
    const { entries } = await this.#store.read(mcpSessionKeys.of(owner), { limit: limits.readEntriesMax });
    return entries.reduce((sum, entry) => sum + toSessionRecord(entry).bytes, 0);
  }

  async #change(session: McpSession, caller: SessionCaller, uri: string, decide: Decide): Promise<void> {
    await transact<null, void>(
      { store: this.#store, clock: this.#clock, writer: systemWriter },
      {
        decide: async () => {
          const key = keyOf(session.id, caller);
          const subscription = mcpSessionKeys.subscription(key, uri);
          const { entries, nowMs } = await this.#store.read([keyRange(key), keyRange(subscription)]);
          const entry = entries.find((each) => each.key === key);
          if (entry === undefined) throw new HoldfastError("not_found", "The session has ended.");
          const next = await decide(
            entries.some((each) => each.key === subscription),
            toSessionRecord(entry),
          );
          if (next === undefined) return { answer: undefined };
          const { put, ...record } = next;
          const write = put === undefined ? ({ op: "delete", key: subscription } as const) : subscriptionPut(subscription, put);
          // Using the session renews it and its earlier subscriptions; this write does not.
          const leftMs = Math.max(1, (entry.expiresAtMs as number) - nowMs);
          return { checks: [{ key, version: entry.version }], writes: [sessionPut(key, record, leftMs), write], note: null };
        },
        finish: () => {},
      },
    );
  }

  /** Removes the sessions unused for longest. A session in use is rewritten now and then, so its update time shows use. */
  async #forgetOldest(owned: Range): Promise<void> {
    const { entries } = await this.#store.read(owned, { limit: sessionsPerPrincipalMax, values: false });
    const oldest = entries.toSorted((one, other) => one.updatedAtMs - other.updatedAtMs).slice(0, forgottenAtOnce);
    await this.#delete(oldest.map(({ key }) => key));
  }

  async #delete(sessionKeys: readonly string[]): Promise<void> {
    await this.#store.commit({ writes: sessionKeys.map((key) => ({ op: "delete", key })), writer: systemWriter });
    for (const sessionKey of sessionKeys)
      for await (const entries of this.#subscriptions(sessionKey, false))
        if (entries.length > 0) await this.#store.commit({ writes: entries.map(({ key }) => ({ op: "delete", key })), writer: systemWriter });
  }

  #remember(session: McpSession, caller: SessionCaller): void {
    this.#known.delete(session.id);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= sessionsKnownMax && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(session.id, { session, caller: caller.key, checkedAtMs: this.#clock.nowMs() });
  }
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
const sessionOf = (id: string): McpSession => ({ id, label: `session-${digest(id).slice(0, 12)}` });
const ownerOf = ({ owner, key }: SessionCaller): string => owner ?? key;
const keyOf = (id: string, caller: SessionCaller): string => mcpSessionKeys.key(ownerOf(caller), caller.key, id);
const toSessionRecord = storedAs(object<SessionRecord>({ count: number, bytes: number }));
const toSubscription = storedAs(object<SubscriptionRecord>({ uri: string, since: number }));
const sessionPut = (key: string, { count, bytes }: SessionRecord, ttlMs: number): Put => ({ op: "put", key, value: { count, bytes }, ttlMs });
const subscriptionPut = (key: string, { uri, since }: SubscriptionRecord): Put => ({ op: "put", key, value: { uri, since }, ttlMs: 2 * sessionTtlMs });
const tooMuch = (problem: string): HoldfastError => new HoldfastError("limit_exceeded", problem, { hint: "Unsubscribe from resources you no longer need." });
