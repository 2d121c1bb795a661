import { randomHex } from "../../kernel/ids.ts";
import type { Log } from "../../kernel/log.ts";
import type { PgSession } from "./pg-session.ts";

/** With notifications, polling is only a fallback; without them, it is the only way. */
const pollMs = { listening: 1_000, notListening: 250 } as const;
/** How long the first notification, which the process sends to itself, may take before notifications count as not working. */
const probeMs = 1_000;
/** A notification is a transaction too, so under load one covers several commits. */
const spacingMs = 3;
const reconnectMs = { first: 250, max: 5_000 } as const;
/** If polling is first to find this many changes in a row, the listening connection is dead without having noticed. */
const missedMax = 3;

export interface ChangeSignalOptions {
  readonly channel: string;
  /** Opens a connection that is used only for listening. */
  readonly open: () => Promise<PgSession>;
  readonly notify: (payloads: readonly string[]) => Promise<void>;
  /** The state of each namespace, in any form that changes when the namespace does. */
  readonly look: (namespaces: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly log: Log;
}

/** PostgreSQL accepts less than 8,000 bytes at a time. */
const payloadBytesMax = 7_900;

/** The sender and its namespaces: as many as fit in one notification, because each costs the server about as much as a commit. */
function packed(self: string, namespaces: Iterable<string>): string[] {
  const payloads: string[] = [];
  let names: string[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (names.length > 0) payloads.push(`${self} ${JSON.stringify(names)}`);
    names = [];
    bytes = self.length + 3;
  };
  flush();
  for (const namespace of namespaces) {
    const more = Buffer.byteLength(JSON.stringify(namespace)) + 1;
    if (bytes + more > payloadBytesMax) flush();
    bytes += more;
    names.push(namespace);
  }
  flush();
  return payloads;
}

/** Anyone may send on the channel, so the payload may be anything. */
function namesIn(payload: string): string[] {
  try {
    const names: unknown = JSON.parse(payload.slice(payload.indexOf(" ") + 1));
    return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}

/**
 * Notifies other processes of commits: a notification after the commit, sent on another connection so that no commit waits for it.
 * The log is authoritative; a notification only triggers a read. Behind a pooler that gives every transaction a different connection, notifications do not arrive.
 * A notification sent to this process itself detects that, and the namespaces are then polled four times a second.
 */
export class PostgresChangeSignal {
  readonly #options: ChangeSignalOptions;
  readonly #self = randomHex(16);
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #known = new Map<string, string>();
  readonly #due = new Set<string>();
  #sending: Promise<void> | undefined;
  #sentMs = Number.NEGATIVE_INFINITY;
  #session: PgSession | undefined;
  #connecting = false;
  #isListening = false;
  #missed = 0;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  #looking = false;
  #closed = false;

  constructor(options: ChangeSignalOptions) {
    this.#options = options;
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  listen(namespace: string, notify: () => void): () => void {
    const heard = this.#listeners.get(namespace) ?? new Set();
    this.#listeners.set(namespace, heard);
    // One entry per call, even if the same function listens twice.
    const listener = (): void => notify();
    heard.add(listener);
    if (this.#session === undefined && !this.#connecting && this.#retry === undefined) void this.#connect();
    this.#schedulePoll();
    return () => {
      heard.delete(listener);
      if (heard.size === 0 && this.#listeners.get(namespace) === heard) {
        this.#listeners.delete(namespace);
        this.#known.delete(namespace);
      }
    };
  }

  /** Call this after a commit by this process that took a revision. */
  notify(namespace: string): void {
    this.#notifyHere(namespace);
    if (this.#closed) return;
    this.#due.add(namespace);
    this.#sending ??= this.#send();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    clearTimeout(this.#poll);
    clearTimeout(this.#retry);
    await this.#sending;
    await this.#session?.close();
  }

  #notifyHere(namespace: string): void {
    const listeners = this.#listeners.get(namespace);
    if (listeners !== undefined) for (const listener of [...listeners]) listener();
  }

  #ringAll(): void {
    for (const namespace of [...this.#listeners.keys()]) this.#notifyHere(namespace);
  }

  /** One at a time: namespaces that become due meanwhile are sent together afterwards. */
  async #send(): Promise<void> {
    while (this.#due.size > 0) {
      const waitMs = this.#sentMs + spacingMs - performance.now();
      if (waitMs > 0 && !this.#closed) await new Promise((resolve) => setTimeout(resolve, waitMs));
      this.#sentMs = performance.now();
      const payloads = packed(this.#self, this.#due);
      this.#due.clear();
      try {
        await this.#options.notify(payloads);
      } catch (error) {
        // The commits are valid; other processes notice them by polling.
        this.#options.log("debug", "notification_not_sent", { reason: (error as Error).message });
        break;
      }
    }
    this.#sending = undefined;
  }

  async #connect(): Promise<void> {
    this.#connecting = true;
    try {
      const session = await this.#options.open();
      if (this.#closed) return session.destroy();
      this.#session = session;
      session.hold(false);
      session.client.on("end", () => this.#lose(session));
      session.client.on("notification", ({ payload }) => this.#onNotification(payload ?? ""));
      await session.send([{ text: `LISTEN ${this.#options.channel}` }], performance.now() + 5_000);
      this.#failures = 0;
      this.#missed = 0;
      // Changes made while this process was not listening are not reported again, so notify everyone.
      this.#ringAll();
      await this.#probe();
    } catch (error) {
      this.#options.log("debug", "not_listening", { reason: (error as Error).message });
      if (this.#session === undefined) this.#retryLater();
      else this.#session.destroy();
    } finally {
      this.#connecting = false;
    }
  }

  async #probe(): Promise<void> {
    await this.#options.notify([this.#self]);
    for (let waited = 0; waited < probeMs && !this.#isListening && !this.#closed; waited += 20) await new Promise((resolve) => setTimeout(resolve, 20).unref());
    if (!this.#isListening && !this.#closed && this.#session?.isLost === false)
      this.#options.log("info", "no_notifications", { meaning: "a connection pooler is in front of the server; changes by other processes are found by polling" });
    this.#schedulePoll();
  }

  #onNotification(payload: string): void {
    if (payload.startsWith(this.#self)) {
      this.#isListening = true;
      return;
    }
    this.#missed = 0;
    for (const namespace of namesIn(payload)) {
      this.#known.delete(namespace);
      this.#notifyHere(namespace);
    }
  }

  #lose(session: PgSession): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#isListening = false;
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#closed || this.#retry !== undefined) return;
    const delayMs = Math.min(reconnectMs.max, reconnectMs.first * 2 ** this.#failures) * (0.5 + Math.random() / 2);
    this.#failures += 1;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      if (!this.#closed) void this.#connect();
    }, delayMs).unref();
  }

  #schedulePoll(): void {
    clearTimeout(this.#poll);
    if (this.#closed || this.#listeners.size === 0) return;
    this.#poll = setTimeout(() => void this.#look(), this.#isListening ? pollMs.listening : pollMs.notListening).unref();
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const found = await this.#options.look([...this.#listeners.keys()]);
      for (const namespace of [...this.#listeners.keys()]) this.#compare(namespace, found.get(namespace) ?? "");
    } catch (error) {
      this.#options.log("debug", "not_polled", { reason: (error as Error).message });
    } finally {
      this.#looking = false;
      this.#schedulePoll();
    }
  }

  #compare(namespace: string, now: string): void {
    const before = this.#known.get(namespace);
    this.#known.set(namespace, now);
    if (before === now) return;
    this.#notifyHere(namespace);
    // The first poll has nothing to compare with.
    if (before === undefined || !this.#isListening) return;
    this.#missed += 1;
    if (this.#missed >= missedMax) this.#session?.destroy();
  }
}
