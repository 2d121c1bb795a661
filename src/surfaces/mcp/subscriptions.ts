import { HoldfastError, isHoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { everything, keyRange } from "../../store/ranges.ts";
import type { Revision } from "../../store/store.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import { targetName, targetOf, targetOfKey } from "./resource-uris.ts";

export const subscribedUrisMax = 1_024;
const retryMs = 1_000;

/**
 * Which resources a connection wants to hear about. One watch of the namespace serves them all, however many they are;
 * it runs while there is at least one and starts at a revision read before the subscription is confirmed, so nothing falls between.
 */
export class Subscriptions {
  readonly #base: ToolBase;
  readonly #log: Log;
  readonly #notify: (uri: string) => void;
  /** Owner of a subscription (the connection itself, or the id of a listen request) → its URIs. */
  readonly #owners = new Map<unknown, Set<string>>();
  /** Target → the URIs, in the spelling of their subscribers, that are to be told. */
  #byTarget: ReadonlyMap<string, readonly string[]> = new Map();
  readonly #due = new Set<string>();
  #watching: AbortController | undefined;
  #positioned: Promise<Revision> | undefined;
  #flushing: NodeJS.Immediate | undefined;

  constructor(base: ToolBase, log: Log, notify: (uri: string) => void) {
    this.#base = base;
    this.#log = log;
    this.#notify = notify;
  }

  /** Resolves when every later change will be told. */
  async add(owner: unknown, uris: readonly string[]): Promise<void> {
    const mine = this.#owners.get(owner) ?? new Set<string>();
    const added = uris.filter((uri) => !mine.has(uri));
    if (this.#count() + added.length > subscribedUrisMax) throw new HoldfastError("limit_exceeded", `One connection may subscribe to ${subscribedUrisMax} resources.`);
    this.#owners.set(owner, mine);
    for (const uri of added) mine.add(uri);
    this.#index();
    if (this.#watching === undefined) this.#start();
    try {
      await this.#positioned;
    } catch (error) {
      this.remove(owner, added);
      throw error;
    }
  }

  remove(owner: unknown, uris?: readonly string[]): void {
    const mine = this.#owners.get(owner);
    if (mine === undefined) return;
    for (const uri of uris ?? [...mine]) mine.delete(uri);
    if (mine.size === 0) this.#owners.delete(owner);
    this.#index();
    if (this.#owners.size === 0) this.close();
  }

  close(): void {
    this.#owners.clear();
    this.#byTarget = new Map();
    this.#due.clear();
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    this.#watching?.abort();
    this.#watching = undefined;
    this.#positioned = undefined;
  }

  #count(): number {
    let count = 0;
    for (const uris of this.#owners.values()) count += uris.size;
    return count;
  }

  #start(): void {
    const watching = new AbortController();
    this.#watching = watching;
    this.#positioned = this.#position();
    this.#positioned.then(
      (revision) => this.#watch(revision, watching.signal),
      // Told to the subscriber by `add`.
      () => {},
    );
  }

  async #position(): Promise<Revision> {
    const { revision } = await this.#base.store.read(keyRange("state/"), { limit: 1, values: false });
    return revision;
  }

  async #watch(from: Revision, signal: AbortSignal): Promise<void> {
    let after = from;
    while (!signal.aborted) {
      try {
        for await (const { revision, rows } of this.#base.store.watch(everything, after, signal, { values: false })) {
          after = revision;
          for (const { key } of rows) {
            const target = targetOfKey(key);
            if (target !== undefined) this.#tell(this.#byTarget.get(targetName(target)));
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#log("warn", "subscription_watch_failed", { problem: String(error) });
        await this.#base.clock.sleep(retryMs, signal);
        if (!isHoldfastError(error, "compacted")) continue;
        // Too far behind to tell what changed: start from the present and let clients read everything again.
        after = await this.#position().catch(() => after);
        this.#tell([...this.#byTarget.values()].flat());
      }
    }
  }

  #index(): void {
    const byTarget = new Map<string, string[]>();
    for (const uri of new Set([...this.#owners.values()].flatMap((uris) => [...uris]))) {
      const target = targetOf(uri);
      if (target === undefined) continue;
      const name = targetName(target);
      byTarget.set(name, [...(byTarget.get(name) ?? []), uri]);
    }
    this.#byTarget = byTarget;
  }

  /** Many changes of one resource in one turn are one notification: it says only "read again". */
  #tell(uris: readonly string[] | undefined): void {
    if (uris === undefined || uris.length === 0) return;
    for (const uri of uris) this.#due.add(uri);
    this.#flushing ??= setImmediate(() => {
      this.#flushing = undefined;
      const due = [...this.#due];
      this.#due.clear();
      for (const uri of due) this.#notify(uri);
    });
  }
}
