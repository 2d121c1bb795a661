import { HoldfastError } from "../../../kernel/errors.ts";
import type { Log } from "../../../kernel/log.ts";
import type { Revision, Store } from "../../../store/store.ts";
import type { ToolBase } from "../../../tools/run-tool.ts";
import { Subscriptions } from "../subscriptions.ts";

/** For all streams of one namespace in this process. */
const urisMax = 262_144;
/** For the streams of one caller: several callers at their limit still leave room for others. */
export const urisPerCallerMax = 32_768;

/** Notified of every change to what it subscribed to. */
export interface UpdateListener {
  /** The owner: all subscriptions of a caller in one namespace count together. */
  readonly caller: string;
  onUpdate(uri: string, revision: Revision): void;
}

type Base = Pick<ToolBase, "store" | "clock">;

/** All streams of one namespace share one watch, whatever the number of callers and streams. */
export class ResourceHubs {
  readonly #log: Log;
  readonly #hubs = new Map<Store, Subscriptions>();
  readonly #byCaller = new Map<string, Set<UpdateListener>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Resolves with a revision; every change after it will be reported. */
  async add({ store, clock }: Base, listener: UpdateListener, uris: readonly string[]): Promise<Revision> {
    const hub = this.#hubs.get(store) ?? this.#open({ store, clock });
    try {
      const mine = this.#byCaller.get(listener.caller) ?? new Set();
      const taken = [...mine].reduce((sum, each) => sum + hub.countOf(each), 0);
      if (taken + uris.length > urisPerCallerMax)
        throw new HoldfastError("limit_exceeded", `Your streams in a namespace may listen to at most ${urisPerCallerMax} resources in total.`, {
          hint: "Close streams you no longer need.",
        });
      this.#byCaller.set(listener.caller, mine.add(listener));
      return await hub.add(listener, uris);
    } finally {
      this.#forgetIdle(store, listener);
    }
  }

  remove({ store }: Base, listener: UpdateListener, uris?: readonly string[]): void {
    this.#hubs.get(store)?.remove(listener, uris);
    this.#forgetIdle(store, listener);
  }

  close(): void {
    for (const hub of this.#hubs.values()) hub.close();
    this.#hubs.clear();
    this.#byCaller.clear();
  }

  #open(base: Base): Subscriptions {
    const hub = new Subscriptions({
      base,
      log: this.#log,
      notify: (uri, listeners, revision) => {
        for (const listener of listeners) (listener as UpdateListener).onUpdate(uri, revision);
      },
      urisMax,
    });
    this.#hubs.set(base.store, hub);
    return hub;
  }

  #forgetIdle(store: Store, listener: UpdateListener): void {
    const hub = this.#hubs.get(store);
    if (hub?.isIdle) this.#hubs.delete(store);
    if (hub !== undefined && hub.countOf(listener) > 0) return;
    const mine = this.#byCaller.get(listener.caller);
    mine?.delete(listener);
    if (mine?.size === 0) this.#byCaller.delete(listener.caller);
  }
}
