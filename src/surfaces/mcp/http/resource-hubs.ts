import type { Log } from "../../../kernel/log.ts";
import type { Revision, Store } from "../../../store/store.ts";
import type { ToolBase } from "../../../tools/run-tool.ts";
import { Subscriptions } from "../subscriptions.ts";

/** Of all streams of one namespace in this process. */
const urisMax = 262_144;

/** Told of every change of what it subscribed to. */
export interface UpdateListener {
  told(uri: string, revision: Revision): void;
}

type Base = Pick<ToolBase, "store" | "clock">;

/** All streams of one namespace share one watch of it, however many callers have however many streams. */
export class ResourceHubs {
  readonly #log: Log;
  readonly #hubs = new Map<Store, Subscriptions>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Resolves when every change after the revision that it gives will be told. */
  async add({ store, clock }: Base, listener: UpdateListener, uris: readonly string[]): Promise<Revision> {
    const hub = this.#hubs.get(store) ?? this.#open({ store, clock });
    try {
      return await hub.add(listener, uris);
    } finally {
      this.#forgetIdle(store);
    }
  }

  remove({ store }: Base, listener: UpdateListener, uris?: readonly string[]): void {
    this.#hubs.get(store)?.remove(listener, uris);
    this.#forgetIdle(store);
  }

  close(): void {
    for (const hub of this.#hubs.values()) hub.close();
    this.#hubs.clear();
  }

  #open(base: Base): Subscriptions {
    const hub = new Subscriptions({
      base,
      log: this.#log,
      notify: (uri, listeners, revision) => {
        for (const listener of listeners) (listener as UpdateListener).told(uri, revision);
      },
      urisMax,
    });
    this.#hubs.set(base.store, hub);
    return hub;
  }

  #forgetIdle(store: Store): void {
    if (this.#hubs.get(store)?.isIdle) this.#hubs.delete(store);
  }
}
