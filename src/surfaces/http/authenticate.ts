import { hash as hashOf } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Principal } from "../../domain/identity/principal.ts";
import { hasCheckValue, hasToken, isTokenSecret, isUseDue, meetsCheck, noteTokenUse, readCheckKey, readTokenBySecret } from "../../domain/identity/tokens.ts";
import type { Clock } from "../../kernel/clock.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Store } from "../../store/store.ts";
import { readCredential } from "./bearer.ts";
import type { GuessLimits } from "./guess-limit.ts";
import { GuessLimit, guessLimits } from "./guess-limit.ts";
import type { JwtVerifier } from "./jwt.ts";
import { KnownCredentials } from "./known-credentials.ts";
import { isLocalRequest } from "./local-operator.ts";
import { Refusal, retryAfter } from "./refusal.ts";
import type { Challenges } from "./resource-metadata.ts";

/** Identifies the sender of a request, from its headers and its socket only. */
export type Authenticate = (request: IncomingMessage) => Promise<Principal | Refusal>;

export interface AuthenticateOptions {
  /** The name of the local operator; absent if the server listens on a wider address or requires a token from every caller. */
  readonly operator?: string;
  /** The system namespace, which stores tokens. */
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** False on a read-only server, which does not record when a token was used. */
  readonly notesUse: boolean;
  /** Absent if no issuer is configured. */
  readonly jwt?: JwtVerifier;
  readonly challenges: Challenges;
  readonly limits?: GuessLimits;
}

/** How long a looked-up token is trusted without another lookup. A revoked token may work on another node for this long. */
export const revokedWithinMs = 2_000;
/** A JWT is valid until it expires; its signature is not verified again for this long. */
const jwtFreshMs = 30_000;
const knownMax = 2_000;
/** The check key is read at most this often, whatever callers send. */
const checkKeyFreshMs = 2_000;

export function openAuthenticate({ operator, store, clock, log, notesUse, jwt, challenges, limits = guessLimits }: AuthenticateOptions): Authenticate {
  const known = new KnownCredentials(knownMax);
  const budgetOf = (): GuessLimit => new GuessLimit(limits, clock.nowMs());
  /** One budget for any credential. When guesses have used it up, there is one more for each kind that is likely to be valid. */
  const guesses = { any: budgetOf(), likelyToken: budgetOf(), likelyJwt: budgetOf() };
  let check: { readonly key: Promise<string | undefined>; readonly atMs: number } | undefined;
  const lookups = new Map<string, Promise<Principal | Refusal>>();
  const local: Principal | undefined = operator === undefined ? undefined : { name: operator, role: "admin", namespaces: "*", kind: "operator" };

  return async (request) => {
    const credential = readCredential(request);
    if (credential.kind === "none") return local !== undefined && isLocalRequest(request) ? local : wanted(challenges.wanted(request));
    if (credential.kind === "malformed") return wrong(challenges.wrong(request));
    const { secret } = credential;
    const isOpaque = isTokenSecret(secret);
    if (!isOpaque && (jwt === undefined || !jwt.looksLike(secret))) return wrong(challenges.wrong(request));
    // A one-way hash, so that no credential stays in memory longer than the request.
    const hash = hashOf("sha256", secret, "base64");
    const verdict = known.read(hash, clock.nowMs());
    if (verdict.is === "good") return verdict.principal;
    if (verdict.is === "bad") return wrong(challenges.wrong(request));
    return lookups.get(hash) ?? lookUp(request, hash, verdict.is === "unsure", secret);
  };

  /** Checks the token's check value. Tokens of earlier versions have none and are treated like any guess. */
  async function isLikely(secret: string): Promise<boolean> {
    if (!hasCheckValue(secret)) return false;
    const nowMs = clock.nowMs();
    // The key is created with the first token. It is read again in case the store was restored from another one.
    if (check === undefined || nowMs - check.atMs >= checkKeyFreshMs || nowMs < check.atMs) check = { key: checkKey(check?.key), atMs: nowMs };
    const key = await check.key;
    return key !== undefined && meetsCheck(secret, key);
  }

  /** If the store does not respond, returns the previous key: the lookup that follows meets the same failure and reports it. */
  function checkKey(before: Promise<string | undefined> | undefined): Promise<string | undefined> {
    return readCheckKey({ store }).catch((error: unknown) => {
      log("debug", "check_key_not_read", { problem: String(error) });
      return before;
    });
  }

  /** Concurrent requests with one credential share one lookup. */
  function lookUp(request: IncomingMessage, hash: string, wasGood: boolean, secret: string): Promise<Principal | Refusal> {
    const find = () => (isTokenSecret(secret) ? findToken(secret) : findJwt(jwt as JwtVerifier, secret));
    const peer = request.socket.remoteAddress;
    const guess = async (): Promise<Principal | Refusal> => {
      const budget = await budgetFor(peer, secret);
      if (budget === undefined) return new Refusal("rate_limited", "Too many unknown credentials from this address; this one was not checked.", { headers: retryAfter(1_000) });
      const answer = await judge(request, hash, find);
      if (!(answer instanceof Refusal)) budget.giveBack(peer, clock.nowMs());
      return answer;
    };
    const lookup = (wasGood ? judge(request, hash, find) : guess()).finally(() => lookups.delete(hash));
    lookups.set(hash, lookup);
    return lookup;
  }

  /** The first budget that is not used up; one lookup is deducted from it. */
  async function budgetFor(peer: string | undefined, secret: string): Promise<GuessLimit | undefined> {
    if (guesses.any.tryTake(peer, clock.nowMs())) return guesses.any;
    const isToken = isTokenSecret(secret);
    if (!(isToken ? await isLikely(secret) : jwt?.mayBeGood(secret))) return undefined;
    const budget = isToken ? guesses.likelyToken : guesses.likelyJwt;
    return budget.tryTake(peer, clock.nowMs()) ? budget : undefined;
  }

  async function judge(request: IncomingMessage, hash: string, find: () => Promise<Found>): Promise<Principal | Refusal> {
    let found: Found;
    try {
      found = await find();
    } catch (error) {
      // Whether the credential is valid is unknown right now, so neither accept nor reject it.
      log("warn", "credential_not_checked", { problem: isHoldfastError(error) ? `${error.code}: ${error.message}` : String(error) });
      return isHoldfastError(error, "moved")
        ? new Refusal("moved", "The store of this server was moved; nothing was changed.")
        : new Refusal("unavailable", "The credential cannot be checked right now.", { headers: retryAfter(1_000) });
    }
    if (found.is === "forbidden") return new Refusal("forbidden", found.says, { headers: challenges.insufficient(request) });
    const principal = found.is === "good" ? found.principal : undefined;
    known.set(hash, principal, clock.nowMs(), found.is === "good" ? found.freshMs : revokedWithinMs);
    if (principal !== undefined) return principal;
    log("info", "credential_refused", { peer: request.socket.remoteAddress });
    return wrong(challenges.wrong(request));
  }

  async function findToken(secret: string): Promise<Found> {
    const found = await readTokenBySecret({ store }, secret);
    if (found === undefined) return { is: "bad" };
    const { token, nowMs } = found;
    // Not awaited: failing to record a use is no reason to reject the request.
    if (notesUse && isUseDue(found)) void noteTokenUse({ store }, found).catch((error: unknown) => log("debug", "token_use_not_noted", { problem: String(error) }));
    const { id: tokenId, name, role, namespaces, expiresAtMs } = token;
    return {
      is: "good",
      principal: { name, role, namespaces, kind: "token", tokenId, expiresAtMs },
      freshMs: Math.min(revokedWithinMs, (expiresAtMs ?? Number.POSITIVE_INFINITY) - nowMs),
    };
  }

  async function findJwt(verifier: JwtVerifier, secret: string): Promise<Found> {
    const verified = await verifier.verify(secret);
    return verified.is === "good" ? { ...verified, freshMs: Math.min(jwtFreshMs, verified.expiresAtMs - clock.nowMs()) } : verified;
  }
}

type Found = { readonly is: "good"; readonly principal: Principal; readonly freshMs: number } | { readonly is: "bad" } | { readonly is: "forbidden"; readonly says: string };

const wanted = (headers: Readonly<Record<string, string>>): Refusal =>
  new Refusal("unauthenticated", "This server requires a token.", { hint: "Send it as Authorization: Bearer TOKEN. Create one with holdfast token create.", headers });

/** One message for every reason: callers without a valid token must not learn the reason. */
const wrong = (headers: Readonly<Record<string, string>>): Refusal =>
  new Refusal("unauthenticated", "The credential is not valid here: it is malformed, unknown, expired or revoked.", {
    hint: "Send Authorization: Bearer TOKEN with a token of this server.",
    headers,
  });

/** Whether any remote caller could authenticate. A server on a non-loopback address must not start otherwise. */
export const hasUsableCredential = async (store: Store, jwtIssuer: string | undefined): Promise<boolean> =>
  (jwtIssuer !== undefined && jwtIssuer !== "") || (await hasToken({ store }));
