import type { JWTPayload } from "jose";
import type { Principal, Role } from "../../domain/identity/principal.ts";
import { roles } from "../../domain/identity/principal.ts";
import { tokenLimits } from "../../domain/identity/tokens.ts";
import type { Clock } from "../../kernel/clock.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { requireNamespace } from "../../store/namespace-store.ts";
import { IssuerKeys } from "./jwt-keys.ts";
import type { JwtSettings } from "./jwt-settings.ts";
import { oauthScopeOf } from "./resource-metadata.ts";

export type Verified =
  | { readonly is: "good"; readonly principal: Principal; readonly expiresAtMs: number }
  | { readonly is: "bad" }
  /** The issuer identifies the caller, but grants it nothing here. */
  | { readonly is: "forbidden"; readonly says: string };

export interface JwtVerifier {
  looksLike(text: string): boolean;
  /** Whether its claims could be valid, without a signature check: this issuer, not expired, signed with a known key. Costs almost nothing and proves nothing. */
  mayBeGood(text: string): boolean;
  /** Throws `unavailable` if the issuer's keys cannot be fetched. */
  verify(text: string): Promise<Verified>;
}

export interface JwtOptions {
  readonly settings: JwtSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** The time limit for fetching the issuer's keys. */
  readonly answerMsMax?: number;
}

/** Machines' clocks differ a little. */
const toleranceSeconds = 30;
/** The latest time that a Date can represent; an issuer may write any number. */
const latestMs = 8.64e15;
const compactForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Verifies tokens signed by a configured issuer. The library that parses them is loaded with the first one. */
export function openJwtVerifier({ settings, clock, log, answerMsMax }: JwtOptions): JwtVerifier {
  const { issuer, audiences, algorithms, jwksUrl } = settings;
  const keys = new IssuerKeys({ issuer, jwksUrl, clock, log, answerMsMax });
  return {
    looksLike: (text) => compactForm.test(text),
    mayBeGood(text) {
      const [header, payload] = text.split(".", 2).map(unverified);
      if (header === undefined || payload === undefined) return false;
      const { iss, exp } = payload;
      const isCurrent = typeof exp === "number" && (exp + toleranceSeconds) * 1_000 > clock.nowMs();
      return iss === issuer && isCurrent && (algorithms as readonly unknown[]).includes(header.alg) && keys.mayHave(header.kid);
    },
    async verify(text) {
      const { jwtVerify, errors } = await import("jose");
      try {
        const { payload, protectedHeader } = await jwtVerify(text, (header) => keys.keyFor(header), {
          issuer,
          audience: [...audiences],
          algorithms: [...algorithms],
          clockTolerance: toleranceSeconds,
          requiredClaims: ["exp", "sub"],
          currentDate: new Date(clock.nowMs()),
        });
        // An issuer also signs other things, such as logout notices, which name a subject but grant nothing.
        if (!isAccessType(protectedHeader.typ)) {
          log("info", "jwt_refused", { reason: "typ" });
          return { is: "bad" };
        }
        return principalOf(payload, settings);
      } catch (error) {
        if (isHoldfastError(error)) throw error;
        // The reason is for the operator's log. It names a claim or a rule, never the token's contents.
        log("info", "jwt_refused", {
          reason: error instanceof errors.JOSEError ? error.code : "malformed",
          claim: error instanceof errors.JWTClaimValidationFailed ? error.claim : undefined,
        });
        return { is: "bad" };
      }
    },
  };
}

const accessTypes = new Set(["jwt", "at+jwt", "application/jwt", "application/at+jwt"]);
const isAccessType = (typ: unknown): boolean => typ === undefined || (typeof typ === "string" && accessTypes.has(typ.toLowerCase()));

/** One decoded part of a token, not verified yet. */
function unverified(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** The name appears in terminals, pages and history, so it must not contain control or look-alike formatting characters. */
const subjectForm = /^(?! )[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,256}(?<! )$/u;

function principalOf(payload: JWTPayload, { roleClaim, namespacesClaim }: JwtSettings): Verified {
  const { sub, exp } = payload;
  if (typeof sub !== "string" || !subjectForm.test(sub) || exp === undefined) return { is: "bad" };
  const role = roleIn(wordsOf(claimOf(payload, roleClaim)), roleClaim);
  if (role === undefined) return { is: "forbidden", says: `The token's claim ${JSON.stringify(roleClaim)} grants no role here.` };
  const namespaces = namespacesIn(claimOf(payload, namespacesClaim));
  if (namespaces === undefined) return { is: "forbidden", says: `The token's claim ${JSON.stringify(namespacesClaim)} grants no namespace here.` };
  // The colon distinguishes it from names of tokens, which have none, and of system users.
  return {
    is: "good",
    principal: { name: `jwt:${sub}`, role, namespaces, kind: "jwt", expiresAtMs: Math.floor(Math.min(exp * 1_000, latestMs)) },
    expiresAtMs: (exp + toleranceSeconds) * 1_000,
  };
}

/** Finds a claim by its name, which may contain dots, as URLs do; otherwise by a path through objects. */
function claimOf(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  let value: unknown = payload;
  for (const part of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[part];
  }
  return value;
}

/** A list of words, or words separated by spaces. */
function wordsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return value.split(" ");
  return Array.isArray(value) ? value.filter((word) => typeof word === "string") : [];
}

/** The highest role granted. Scopes are shared with other services, where "admin" alone may mean anything, so only our prefixed words count there. */
function roleIn(words: readonly string[], claim: string): Role | undefined {
  const isShared = claim === "scope" || claim === "scp";
  return roles.findLast((role) => words.includes(oauthScopeOf(role)) || (!isShared && words.includes(role)));
}

/** Names may contain spaces, so a string is one name. Invalid names are left out. */
function namespacesIn(value: unknown): Principal["namespaces"] | undefined {
  const names = typeof value === "string" ? [value] : Array.isArray(value) ? value.filter((name) => typeof name === "string").slice(0, tokenLimits.namespacesMax) : [];
  if (names.includes("*")) return "*";
  const usable = names.filter(isNamespace);
  return usable.length === 0 ? undefined : [...new Set(usable)];
}

function isNamespace(name: string): boolean {
  try {
    requireNamespace(name);
    return true;
  } catch {
    return false;
  }
}
