import { HoldfastError, isHoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { everything } from "../../store/ranges.ts";
import type { Range, Revision } from "../../store/store.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { ResourceTarget } from "./resource-uris.ts";
import { targetName, targetOf, targetOfKey } from "./resource-uris.ts";

export const subscribedUrisMax = 1_024;
/** For one session, stream or connection. */
export const subscribedBytesMax = 262_144;
/** The size a subscription counts for: its URI and the bookkeeping beside it. */
export const subscribedBytesOf = (uri: string): number => Buffer.byteLength(uri) + 64;
const retryMs = 1_000;

interface SubscriptionsOptions {
  readonly base: Pick<ToolBase, "store" | "clock">;
  readonly log: Log;
  /** A subscribed resource has changed, at this revision or before: read it again. */
  notify(uri: string, subscribers: ReadonlySet<unknown>, revision: Revision): void;
  /** For all subscribers together. */
  readonly urisMax?: number;
  /** What is watched, and how keys map to subscribed names; default: resources. */
  readonly watched?: Watched;
}

interface Watched {
  readonly range: Range;
  /** One name per item, however its URI is spelled; undefined: no such item. */
  nameOf(uri: string): string | undefined;
  /** The name of the item that changes with this key. */
  nameOfKey(key: string): string | undefined;
}

const resources: Watched = {
  range: everything,
  nameOf: (uri) => named(targetOf(uri)),
  nameOfKey: (key) => named(targetOfKey(key)),
};

const named = (target: ResourceTarget | undefined): string | undefined => target && targetName(target);

/**
 * Who subscribed to which resources. One watch of the namespace serves all subscribers. It runs while there is at least one,
 * and starts at a revision read before the subscription is confirmed, so that no change is missed.
 */
export class Subscriptions {
  readonly #base: Pick<ToolBase, "store" | "clock">;
  readonly #log: Log;
  readonly #notify: SubscriptionsOptions["notify"];
  readonly #urisMax: number;
  readonly #watched: Watched;
  /** Subscriber (a connection, a listen request, a stream) → its URIs, in its own spelling. */
  readonly #bySubscriber = new Map<unknown, Set<string>>();
  readonly #byUri = new Map<string, Set<unknown>>();
  /** An item's name → the URIs that refer to it. */
  readonly #byName = new Map<string, Set<string>>();
  readonly #due = new Map<string, Revision>();
  #count = 0;
  #watching: AbortController | undefined;
  #positioned: Promise<Revision> | undefined;
  /** Every change up to this revision has been reported to the subscribers. */
  #told: Revision = 0;
  #flushing: NodeJS.Immediate | undefined;

  constructor({ base, log, notify, urisMax = subscribedUrisMax, watched = resources }: SubscriptionsOptions) {
    this.#base = base;
    this.#log = log;
    this.#notify = notify;
    this.#urisMax = urisMax;
    this.#watched = watched;
  }

  get isIdle(): boolean {
    return this.#count === 0;
  }

  countOf(subscriber: unknown): number {
    return this.#bySubscriber.get(subscriber)?.size ?? 0;
  }

  /** Resolves with a revision; every change after it will be reported. */
  async add(subscriber: unknown, uris: readonly string[]): Promise<Revision> {
    const mine = this.#bySubscriber.get(subscriber) ?? new Set<string>();
    const added = [...new Set(uris)].filter((uri) => !mine.has(uri));
    if (this.#count + added.length > this.#urisMax) throw new HoldfastError("limit_exceeded", `No more than ${this.#urisMax} resources may be subscribed to at a time.`);
    const bytes = [...mine, ...added].reduce((sum, uri) => sum + subscribedBytesOf(uri), 0);
    if (bytes > subscribedBytesMax)
      throw new HoldfastError("limit_exceeded", `The URIs subscribed to at a time may have ${subscribedBytesMax} bytes, 64 counted for each beside its own.`);
    this.#bySubscriber.set(subscriber, mine);
    for (const uri of added) {
      mine.add(uri);
      this.#join(uri, subscriber);
    }
    if (this.#watching === undefined) this.#start();
    const told = this.#told;
    try {
      return Math.max(told, (await this.#positioned) as Revision);
    } catch (error) {
      this.remove(subscriber, added);
      throw error;
    }
  }

  remove(subscriber: unknown, uris?: readonly string[]): void {
    const mine = this.#bySubscriber.get(subscriber);
    if (mine === undefined) return;
    for (const uri of uris ?? [...mine]) if (mine.delete(uri)) this.#leave(uri, subscriber);
    if (mine.size === 0) this.#bySubscriber.delete(subscriber);
    if (this.#bySubscriber.size === 0) this.close();
  }

  close(): void {
    this.#bySubscriber.clear();
    this.#byUri.clear();
    this.#byName.clear();
    this.#due.clear();
    this.#count = 0;
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    this.#watching?.abort();
    this.#watching = undefined;
    this.#positioned = undefined;
    this.#told = 0;
  }

  #join(uri: string, subscriber: unknown): void {
    this.#count += 1;
    setOf(this.#byUri, uri).add(subscriber);
    const name = this.#watched.nameOf(uri);
    if (name !== undefined) setOf(this.#byName, name).add(uri);
  }

  #leave(uri: string, subscriber: unknown): void {
    this.#count -= 1;
    const subscribers = this.#byUri.get(uri);
    subscribers?.delete(subscriber);
    if (subscribers === undefined || subscribers.size > 0) return;
    this.#byUri.delete(uri);
    const name = this.#watched.nameOf(uri);
    if (name === undefined) return;
    const spellings = this.#byName.get(name);
    spellings?.delete(uri);
    if (spellings?.size === 0) this.#byName.delete(name);
  }

  #start(): void {
    const watching = new AbortController();
    this.#watching = watching;
    this.#positioned = this.#position();
    this.#positioned.then(
      (revision) => this.#watch(revision, watching.signal),
      // `add` reports the failure to the subscriber.
      () => {},
    );
  }

  async #position(): Promise<Revision> {
    const { revision } = await this.#base.store.position();
    return revision;
  }

  async #watch(from: Revision, signal: AbortSignal): Promise<void> {
    let after = from;
    while (!signal.aborted) {
      try {
        for await (const { revision, rows } of this.#base.store.watch(this.#watched.range, after, signal, { values: false })) {
          after = revision;
          this.#told = revision;
          for (const { key } of rows) {
            const name = this.#watched.nameOfKey(key);
            if (name !== undefined) this.#tell(this.#byName.get(name), revision);
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#log("warn", "subscription_watch_failed", { problem: String(error) });
        await this.#base.clock.sleep(retryMs, signal);
        if (!isHoldfastError(error, "compacted")) continue;
        // Too far behind to know what changed: start from the present and make clients read everything again.
        after = await this.#position().catch(() => after);
        if (signal.aborted) return;
        this.#told = after;
        this.#tell(this.#byUri.keys(), after);
      }
    }
  }

  /** Several changes of one resource in one turn cause one notification, because it only says "read again". */
  #tell(uris: Iterable<string> | undefined, revision: Revision): void {
    if (uris === undefined) return;
    for (const uri of uris) {
      // Deleted first, so that pending updates are in the order of their last change.
      this.#due.delete(uri);
      this.#due.set(uri, revision);
    }
    this.#flushing ??= setImmediate(() => {
      this.#flushing = undefined;
      const due = [...this.#due];
      this.#due.clear();
      for (const [uri, at] of due) {
        const subscribers = this.#byUri.get(uri);
        if (subscribers !== undefined) this.#notify(uri, subscribers, at);
      }
    });
  }
}

function setOf<Member>(sets: Map<string, Set<Member>>, name: string): Set<Member> {
  let members = sets.get(name);
  if (members === undefined) {
    members = new Set();
    sets.set(name, members);
  }
  return members;
}
