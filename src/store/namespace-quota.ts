import type { Clock } from "../kernel/clock.ts";
import { HoldfastError } from "../kernel/errors.ts";
import { isReservedNamespace } from "./namespace-store.ts";
import type { Engine } from "./store.ts";

/** A process counts again after it has admitted this share of the maximum: others on the same store create namespaces too. */
const partOfAll = 1 / 100;
/** A full store is looked at this often at most. */
const lookEveryMs = 1_000;

/**
 * Keeps a store below so many namespaces: each is looked after every second, and none ever goes away. Only the first commit to a namespace that is not known
 * here waits for it. One process never passes the limit; several on one store may together, by a hundredth for each.
 */
export class NamespaceQuota {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #max: number;
  /** Those that existed at the last count, and those admitted since. */
  #known = new Set<string>();
  /** Admitted, but not stored before their first commit has ended. */
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

  /** The first commit to a namespace. */
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
        hint: "Use one that is there already, or raise the limit (namespacesMax).",
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

  /** One at a time, shared by everybody who needs it. */
  #look(): Promise<void> {
    this.#looking ??= this.#list().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #list(): Promise<void> {
    // The list may have been read before they were there, and come after their commits have ended.
    const making = [...this.#making];
    const names = await this.#engine.namespaces();
    this.#known = new Set([...names.filter((name) => !isReservedNamespace(name)), ...making, ...this.#making]);
    this.#letIn = 0;
    this.#lookedAtMs = this.#clock.nowMs();
  }
}
