import type { Log } from "../../kernel/log.ts";
import { logKey, metaKey } from "./key-names.ts";
import type { RedisConnection } from "./redis-connection.ts";
import type { CommandRouter } from "./redis-router.ts";
import type { RedisSettings } from "./redis-url.ts";

/** How long one blocking read waits; after it the namespace itself is looked at, in case its history began anew. */
const blockMs = 1_000;
const pauseMs = 200;

/**
 * Hears of commits by any process: a blocking read of the namespace's stream on a connection of its own. It only notifies; watchers read the log themselves.
 * It blocks from a revision that it has read, never from "now": what is committed between two reads ends the next one at once. After a new connection it notifies in any case.
 */
class Listener {
  readonly listeners = new Set<() => void>();
  readonly #namespace: string;
  readonly #router: CommandRouter;
  readonly #settings: RedisSettings;
  readonly #log: Log;
  #link: RedisConnection | undefined;
  #stopped = false;

  constructor(namespace: string, router: CommandRouter, settings: RedisSettings, log: Log) {
    this.#namespace = namespace;
    this.#router = router;
    this.#settings = settings;
    this.#log = log;
    void this.#listen();
  }

  notify(): void {
    for (const notify of [...this.listeners]) notify();
  }

  stop(): void {
    this.#stopped = true;
    this.#link?.close();
  }

  async #listen(): Promise<void> {
    while (!this.#stopped) {
      try {
        this.#link = await this.#router.openConnection(metaKey(this.#settings.prefix, this.#namespace));
        if (!this.#stopped) await this.#hear(this.#link);
      } catch (error) {
        if (this.#stopped) break;
        this.#log("debug", "bell_lost", { reason: (error as Error).message });
      }
      this.#link?.close();
      // Somebody watches: the process must not end in a pause between two attempts.
      if (!this.#stopped) await new Promise<void>((resolve) => setTimeout(resolve, pauseMs));
    }
    this.#link?.close();
  }

  async #hear(link: RedisConnection): Promise<void> {
    const { deadlineMs, prefix } = this.#settings;
    const { send } = await link.ready(performance.now() + deadlineMs);
    const log = logKey(prefix, this.#namespace);
    const look = async (): Promise<string> => JSON.stringify(await send("hmget", [metaKey(prefix, this.#namespace), "revision", "seal"], performance.now() + deadlineMs));
    let mark = await look();
    this.notify();
    while (!this.#stopped) {
      const [revision] = JSON.parse(mark) as [string | null];
      await send("xread", ["COUNT", "1", "BLOCK", String(blockMs), "STREAMS", log, `${revision ?? "0"}-18446744073709551615`], performance.now() + blockMs + deadlineMs);
      // Looked at before notifying: whatever comes after this look ends the next read.
      const now = await look();
      if (now !== mark) this.notify();
      mark = now;
    }
  }
}

/** One listener for each namespace that anybody here watches. */
export class RedisChangeSignal {
  readonly #listeners = new Map<string, Listener>();
  readonly #router: CommandRouter;
  readonly #settings: RedisSettings;
  readonly #log: Log;

  constructor(router: CommandRouter, settings: RedisSettings, log: Log) {
    this.#router = router;
    this.#settings = settings;
    this.#log = log;
  }

  listen(namespace: string, notify: () => void): () => void {
    let listener = this.#listeners.get(namespace);
    if (listener === undefined) {
      listener = new Listener(namespace, this.#router, this.#settings, this.#log);
      this.#listeners.set(namespace, listener);
    }
    const { listeners } = listener;
    // One entry per call, also when the same function listens twice.
    const entry = (): void => notify();
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
      if (listeners.size > 0 || this.#listeners.get(namespace) !== listener) return;
      this.#listeners.delete(namespace);
      listener?.stop();
    };
  }

  /** After a commit of this process: nobody here needs to wait for the stream. */
  notify(namespace: string): void {
    this.#listeners.get(namespace)?.notify();
  }

  close(): void {
    for (const listener of this.#listeners.values()) listener.stop();
    this.#listeners.clear();
  }
}
