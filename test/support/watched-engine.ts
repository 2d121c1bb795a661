import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";

/** The memory engine, counting who listens to its bell. */
export class WatchedEngine extends MemoryEngine {
  watchers = 0;

  override onChange(namespace: string, ring: () => void): () => void {
    this.watchers += 1;
    const stop = super.onChange(namespace, ring);
    let stopped = false;
    return () => {
      if (!stopped) this.watchers -= 1;
      stopped = true;
      stop();
    };
  }
}
