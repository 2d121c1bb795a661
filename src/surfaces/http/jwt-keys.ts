import type { JSONWebKeySet, JWSHeaderParameters, LocalJWKSet } from "jose";
import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { mayHaveKeysAt } from "./jwt-settings.ts";

export const keyLimits = {
  /** How long keys are used before they are fetched again, and the maximum if fetching fails. */
  freshMs: 600_000,
  staleMsMax: 86_400_000,
  /** A key that is not in the set may be new, so the set is fetched again, but at most this often: any caller can invent key ids. */
  missMsMin: 30_000,
  /** No fetch is tried for this long after a failure. */
  failedMsMin: 5_000,
  answerMsMax: 5_000,
  documentBytesMax: 262_144,
  keysMax: 100,
} as const;

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** Absent: taken from the issuer's metadata. */
  readonly jwksUrl?: string;
  readonly clock: Clock;
  readonly log: Log;
  /** The time limit for the issuer's response. */
  readonly answerMsMax?: number;
}

/** An issuer's public keys, fetched when needed and cached for a while. There is one fetch at a time, shared by all callers that wait for it. */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: LocalJWKSet | undefined;
  #ids: ReadonlySet<unknown> | undefined;
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #failed = false;
  #fetching: Promise<void> | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** Whether one of the known keys has this id; true while there are none. */
  mayHave(kid: unknown): boolean {
    return kid === undefined || this.#ids === undefined || this.#ids.has(kid);
  }

  /** The key that a token's header names. Throws jose's own error if there is none, `unavailable` if no keys are known at all. */
  async keyFor(header: JWSHeaderParameters): ReturnType<LocalJWKSet> {
    if (this.#age(this.#fetchedAtMs) >= keyLimits.freshMs) await this.#refresh(this.#failed ? keyLimits.failedMsMin : 0);
    try {
      return await this.#current()(header);
    } catch (error) {
      if ((error as { readonly code?: string }).code !== "ERR_JWKS_NO_MATCHING_KEY") throw error;
      await this.#refresh(keyLimits.missMsMin);
      return await this.#current()(header);
    }
  }

  #current(): LocalJWKSet {
    if (this.#keys === undefined || this.#age(this.#fetchedAtMs) >= keyLimits.staleMsMax) throw new HoldfastError("unavailable", "The issuer's keys cannot be fetched.");
    return this.#keys;
  }

  /** If the clock was set back, the age counts as infinite. */
  #age(sinceMs: number): number {
    const age = this.#options.clock.nowMs() - sinceMs;
    return age < 0 ? Number.POSITIVE_INFINITY : age;
  }

  async #refresh(notWithinMs: number): Promise<void> {
    if (this.#fetching === undefined && this.#age(this.#triedAtMs) < notWithinMs) return;
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    await this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { clock, log } = this.#options;
    this.#triedAtMs = clock.nowMs();
    try {
      const [{ createLocalJWKSet }, document] = await Promise.all([import("jose"), this.#fetchKeys()]);
      this.#keys = createLocalJWKSet(document);
      this.#ids = new Set(document.keys.map(({ kid }) => kid));
      this.#fetchedAtMs = clock.nowMs();
      this.#failed = false;
    } catch (error) {
      this.#failed = true;
      log("warn", "issuer_keys_not_fetched", { issuer: this.#options.issuer, problem: error instanceof Error ? error.message : String(error) });
    }
  }

  #read(url: string): Promise<Readonly<Record<string, unknown>>> {
    return fetchDocument(url, this.#options.answerMsMax ?? keyLimits.answerMsMax);
  }

  async #fetchKeys(): Promise<JSONWebKeySet> {
    const document = await this.#read(this.#options.jwksUrl ?? (await this.#discover()));
    const { keys } = document;
    if (!Array.isArray(keys) || keys.length > keyLimits.keysMax) throw new Error(`the key set must have a list of at most ${keyLimits.keysMax} keys`);
    return { keys };
  }

  /** Tries OpenID Connect's address first, then OAuth's, which appends the issuer's path. The metadata must name exactly this issuer. */
  async #discover(): Promise<string> {
    const { issuer } = this.#options;
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/, "");
    const addresses = [`${origin}${path}/.well-known/openid-configuration`, `${origin}/.well-known/oauth-authorization-server${path}`];
    let problem: unknown;
    for (const address of addresses) {
      try {
        const { issuer: named, jwks_uri: jwksUrl } = await this.#read(address);
        if (named !== issuer) throw new Error("the issuer's metadata names another issuer");
        if (typeof jwksUrl !== "string" || !mayHaveKeysAt(issuer, jwksUrl)) throw new Error("the issuer's metadata has no jwks_uri that begins with https:");
        return jwksUrl;
      } catch (error) {
        problem = error;
      }
    }
    throw problem;
  }
}

/** Fetches a JSON object, with limits on size and time and without following redirects. */
async function fetchDocument(url: string, answerMsMax: number): Promise<Readonly<Record<string, unknown>>> {
  const signal = AbortSignal.timeout(answerMsMax);
  const response = await fetch(url, { redirect: "error", headers: { accept: "application/json" }, signal }).catch((cause: unknown) => {
    throw new Error(signal.aborted ? "no answer in time" : "the address cannot be reached, or leads to another one", { cause });
  });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop closes the connection, so an endless response is not awaited.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > keyLimits.documentBytesMax) throw new Error(`the answer has more than ${keyLimits.documentBytesMax} bytes`);
    chunks.push(chunk);
  }
  if (response.status !== 200) throw new Error(`the answer has status ${response.status}`);
  let document: unknown;
  try {
    document = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new Error("the answer is not JSON");
  }
  if (typeof document !== "object" || document === null || Array.isArray(document)) throw new Error("the answer is not a JSON object");
  return document as Readonly<Record<string, unknown>>;
}
