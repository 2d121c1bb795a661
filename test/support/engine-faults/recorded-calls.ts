import type { ErrorCode } from "../../../src/kernel/errors.ts";
import { isHoldfastError } from "../../../src/kernel/errors.ts";
import type { Engine, Store } from "../../../src/store/store.ts";
import type { WorkerMessage } from "../../../src/verify/worker-process.ts";
import type { PaceSampler } from "../pace.ts";

/** The calls that are held to their deadline. */
export type CallKind = "commit" | "position" | "read" | "past read" | "readRequest" | "log" | "count" | "health";

/** One call as its caller saw it. `ended` and `tookMs` are missing while it has not come back. */
export interface Call {
  readonly client: string;
  readonly kind: CallKind;
  readonly tookMs?: number;
  /** How many times slower than a quiet machine the caller's was meanwhile. */
  readonly pace?: number;
  readonly ended?: "answered" | ErrorCode | "defect";
  /** The words of a failure. */
  readonly says?: string;
}

const shortMs = 100;

/** Tells the parent when a call begins and how it ends, so that one that never ends is known too. */
export class CallRecorder {
  readonly #say: (message: WorkerMessage) => void;
  readonly #sampler: PaceSampler;
  #count = 0;

  constructor(say: (message: WorkerMessage) => void, sampler: PaceSampler) {
    this.#say = say;
    this.#sampler = sampler;
  }

  async record<T>(kind: CallKind, call: () => Promise<T>): Promise<T> {
    this.#count += 1;
    const id = this.#count;
    const fromMs = performance.now();
    const end = (ended: NonNullable<Call["ended"]>, says?: string): void => {
      const tookMs = Math.round(performance.now() - fromMs);
      // A short call keeps every deadline: measuring the pace would take longer than it did.
      const pace = tookMs < shortMs ? 1 : this.#sampler.since(fromMs);
      this.#say({ call: id, ended, tookMs, pace, ...(says === undefined ? {} : { says }) });
    };
    this.#say({ call: id, kind });
    try {
      const answer = await call();
      end("answered");
      return answer;
    } catch (error) {
      end(isHoldfastError(error) ? error.code : "defect", error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  /** The same store, every call of it recorded. (A watch is judged by what it brings.) */
  store(store: Store): Store {
    return {
      ...store,
      position: () => this.record("position", () => store.position()),
      read: (ranges, options) => this.record(options?.at === undefined ? "read" : "past read", () => store.read(ranges, options)),
      commit: (commit) => this.record("commit", () => store.commit(commit)),
      readRequest: (key) => this.record("readRequest", () => store.readRequest(key)),
      log: (query) => this.record("log", () => store.log(query)),
      count: (range) => this.record("count", () => store.count(range)),
    };
  }

  health(engine: Engine, namespace: string): Promise<unknown> {
    return this.record("health", () => engine.health(namespace));
  }
}
