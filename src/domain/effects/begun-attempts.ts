import type { Revision } from "../../store/store.ts";
import type { EffectRecord } from "./effect.ts";

/** An attempt that this process began, as its commit wrote it. */
export interface BegunAttempt {
  readonly token: Revision;
  readonly record: EffectRecord;
  readonly agent?: string;
  /** The store's time of the commit, and this process's when it was answered. */
  readonly atStoreMs: number;
  readonly atHostMs: number;
}

/** Reports of older attempts read the record first. */
const attemptsMax = 1_000;

/** The attempts in flight of this process, so that their outcome can be reported without reading the record first: one round trip less. */
export class BegunAttempts {
  readonly #byId = new Map<string, BegunAttempt>();

  note(id: string, attempt: BegunAttempt): void {
    this.#byId.delete(id);
    this.#byId.set(id, attempt);
    for (const oldest of this.#byId.keys()) {
      if (this.#byId.size <= attemptsMax) break;
      this.#byId.delete(oldest);
    }
  }

  /** The attempt with this token, once. */
  take(id: string, token: Revision): BegunAttempt | undefined {
    const attempt = this.#byId.get(id);
    if (attempt?.token !== token) return undefined;
    this.#byId.delete(id);
    return attempt;
  }
}
