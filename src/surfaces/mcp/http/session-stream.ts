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
/** An open stream is use of its session, said so often. */
const touchEveryBeats = 40;

interface SessionStreamOptions {
  readonly session: McpSession;
  readonly context: McpContext;
  readonly sessions: McpSessions;
  readonly hubs: ResourceHubs;
  readonly response: ServerResponse;
  readonly log: Log;
  /** The last event the client has seen on an earlier stream of the session, on whichever node. */
  readonly resumeAfter?: Revision;
  /** Tell the client at once from where to resume; revisions before 2025-11-25 cannot read it. */
  readonly primes: boolean;
}

/**
 * The GET stream of a session: tells that resources it subscribed to have changed. What it subscribed to is read from the store and followed there,
 * so that requests and stream may be on different nodes. An event's id is a revision: everything up to it has been told, and a client that comes back with it
 * receives what it missed in between.
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

  /** Resolves when the stream is over, whichever side ended it. */
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
    // What changes while a reading waits for its turn is seen by that reading.
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
    // One that is not there yet: the store was put back to an earlier day.
    if (this.#resumeAfter > revision) this.#resumeAfter = 0;
    await this.#hear();
    // Sent after the missed changes: a client that has seen this id has seen those too.
    if (primes && !response.destroyed && !response.writableEnded) setImmediate(() => this.#writeText(`id: ${revision}\ndata: \n\n`));
  }

  /** Brings what is listened to in line with what the session wants to hear. */
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

  /** One after the other. */
  #guarded(work: () => Promise<void>): Promise<void> {
    this.#order = this.#order.then(work).catch((error) => this.#fail(error));
    return this.#order;
  }

  /** The client opens another one. */
  #fail(error: unknown): void {
    this.#options.log("warn", "session_stream_failed", { problem: String(error) });
    this.end();
  }

  #write(updates: readonly (readonly [uri: string, revision: Revision])[]): void {
    const events = updates.map(([uri, revision], i) => {
      const line = JSON.stringify({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
      // Only the last of one revision may carry it: a client that saw less must not come back as if it had seen all.
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
