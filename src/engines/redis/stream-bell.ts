import type { Log } from "../../kernel/log.ts";
import { logKey, metaKey } from "./key-names.ts";
import type { Link } from "./link.ts";
import type { RedisSettings } from "./redis-url.ts";
import type { Roads } from "./roads.ts";

/** How long one blocking read waits; after it the namespace itself is looked at, in case its history began anew. */
const blockMs = 1_000;
const pauseMs = 200;

/**
 * Hears of commits by any process: a blocking read of the namespace's stream on a connection of its own. It only rings; watchers read the log themselves.
 * It blocks from a revision that it has read, never from "now": what is committed between two reads ends the next one at once. After a new connection it rings in any case.
 */
class Listener {
  readonly rings = new Set<() => void>();
  readonly #namespace: string;
  readonly #roads: Roads;
  readonly #settings: RedisSettings;
  readonly #log: Log;
  #link: Link | undefined;
  #stopped = false;

  constructor(namespace: string, roads: Roads, settings: RedisSettings, log: Log) {
    this.#namespace = namespace;
    this.#roads = roads;
    this.#settings = settings;
    this.#log = log;
    void this.#listen();
  }

  ring(): void {
    for (const ring of [...this.rings]) ring();
  }

  stop(): void {
    this.#stopped = true;
    this.#link?.close();
  }

  async #listen(): Promise<void> {
    while (!this.#stopped) {
      try {
        this.#link = await this.#roads.openLink(metaKey(this.#settings.prefix, this.#namespace));
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

  async #hear(link: Link): Promise<void> {
    const { deadlineMs, prefix } = this.#settings;
    const { send } = await link.ready(performance.now() + deadlineMs);
    const log = logKey(prefix, this.#namespace);
    const look = async (): Promise<string> => JSON.stringify(await send("hmget", [metaKey(prefix, this.#namespace), "revision", "seal"], performance.now() + deadlineMs));
    let standing = await look();
    this.ring();
    while (!this.#stopped) {
      const [revision] = JSON.parse(standing) as [string | null];
      await send("xread", ["COUNT", "1", "BLOCK", String(blockMs), "STREAMS", log, `${revision ?? "0"}-18446744073709551615`], performance.now() + blockMs + deadlineMs);
      // Looked at before ringing: whatever comes after this look ends the next read.
      const now = await look();
      if (now !== standing) this.ring();
      standing = now;
    }
  }
}

/** One listener for each namespace that anybody here watches. */
export class StreamBell {
  readonly #listeners = new Map<string, Listener>();
  readonly #roads: Roads;
  readonly #settings: RedisSettings;
  readonly #log: Log;

  constructor(roads: Roads, settings: RedisSettings, log: Log) {
    this.#roads = roads;
    this.#settings = settings;
    this.#log = log;
  }

  listen(namespace: string, ring: () => void): () => void {
    let listener = this.#listeners.get(namespace);
    if (listener === undefined) {
      listener = new Listener(namespace, this.#roads, this.#settings, this.#log);
      this.#listeners.set(namespace, listener);
    }
    const { rings } = listener;
    // One entry per call, also when the same function listens twice.
    const entry = (): void => ring();
    rings.add(entry);
    return () => {
      rings.delete(entry);
      if (rings.size > 0 || this.#listeners.get(namespace) !== listener) return;
      this.#listeners.delete(namespace);
      listener?.stop();
    };
  }

  /** After a commit of this process: nobody here needs to wait for the stream. */
  ring(namespace: string): void {
    this.#listeners.get(namespace)?.ring();
  }

  close(): void {
    for (const listener of this.#listeners.values()) listener.stop();
    this.#listeners.clear();
  }
}
