import type { ServerResponse } from "node:http";
import type { Log } from "../../../kernel/log.ts";
import type { Revision } from "../../../store/store.ts";
import { eventOf, startEvents } from "./answer-http.ts";
import { DueUpdates } from "./due-updates.ts";
import type { McpContext } from "./mcp-contexts.ts";
import type { McpSession, McpSessions, SessionFollower } from "./mcp-sessions.ts";
import { missedChanges } from "./missed-changes.ts";
import type { ResourceHubs, UpdateListener } from "./resource-hubs.ts";

const keepAliveMs = 15_000;
/** An open stream counts as use of its session, recorded this often. */
const touchEveryBeats = 40;

interface SessionStreamOptions {
  readonly session: McpSession;
  readonly context: McpContext;
  readonly sessions: McpSessions;
  readonly hubs: ResourceHubs;
  readonly response: ServerResponse;
  readonly log: Log;
  /** The last event that the client saw on an earlier stream of the session, on any node. */
  readonly resumeAfter?: Revision;
  /** Sends the client a position to resume from at once; clients before 2025-11-25 cannot read it. */
  readonly primes: boolean;
}

/**
 * The GET stream of a session: reports changes to the resources it subscribed to. Subscriptions are read from the store and followed there,
 * so requests and stream may be on different nodes. An event's id is a revision up to which everything has been reported. A client that reconnects with it
 * receives the changes it missed.
 */
export class SessionStream implements SessionFollower, UpdateListener {
  readonly #options: SessionStreamOptions;
  readonly #due: DueUpdates;
  readonly #closed: Promise<void>;
  #heard: ReadonlySet<string> = new Set();
  #order: Promise<void> = Promise.resolve();
  #isRereading = false;
  #resumeAfter: Revision;
  #beats = 0;

  constructor(options: SessionStreamOptions) {
    this.#options = options;
    const { response, resumeAfter = 0 } = options;
    this.#resumeAfter = resumeAfter;
    this.#due = new DueUpdates(response, (updates) => this.#write(updates));
    this.#closed = new Promise((resolve) => response.once("close", resolve));
  }

  /** Resolves when either side has ended the stream. */
  async serve(): Promise<void> {
    const { session, sessions, hubs, context, response } = this.#options;
    startEvents(response, { "mcp-session-id": session.id });
    const heartbeat = setInterval(() => this.#beat(), keepAliveMs);
    heartbeat.unref();
    try {
      await sessions.follow(session, context.access, this);
      await this.#guarded(() => this.#begin());
      await this.#closed;
    } catch (error) {
      this.#fail(error);
    } finally {
      clearInterval(heartbeat);
      sessions.unfollow(this);
      hubs.remove(context.access.base, this);
    }
  }

  end(): void {
    const { response } = this.#options;
    if (!response.destroyed && !response.writableEnded) response.end();
  }

  get caller(): string {
    return this.#options.context.access.key;
  }

  onUpdate(uri: string, revision: Revision): void {
    this.#due.add(uri, revision);
  }

  sessionChanged(): void {
    // A read that is still queued will also see changes made until it runs.
    if (this.#isRereading) return;
    this.#isRereading = true;
    void this.#guarded(() => {
      this.#isRereading = false;
      return this.#hear();
    });
  }

  async #begin(): Promise<void> {
    const { context, response, primes } = this.#options;
    const { revision } = await context.access.base.store.position();
    // A revision that does not exist yet: the store was restored to an earlier state.
    if (this.#resumeAfter > revision) this.#resumeAfter = 0;
    await this.#hear();
    // Sent after the missed changes: a client that has seen this id has seen those too.
    if (primes && !response.destroyed && !response.writableEnded) setImmediate(() => this.#writeText(`id: ${revision}\ndata: \n\n`));
  }

  /** Updates the watched resources to match the session's subscriptions. */
  async #hear(): Promise<void> {
    const { session, sessions, hubs, context, response } = this.#options;
    const { base } = context.access;
    const wanted = await sessions.read(session, context.access);
    if (wanted === undefined) return this.end();
    hubs.remove(
      base,
      this,
      [...this.#heard].filter((uri) => !wanted.has(uri)),
    );
    const added = [...wanted].filter(([uri]) => !this.#heard.has(uri) && context.resources.target(uri) !== undefined);
    this.#heard = new Set(wanted.keys());
    if (added.length === 0 || response.destroyed) return;
    const through = await hubs.add(
      base,
      this,
      added.map(([uri]) => uri),
    );
    const since = new Map(added.map(([uri, subscribed]) => [uri, Math.max(subscribed, this.#resumeAfter)]));
    for (const [uri, revision] of await missedChanges(base.store, since, through)) this.onUpdate(uri, revision);
  }

  /** Runs one at a time. */
  #guarded(work: () => Promise<void>): Promise<void> {
    this.#order = this.#order.then(work).catch((error) => this.#fail(error));
    return this.#order;
  }

  /** Ends the stream; the client will open another one. */
  #fail(error: unknown): void {
    this.#options.log("warn", "session_stream_failed", { problem: String(error) });
    this.end();
  }

  #write(updates: readonly (readonly [uri: string, revision: Revision])[]): void {
    const events = updates.map(([uri, revision], i) => {
      const line = JSON.stringify({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
      // Only the last event of a revision may carry its id: a client that saw only part of it must not resume after it.
      return eventOf(line, updates[i + 1]?.[1] === revision ? undefined : revision);
    });
    this.#writeText(events.join(""));
  }

  #writeText(text: string): void {
    const { response } = this.#options;
    if (!response.destroyed && !response.writableEnded) response.write(text);
  }

  #beat(): void {
    const { response, sessions, session, context } = this.#options;
    if (!response.writableNeedDrain) this.#writeText(": keepalive\n\n");
    this.#beats += 1;
    if (this.#beats % touchEveryBeats === 0) void this.#guarded(async () => void (await sessions.find(session.id, context.access)));
  }
}
