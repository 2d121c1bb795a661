import { randomHex } from "../../kernel/ids.ts";
import type { Log } from "../../kernel/log.ts";
import type { Session } from "./session.ts";

/** With notifications polling is only the net; without them it is all there is. */
const pollMs = { hearing: 1_000, deaf: 250 } as const;
/** How long the first notification, sent to oneself, may take before notifications count as not working. */
const probeMs = 1_000;
/** A notification is a transaction too: under load there is one for several commits. */
const spacingMs = 3;
const reconnectMs = { first: 250, max: 5_000 } as const;
/** So many changes in a row found by polling first: the listening connection is dead without knowing it. */
const missedMax = 3;

export interface BellRopes {
  readonly channel: string;
  /** A connection for listening alone. */
  readonly open: () => Promise<Session>;
  readonly notify: (payloads: readonly string[]) => Promise<void>;
  /** What each of the namespaces stands at, in some form that changes when it does. */
  readonly look: (namespaces: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly log: Log;
}

/** PostgreSQL takes less than 8,000 bytes at a time. */
const payloadBytesMax = 7_900;

/** Who says it, and of which namespaces: as many in one notification as it can carry, because each costs the server about as much as a commit. */
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

/** Anybody may send something on the channel. */
function namesIn(payload: string): string[] {
  try {
    const names: unknown = JSON.parse(payload.slice(payload.indexOf(" ") + 1));
    return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}

/**
 * Tells other processes that something was committed: a notification after the commit, sent on another connection so that no commit waits for it.
 * The log is the truth; a notification only says when to look. Behind a pooler that gives every transaction another connection none arrives:
 * one sent to oneself finds that out, and then the namespaces are looked at four times a second.
 */
export class Bell {
  readonly #ropes: BellRopes;
  readonly #self = randomHex(16);
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #known = new Map<string, string>();
  readonly #due = new Set<string>();
  #sending: Promise<void> | undefined;
  #sentMs = Number.NEGATIVE_INFINITY;
  #ear: Session | undefined;
  #connecting = false;
  #hears = false;
  #missed = 0;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  #looking = false;
  #closed = false;

  constructor(ropes: BellRopes) {
    this.#ropes = ropes;
  }

  get hears(): boolean {
    return this.#hears;
  }

  listen(namespace: string, ring: () => void): () => void {
    const heard = this.#listeners.get(namespace) ?? new Set();
    this.#listeners.set(namespace, heard);
    // One entry per call, also when the same function listens twice.
    const listener = (): void => ring();
    heard.add(listener);
    if (this.#ear === undefined && !this.#connecting && this.#retry === undefined) void this.#connect();
    this.#schedulePoll();
    return () => {
      heard.delete(listener);
      if (heard.size === 0 && this.#listeners.get(namespace) === heard) {
        this.#listeners.delete(namespace);
        this.#known.delete(namespace);
      }
    };
  }

  /** After a commit of this process that took a revision. */
  ring(namespace: string): void {
    this.#ringHere(namespace);
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
    await this.#ear?.close();
  }

  #ringHere(namespace: string): void {
    const listeners = this.#listeners.get(namespace);
    if (listeners !== undefined) for (const listener of [...listeners]) listener();
  }

  #ringAll(): void {
    for (const namespace of [...this.#listeners.keys()]) this.#ringHere(namespace);
  }

  /** One at a time: what becomes due meanwhile goes out together afterwards. */
  async #send(): Promise<void> {
    while (this.#due.size > 0) {
      const waitMs = this.#sentMs + spacingMs - performance.now();
      if (waitMs > 0 && !this.#closed) await new Promise((resolve) => setTimeout(resolve, waitMs));
      this.#sentMs = performance.now();
      const payloads = packed(this.#self, this.#due);
      this.#due.clear();
      try {
        await this.#ropes.notify(payloads);
      } catch (error) {
        // The commits stand; others hear of them by polling.
        this.#ropes.log("debug", "notification_not_sent", { reason: (error as Error).message });
        break;
      }
    }
    this.#sending = undefined;
  }

  async #connect(): Promise<void> {
    this.#connecting = true;
    try {
      const ear = await this.#ropes.open();
      if (this.#closed) return ear.destroy();
      this.#ear = ear;
      ear.hold(false);
      ear.client.on("end", () => this.#lose(ear));
      ear.client.on("notification", ({ payload }) => this.#hear(payload ?? ""));
      await ear.send([{ text: `LISTEN ${this.#ropes.channel}` }], performance.now() + 5_000);
      this.#failures = 0;
      this.#missed = 0;
      // What happened while nobody listened is not told any more.
      this.#ringAll();
      await this.#probe();
    } catch (error) {
      this.#ropes.log("debug", "not_listening", { reason: (error as Error).message });
      if (this.#ear === undefined) this.#retryLater();
      else this.#ear.destroy();
    } finally {
      this.#connecting = false;
    }
  }

  async #probe(): Promise<void> {
    await this.#ropes.notify([this.#self]);
    for (let waited = 0; waited < probeMs && !this.#hears && !this.#closed; waited += 20) await new Promise((resolve) => setTimeout(resolve, 20).unref());
    if (!this.#hears && !this.#closed && this.#ear?.isLost === false)
      this.#ropes.log("info", "no_notifications", { meaning: "a pooler stands before the server; changes of other processes are found by polling" });
    this.#schedulePoll();
  }

  #hear(payload: string): void {
    if (payload.startsWith(this.#self)) {
      this.#hears = true;
      return;
    }
    this.#missed = 0;
    for (const namespace of namesIn(payload)) {
      this.#known.delete(namespace);
      this.#ringHere(namespace);
    }
  }

  #lose(ear: Session): void {
    if (this.#ear !== ear) return;
    this.#ear = undefined;
    this.#hears = false;
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
    this.#poll = setTimeout(() => void this.#look(), this.#hears ? pollMs.hearing : pollMs.deaf).unref();
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const found = await this.#ropes.look([...this.#listeners.keys()]);
      for (const namespace of [...this.#listeners.keys()]) this.#compare(namespace, found.get(namespace) ?? "");
    } catch (error) {
      this.#ropes.log("debug", "not_polled", { reason: (error as Error).message });
    } finally {
      this.#looking = false;
      this.#schedulePoll();
    }
  }

  #compare(namespace: string, now: string): void {
    const before = this.#known.get(namespace);
    this.#known.set(namespace, now);
    if (before === now) return;
    this.#ringHere(namespace);
    // The first look has nothing to compare with.
    if (before === undefined || !this.#hears) return;
    this.#missed += 1;
    if (this.#missed >= missedMax) this.#ear?.destroy();
  }
}
