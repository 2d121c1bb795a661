import type { Principal } from "../../domain/identity/principal.ts";

/** The cached result for a credential: its principal, or that it is invalid. */
interface Verdict {
  readonly principal?: Principal;
  readonly atMs: number;
  readonly freshMs: number;
}

/**
 * Recent results for credentials, by a hash of each, never by the credential itself. Bounded: a flood of wrong credentials evicts other wrong ones, never
 * a valid one. Stale entries stay while there is room: a credential that was valid a moment ago deserves another lookup.
 */
export class KnownCredentials {
  readonly #good = new Map<string, Verdict>();
  readonly #bad = new Map<string, Verdict>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** `unsure`: it was valid and must be looked up again. */
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

/** If the clock was set back, entries must not last longer. */
const isFresh = ({ atMs, freshMs }: Verdict, nowMs: number): boolean => nowMs >= atMs && nowMs - atMs < freshMs;
