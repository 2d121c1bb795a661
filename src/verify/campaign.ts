import { systemClock } from "../kernel/clock.ts";
import type { Json, JsonObject } from "../kernel/json.ts";
import { openNamespaceStore } from "../store/namespace-store.ts";
import type { Engine, Store } from "../store/store.ts";
import type { Scope } from "../store/transact.ts";
import type { Violation } from "./checkers/violation.ts";
import type { Random } from "./random.ts";
import { seededRandom } from "./random.ts";
import type { Job, WorkerCommand, WorkerMessage } from "./worker-process.ts";
import { WorkerProcess } from "./worker-process.ts";

/** The context of every campaign: a store that other processes can open too, and the means to start them. */
export interface CampaignContext {
  readonly storeUrl: string;
  /** The parent's own connection, used for preparation and audits. */
  readonly engine: Engine;
  /** The prefix of all namespaces that campaigns use. */
  readonly namespace: string;
  readonly worker: WorkerCommand;
  readonly seed: number;
  /** On abort, the workers are killed and no more are started. */
  readonly signal?: AbortSignal;
  /** Called from time to time with the progress of a campaign, from 0 to 1. */
  readonly onProgress?: (done: number) => void;
}

/** What a campaign did and found. Figures are counts for people: kills, commits, takeovers. */
export interface CampaignResult {
  readonly figures: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
}

/** One campaign's namespace, workers and random source. */
export class Arena {
  readonly store: Store;
  readonly scope: Scope;
  readonly random: Random;
  readonly #context: CampaignContext;
  readonly #namespace: string;
  readonly #workers = new Set<WorkerProcess>();
  #started = 0;

  constructor(context: CampaignContext, name: string) {
    this.#context = context;
    this.#namespace = `${context.namespace}-${name}`;
    this.store = openNamespaceStore(context.engine, this.#namespace, systemClock);
    this.scope = { store: this.store, clock: systemClock, writer: "verify" };
    this.random = seededRandom(context.seed);
    context.signal?.addEventListener("abort", this.#killAll);
  }

  /** Every worker has a unique name, so that the log shows which one did what. */
  start(job: string, parameters: JsonObject = {}, onMessage: (message: WorkerMessage, worker: WorkerProcess) => void = () => {}): WorkerProcess {
    this.#context.signal?.throwIfAborted();
    this.#started += 1;
    const told: Job = {
      ...parameters,
      job,
      name: `${job}-${this.#started}`,
      store: this.#context.storeUrl,
      namespace: this.#namespace,
      seed: Math.floor(this.random() * 2 ** 32),
    };
    const worker: WorkerProcess = new WorkerProcess(this.#context.worker, told, (message) => onMessage(message, worker));
    this.#workers.add(worker);
    void worker.ended.then(
      () => this.#workers.delete(worker),
      () => {},
    );
    return worker;
  }

  progress(done: number): void {
    this.#context.onProgress?.(Math.min(1, done));
  }

  /** Leaves no process behind, whatever happened. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#context.signal?.removeEventListener("abort", this.#killAll);
    const left = [...this.#workers];
    this.#killAll();
    await Promise.allSettled(left.map((worker) => worker.ended));
  }

  readonly #killAll = (): void => {
    for (const worker of this.#workers) worker.kill();
  };
}

/** Stops waiting if a worker ends too early, and fails with its error. */
export const whileAlive = <T>(workers: readonly WorkerProcess[], promise: Promise<T>): Promise<T> =>
  Promise.race([promise, ...workers.map((worker) => worker.ended.then(() => Promise.reject(new Error(`Worker ${worker.name} ended too early.`))))]);

/** A promise with its resolve function (Node 20 has no Promise.withResolvers). */
export function openSignal<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((keep) => {
    resolve = keep;
  });
  return { promise, resolve: (value) => resolve(value) };
}

export const pause = (ms: number): Promise<void> => systemClock.sleep(ms);

export const asNumber = (value: Json | undefined): number => value as number;
