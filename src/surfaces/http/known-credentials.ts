import type { Principal } from "../../domain/identity/principal.ts";

/** A principal for a while, or that there is none. */
interface Verdict {
  readonly principal?: Principal;
  readonly atMs: number;
  readonly freshMs: number;
}

/**
 * What was found out about credentials lately, by a hash of each, never by the credential. Bounded: a flood of wrong ones pushes out other wrong ones, and never
 * a good one. Entries that are no longer fresh stay as long as there is room: a credential that was good a moment ago is worth another look.
 */
export class KnownCredentials {
  readonly #good = new Map<string, Verdict>();
  readonly #bad = new Map<string, Verdict>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** `unsure`: it was good, and must be looked at again. */
  read(hash: string, nowMs: number): { readonly is: "good"; readonly principal: Principal } | { readonly is: "bad" | "unsure" | "unknown" } {
    const good = this.#good.get(hash);
    if (good !== undefined) return isFresh(good, nowMs) ? { is: "good", principal: good.principal as Principal } : { is: "unsure" };
    const bad = this.#bad.get(hash);
    return { is: bad !== undefined && isFresh(bad, nowMs) ? "bad" : "unknown" };
  }

  set(hash: string, principal: Principal | undefined, nowMs: number, freshMs: number): void {
    this.#good.delete(hash);
    this.#bad.delete(hash);
    const verdicts = principal === undefined ? this.#bad : this.#good;
    const [oldest] = verdicts.keys();
    if (verdicts.size >= this.#entriesMax && oldest !== undefined) verdicts.delete(oldest);
    verdicts.set(hash, { principal, atMs: nowMs, freshMs });
  }

  get size(): number {
    return this.#good.size + this.#bad.size;
  }
}

/** A clock that was set back must not make anything last longer. */
const isFresh = ({ atMs, freshMs }: Verdict, nowMs: number): boolean => nowMs >= atMs && nowMs - atMs < freshMs;
