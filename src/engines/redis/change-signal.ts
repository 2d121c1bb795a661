import type { Log } from "../../kernel/log.ts";
import { logKey, metaKey } from "./key-names.ts";
import type { RedisConnection } from "./redis-connection.ts";
import type { CommandRouter } from "./redis-router.ts";
import type { RedisSettings } from "./redis-url.ts";

/** How long one blocking read waits. Afterwards the namespace itself is checked, in case its history started again. */
const blockMs = 1_000;
const pauseMs = 200;

/**
 * Listens for commits by any process: a blocking read of the namespace's stream on a separate connection. It only notifies; watchers read the log themselves.
 * It blocks from a revision that it has read, never from "now", so a commit between two reads ends the next one at once. After reconnecting, it always notifies.
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
      // There is a watcher, so the process must not exit in a pause between two attempts.
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
      // Read before notifying: any commit after this read ends the next blocking read.
      const now = await look();
      if (now !== mark) this.notify();
      mark = now;
    }
  }
}

/** One listener for each namespace that has a watcher in this process. */
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
    // One entry per call, even if the same function listens twice.
    const entry = (): void => notify();
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
      if (listeners.size > 0 || this.#listeners.get(namespace) !== listener) return;
      this.#listeners.delete(namespace);
      listener?.stop();
    };
  }

  /** Call this after a commit by this process: its own watchers need not wait for the stream. */
  notify(namespace: string): void {
    this.#listeners.get(namespace)?.notify();
  }

  close(): void {
    for (const listener of this.#listeners.values()) listener.stop();
    this.#listeners.clear();
  }
}
