import type { Meter } from "../kernel/meter.ts";
import type { Engine } from "../store/store.ts";
import type { StoreObserver } from "../store/store-observer.ts";
import type { ToolObserver } from "../tools/tool-observer.ts";
import { watchEngine } from "./engine-metrics.ts";
import { openExpiryMetrics } from "./expiry-metrics.ts";
import { watchProcess } from "./process-metrics.ts";
import { openStoreMetrics } from "./store-metrics.ts";
import { openToolMetrics } from "./tool-metrics.ts";

/** The observers that feed a process's meter, for the components they observe. */
export interface Observers extends Disposable {
  readonly store: StoreObserver;
  readonly tools: ToolObserver;
  /** Called by the store's maintenance. */
  swept(namespace: string, count: number): Promise<void>;
}

export function openObservers(meter: Meter, { engine, namespace, version }: { readonly engine: Engine; readonly namespace: string; readonly version: string }): Observers {
  watchEngine(meter, engine, namespace);
  const stopWatching = watchProcess(meter, version);
  return { store: openStoreMetrics(meter), tools: openToolMetrics(meter), swept: openExpiryMetrics(meter, engine), [Symbol.dispose]: stopWatching };
}
