import type { Clock } from "../kernel/clock.ts";
import { HoldfastError } from "../kernel/errors.ts";
import { isReservedNamespace } from "./namespace-store.ts";
import type { Engine } from "./store.ts";

/** A process counts again after admitting this share of the maximum, because other processes on the same store create namespaces too. */
const partOfAll = 1 / 100;
/** A full store is counted at most this often. */
const lookEveryMs = 1_000;

/**
 * Keeps a store within its maximum number of namespaces: each needs maintenance every second, and none is ever removed. Only the first commit to a namespace
 * that this process does not know waits for the check. A single process never exceeds the limit; several on one store may, by a hundredth each.
 */
export class NamespaceQuota {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #max: number;
  /** Namespaces that existed at the last count, and those admitted since. */
  #known = new Set<string>();
  /** Admitted namespaces whose first commit has not ended, so they may not be stored yet. */
  readonly #making = new Set<string>();
  #letIn = Number.POSITIVE_INFINITY;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;

  constructor(engine: Engine, clock: Clock, max: number) {
    this.#engine = engine;
    this.#clock = clock;
    this.#max = max;
  }

  knows(namespace: string): boolean {
    return this.#known.has(namespace);
  }

  /** Runs the first commit to a namespace. */
  async commit<Result>(namespace: string, submit: () => Promise<Result>): Promise<Result> {
    await this.#admit(namespace);
    try {
      return await submit();
    } finally {
      this.#making.delete(namespace);
    }
  }

  async #admit(namespace: string): Promise<void> {
    if (this.#letIn >= this.#max * partOfAll) await this.#look();
    if (!this.#hasRoomFor(namespace) && this.#clock.nowMs() - this.#lookedAtMs >= lookEveryMs) await this.#look();
    if (!this.#hasRoomFor(namespace))
      throw new HoldfastError("limit_exceeded", `namespace: this store may have ${this.#max} and has no room for a new one; nothing was changed.`, {
        hint: "Use an existing namespace, or raise the limit (namespacesMax).",
        details: { field: "namespace", max: this.#max },
      });
    if (this.#known.has(namespace)) return;
    this.#known.add(namespace);
    this.#making.add(namespace);
    this.#letIn += 1;
  }

  #hasRoomFor(namespace: string): boolean {
    return this.#known.has(namespace) || this.#known.size < this.#max;
  }

  /** Runs one count at a time, shared by all callers that need it. */
  #look(): Promise<void> {
    this.#looking ??= this.#list().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #list(): Promise<void> {
    // The list may have been read before these namespaces were stored, and may arrive after their commits have ended.
    const making = [...this.#making];
    const names = await this.#engine.namespaces();
    this.#known = new Set([...names.filter((name) => !isReservedNamespace(name)), ...making, ...this.#making]);
    this.#letIn = 0;
    this.#lookedAtMs = this.#clock.nowMs();
  }
}
