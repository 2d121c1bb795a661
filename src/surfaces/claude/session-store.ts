import { hostname } from "node:os";
import { systemClock } from "../../kernel/clock.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Holdfast } from "../library/holdfast.ts";
import { requireWait } from "../library/require-wait.ts";
import type { ClaudeSessionEntry, ClaudeSessionKey, ClaudeSessionStore, ClaudeSessionSummary, FoldSessionSummary } from "./session-contract.ts";
import type { SessionHoldOptions } from "./session-hold.ts";
import { summaryIn, Transcript } from "./transcript.ts";
import type { TranscriptHead } from "./transcript-head.ts";
import { readTranscriptHead } from "./transcript-head.ts";
import { mainHeads, sessionKeysOf } from "./transcript-keys.ts";
import { WorkSession } from "./work-session.ts";

export interface SessionStoreOptions {
  /** Shown to other hosts as the holder of a session; the machine's name by default. */
  readonly host?: string;
  /** How long a session stays with a host that stopped answering; 30 seconds by default. The lease is renewed after a third of this time. */
  readonly leaseMs?: number;
  /** How long `load` waits for a session that another host holds; no wait by default. The SDK gives up after its `loadTimeoutMs`. */
  readonly waitMs?: number;
  /** Another host has taken the session over: stop the query. Batches of it are refused with `lease_lost`. */
  readonly onLost?: (lost: { readonly projectKey: string; readonly sessionId: string; readonly heldBy: string | undefined }) => void;
  /** The SDK's function of this name. With it, the store keeps the summaries that the SDK's `listSessions` shows, and need not load every session for a list. */
  readonly foldSessionSummary?: FoldSessionSummary;
  /** For tests; must be monotonic. */
  readonly clock?: SessionHoldOptions["clock"];
}

const leaseMsDefault = 30_000;
const listPage = 500;
const listedMax = 10_000;
/** Sessions held at one time; one more releases the one that was used longest ago. */
const heldMax = 256;
/** Sessions that the store remembers to have worked on, so that it can refuse their stale batches. */
const rememberedMax = 10_000;

/** Background renewals must not keep a finished program running. */
const restingClock: SessionHoldOptions["clock"] = { nowMs: () => performance.now(), sleep: systemClock.rest };

/**
 * A session store for the Claude Agent SDK: `query({ prompt, options: { sessionStore: store, resume: sessionId } })`. `load` begins to work on a session and
 * holds it; so does the first batch of a new one. Until `release`, `close` or the end of the process, other stores cannot continue it.
 */
export class HoldfastSessionStore implements ClaudeSessionStore, AsyncDisposable {
  readonly #holdfast: Pick<Holdfast, "state" | "leases">;
  readonly #options: SessionStoreOptions;
  readonly #hold: Omit<SessionHoldOptions, "onTaken">;
  /** The one that was used longest ago comes first. */
  readonly #sessions = new Map<string, WorkSession>();
  #isClosed = false;
  /** Reads without holding anything, for lists, viewers and forks: pass it as `sessionStore` where nothing is continued. It refuses changes. */
  readonly reader: ClaudeSessionStore;
  readonly listSessionSummaries?: (projectKey: string) => Promise<ClaudeSessionSummary[]>;

  constructor(holdfast: Pick<Holdfast, "state" | "leases">, options: SessionStoreOptions = {}) {
    this.#holdfast = holdfast;
    this.#options = options;
    const host = options.host ?? hostname();
    if (typeof host !== "string" || host === "" || host.length > 100 || !host.isWellFormed()) throw invalidInput("host", "must be a name of 1 to 100 characters");
    const ttlMs = options.leaseMs ?? leaseMsDefault;
    if (!(ttlMs >= 1_000 && ttlMs <= 3_600_000)) throw invalidInput("leaseMs", "must be a number of milliseconds from 1000 to 3600000");
    const waitMs = requireWait(options.waitMs ?? 0, "waitMs");
    // Two stores are two holders even if they run on one host or under one name.
    this.#hold = { holder: `${host} (${randomHex(8)})`, ttlMs, waitMs, clock: options.clock ?? restingClock };
    if (options.foldSessionSummary !== undefined) this.listSessionSummaries = (projectKey) => this.#summaries(projectKey);
    this.reader = {
      append: () => Promise.reject(readOnly()),
      delete: () => Promise.reject(readOnly()),
      load: (key) => this.#read(key),
      listSessions: (projectKey) => this.listSessions(projectKey),
      listSubkeys: (key) => this.listSubkeys(key),
      ...(this.listSessionSummaries === undefined ? {} : { listSessionSummaries: this.listSessionSummaries }),
    };
  }

  /** The name under which other stores see this one as the holder of a session. */
  get holder(): string {
    return this.#hold.holder;
  }

  async append(key: ClaudeSessionKey, entries: readonly ClaudeSessionEntry[]): Promise<void> {
    await this.#session(key).append(key.subpath, entries);
    await this.#releaseIdle();
  }

  async load(key: ClaudeSessionKey): Promise<ClaudeSessionEntry[] | null> {
    // The SDK loads subagents' transcripts after the main one, under whose lease they are.
    if (key.subpath !== undefined) return this.#read(key);
    const entries = await this.#session(key).load();
    await this.#releaseIdle();
    return entries;
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return (await this.#heads(mainHeads(projectKey))).map(({ head, mtime }) => ({ sessionId: head.sessionId, mtime }));
  }

  async delete(key: ClaudeSessionKey): Promise<void> {
    await this.#session(key).delete(key.subpath);
  }

  async listSubkeys(key: { readonly projectKey: string; readonly sessionId: string }): Promise<string[]> {
    return (await this.#heads(sessionKeysOf(key).subheads)).map(({ head }) => head.subpath as string);
  }

  /** Stores batches that could not be stored before. Batches that failed are also stored with the next `append` of their session. */
  async flush(): Promise<void> {
    await settled([...this.#sessions.values()].map((session) => session.flush()));
  }

  /** The host is done with a session: other hosts can continue it at once. */
  async release(sessionId: string): Promise<void> {
    await settled([...this.#sessions.values()].filter((session) => session.sessionId === sessionId).map((session) => session.release()));
  }

  /** Releases every session. Rejects if batches could not be stored. The Holdfast it was given stays open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await settled([...this.#sessions.values()].map((session) => session.release()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #read(key: ClaudeSessionKey): Promise<ClaudeSessionEntry[] | null> {
    return (await new Transcript(this.#holdfast.state, sessionKeysOf(key), key.subpath, undefined).read()) ?? null;
  }

  #session(key: ClaudeSessionKey): WorkSession {
    const keys = sessionKeysOf(key);
    if (this.#isClosed) throw new HoldfastError("cancelled", "The session store is closed; nothing was changed.");
    const session =
      this.#sessions.get(keys.resource) ??
      new WorkSession(this.#holdfast, keys, this.#options.foldSessionSummary, {
        ...this.#hold,
        onTaken: (heldBy) => this.#options.onLost?.({ projectKey: keys.projectKey, sessionId: keys.sessionId, heldBy }),
      });
    this.#sessions.delete(keys.resource);
    this.#sessions.set(keys.resource, session);
    return session;
  }

  async #releaseIdle(): Promise<void> {
    const idle = [...this.#sessions].filter(([, session]) => session.isIdle);
    const held = idle.filter(([, session]) => session.isHeld);
    for (const [, session] of held.slice(0, Math.max(0, held.length - heldMax))) await session.release();
    for (const [resource] of idle.filter(([, session]) => !session.isHeld).slice(0, Math.max(0, this.#sessions.size - rememberedMax))) this.#sessions.delete(resource);
  }

  async #summaries(projectKey: string): Promise<ClaudeSessionSummary[]> {
    return (await this.#heads(mainHeads(projectKey))).flatMap(({ head, mtime }) => summaryIn(head, mtime) ?? []);
  }

  async #heads(prefix: string): Promise<{ readonly head: TranscriptHead; readonly mtime: number }[]> {
    const heads: { head: TranscriptHead; mtime: number }[] = [];
    for (let after: string | undefined; ; ) {
      const page = await this.#holdfast.state.list({ prefix, limit: listPage, after });
      for (const { key, value, updatedAtMs } of page.entries) {
        const head = readTranscriptHead(value, key);
        // A first batch whose last commit is still to come.
        if (head.entries > 0) heads.push({ head, mtime: Math.floor(updatedAtMs) });
      }
      after = page.entries.at(-1)?.key;
      if (!page.more || after === undefined) return heads;
      if (heads.length >= listedMax)
        throw new HoldfastError("limit_exceeded", `A list may have ${listedMax} transcripts; this one has more.`, { hint: "Delete old sessions, or use several project keys." });
    }
  }
}

const readOnly = (): HoldfastError => new HoldfastError("read_only", "This is the store's reader; nothing was changed.", { hint: "Pass the store itself to change sessions." });

/** Waits for all, then throws the first failure. */
async function settled(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
