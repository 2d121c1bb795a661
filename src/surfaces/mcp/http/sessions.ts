import { createHash } from "node:crypto";
import { mcpSessionKeys } from "../../../domain/keyspace.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { HoldfastError } from "../../../kernel/errors.ts";
import { randomBase64Url } from "../../../kernel/ids.ts";
import type { Log } from "../../../kernel/log.ts";
import { keyRange } from "../../../store/ranges.ts";
import type { Entry, Revision, Store } from "../../../store/store.ts";
import { systemWriter } from "../../../store/store.ts";
import { transact } from "../../../store/transact.ts";
import { Subscriptions, subscribedUrisMax } from "../subscriptions.ts";

/** A session that nobody uses is forgotten after this; its client then shakes hands again. */
export const sessionTtlMs = 24 * 3_600_000;
/** One caller's open sessions; a client that opens one after the other and never says goodbye loses its oldest ones. */
export const sessionsPerCallerMax = 1_000;
/** So many of them go at once, so that not every further one has to look for the oldest. */
const forgottenAtOnce = 100;
/** What one node ended may live on so long in the memory of another. */
export const sessionKnownMs = 5_000;
const sessionsKnownMax = 10_000;
const streamsWatchedMax = 65_536;

/** What a session of the handshake era holds: which resources it wants to hear about since which revision. Whose it is stands in its key. */
interface SessionRecord {
  readonly uris: readonly (readonly [uri: string, since: Revision])[];
}

/** Somebody's open session. */
export interface Session {
  /** Secret: whoever knows it and has the caller's credential is the session. */
  readonly id: string;
  /** Beside the writer in what is stored; tells nothing of the id. */
  readonly label: string;
}

interface Known {
  readonly session: Session;
  readonly caller: string;
  checkedAtMs: number;
}

/** Told when a followed session was changed or ended, by whichever node. */
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
 * The sessions of the handshake era, kept in the store so that any node can answer for any of them. A session is bound to its caller:
 * the id alone opens nothing, and one of somebody else is as unknown as one that never was. Ids are stored as digests only.
 */
export class Sessions {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #followers: Subscriptions;
  /** The longest known first. */
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

  async open(caller: string): Promise<Session> {
    const session = sessionOf(randomBase64Url(32));
    if ((await this.#store.count(mcpSessionKeys.of(caller))) >= sessionsPerCallerMax) await this.#forgetOldest(caller);
    await this.#store.commit({ writes: [this.#put(session, caller, [])], writer: systemWriter });
    this.#remember(session, caller);
    return session;
  }

  /** The caller's session of this id; undefined where it has none. At once for one that was looked at a moment ago. */
  find(id: string, caller: string): Session | undefined | Promise<Session | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined && this.#clock.nowMs() - known.checkedAtMs < sessionKnownMs) return known.caller === caller ? known.session : undefined;
    return this.#look(id, caller);
  }

  /** The resources the session wants to hear about; undefined when it has ended. */
  async read({ id }: Session, caller: string): Promise<SessionUris | undefined> {
    const entry = await this.#entry(id, caller);
    return entry && new Map(recordOf(entry).uris);
  }

  /** From the revision on: what changes later will be told, on whichever node the session's stream is. */
  async subscribe(session: Session, caller: string, uri: string, since: Revision): Promise<void> {
    await this.#change(session, caller, (uris) => {
      if (uris.some(([known]) => known === uri)) return undefined;
      if (uris.length >= subscribedUrisMax) throw new HoldfastError("limit_exceeded", `One session may subscribe to ${subscribedUrisMax} resources.`);
      return [...uris, [uri, since]];
    });
  }

  async unsubscribe(session: Session, caller: string, uri: string): Promise<void> {
    await this.#change(session, caller, (uris) => (uris.some(([known]) => known === uri) ? uris.filter(([known]) => known !== uri) : undefined));
  }

  /** False where there was none. */
  async end(id: string, caller: string): Promise<boolean> {
    const session = await this.find(id, caller);
    if (session === undefined) return false;
    this.#known.delete(id);
    await this.#store.commit({ writes: [{ op: "delete", key: mcpSessionKeys.key(caller, id) }], writer: systemWriter });
    return true;
  }

  /** Resolves when every later change of the session will be told. */
  async follow({ id }: Session, caller: string, follower: SessionFollower): Promise<void> {
    await this.#followers.add(follower, [mcpSessionKeys.key(caller, id)]);
  }

  unfollow(follower: SessionFollower): void {
    this.#followers.remove(follower);
  }

  close(): void {
    this.#followers.close();
  }

  async #look(id: string, caller: string): Promise<Session | undefined> {
    const entry = await this.#entry(id, caller);
    if (entry === undefined) {
      if (this.#known.get(id)?.caller === caller) this.#known.delete(id);
      return undefined;
    }
    const session = sessionOf(id);
    this.#remember(session, caller);
    // In use: its time begins anew, but not with every request. Whoever changes it in this moment renews it too.
    if ((entry.expiresAtMs as number) - this.#clock.nowMs() < sessionTtlMs / 2)
      await this.#store.commit({ checks: [{ key: entry.key, version: entry.version }], writes: [this.#put(session, caller, recordOf(entry).uris)], writer: systemWriter });
    return session;
  }

  async #entry(id: string, caller: string): Promise<Entry | undefined> {
    if (!/^[\w-]{43}$/.test(id)) return undefined;
    const { entries } = await this.#store.read(keyRange(mcpSessionKeys.key(caller, id)));
    return entries[0];
  }

  async #change(session: Session, caller: string, decide: (uris: SessionRecord["uris"]) => SessionRecord["uris"] | undefined): Promise<void> {
    await transact<null, void>(
      { store: this.#store, clock: this.#clock, writer: systemWriter },
      {
        decide: async () => {
          const entry = await this.#entry(session.id, caller);
          if (entry === undefined) throw new HoldfastError("not_found", "The session has ended.");
          const uris = decide(recordOf(entry).uris);
          if (uris === undefined) return { answer: undefined };
          return { checks: [{ key: entry.key, version: entry.version }], writes: [this.#put(session, caller, uris)], note: null };
        },
        finish: () => {},
      },
    );
  }

  /** Those unused for longest: a session in use is written again now and then. */
  async #forgetOldest(caller: string): Promise<void> {
    const { entries } = await this.#store.read(mcpSessionKeys.of(caller), { limit: sessionsPerCallerMax, values: false });
    const oldest = entries.toSorted((one, other) => one.updatedAtMs - other.updatedAtMs).slice(0, forgottenAtOnce);
    await this.#store.commit({ writes: oldest.map(({ key }) => ({ op: "delete", key })), writer: systemWriter });
  }

  #put({ id }: Session, caller: string, uris: SessionRecord["uris"]) {
    return { op: "put", key: mcpSessionKeys.key(caller, id), value: { uris: uris.map(([uri, since]) => [uri, since]) }, ttlMs: sessionTtlMs } as const;
  }

  #remember(session: Session, caller: string): void {
    this.#known.delete(session.id);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= sessionsKnownMax && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(session.id, { session, caller, checkedAtMs: this.#clock.nowMs() });
  }
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
const sessionOf = (id: string): Session => ({ id, label: `session-${digest(id).slice(0, 12)}` });
const recordOf = ({ value }: Entry): SessionRecord => value as unknown as SessionRecord;
