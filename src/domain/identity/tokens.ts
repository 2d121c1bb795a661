import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { randomBase64Url, randomHex } from "../../kernel/ids.ts";
import type { Json } from "../../kernel/json.ts";
import { requireNamespace } from "../../store/namespace-store.ts";
import { requireTtl } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Entry, Store } from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { tokenKeys } from "../keyspace.ts";
import { requireOneOf } from "../read-fields.ts";
import type { Role } from "./principal.ts";
import { isWithin, roles } from "./principal.ts";
import type { TokenMaker } from "./token-maker.ts";
import { requireFreeName, sameName } from "./token-maker.ts";

/**
 * Opaque tokens, kept in the store itself so that every node knows them. All operations take a scope on the system namespace.
 * Only a hash of the secret is stored. The secret has 256 random bits, so a plain hash is as hard to reverse as a slow one and takes only microseconds.
 */
export interface AccessToken {
  readonly id: string;
  /** The name that history records as the writer. Two tokens may share a name, as when one replaces the other; they then count as one principal. */
  readonly name: string;
  readonly role: Role;
  readonly namespaces: readonly string[] | "*";
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly expiresAtMs?: number;
  /** Accurate to about a minute. */
  readonly lastUsedAtMs?: number;
}

export interface NewToken {
  readonly name: string;
  readonly role: Role;
  readonly namespaces: readonly string[] | "*";
  /** Absent = valid until revoked. */
  readonly ttlMs?: number;
}

/** `tokensWithinMax` limits the tokens in a maker's namespaces, regardless of who made them, if the maker may not use every namespace. It leaves room for other makers. */
export const tokenLimits = { tokensMax: 500, tokensWithinMax: 100, nameBytesMax: 64, namespacesMax: 100, useNotedEveryMs: 60_000 } as const;

/** The prefix lets scanners and people recognise a leaked secret. The optional last part is the check value, which tokens of earlier versions lack. */
const secretForm = /^hf_[A-Za-z0-9_-]{43}([A-Za-z0-9_-]{8})?$/;
export const isTokenSecret = (text: string): boolean => secretForm.test(text);

/**
 * Every new secret ends with a check value: an HMAC of the rest, under a key kept in the store. An invented secret fails the check, so it
 * is rejected without a read. The check value grants no access: a token is valid only because its hash is stored.
 */
const checkLength = 8;
const checkOf = (random: string, checkKey: string): string => createHmac("sha256", checkKey).update(random).digest("base64url").slice(0, checkLength);
const newSecret = (checkKey: string): string => {
  const random = `hf_${randomBase64Url(32)}`;
  return random + checkOf(random, checkKey);
};

export const hasCheckValue = (secret: string): boolean => secretForm.exec(secret)?.[1] !== undefined;
export const meetsCheck = (secret: string, checkKey: string): boolean => secret.slice(-checkLength) === checkOf(secret.slice(0, -checkLength), checkKey);

/** Undefined until the first token with a check value is created. */
export async function readCheckKey({ store }: Pick<Scope, "store">): Promise<string | undefined> {
  return checkKeyIn((await store.read(keyRange(tokenKeys.roll))).entries[0]);
}

function checkKeyIn(roll: Entry | undefined): string | undefined {
  const { check } = (roll?.value ?? {}) as { readonly check?: Json };
  return typeof check === "string" && /^[0-9a-f]{64}$/.test(check) ? check : undefined;
}

const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

/**
 * Derived from the secret, so that a lookup is one read, but reveals nothing about it. The id uses a different hash than the stored
 * one because ids may be shown: anyone who knew part of the stored hash could work out the rest piece by piece.
 */
const idOf = (secret: string): string => createHash("sha256").update(`holdfast token id\0${secret}`).digest("hex").slice(0, 16);

/**
 * The secret is visible only in this result. There is no request key, because a retry could return the same secret only if the store kept it.
 * Without a `maker`, the caller has direct access to the store and may do anything.
 */
export async function createToken({ store, writer }: Scope, input: NewToken, maker?: TokenMaker): Promise<{ readonly token: AccessToken; readonly secret: string }> {
  const { name, role, namespaces, ttlMs: askedTtlMs } = checked(input);
  for (;;) {
    const { entries, nowMs } = await store.read([keyRange(tokenKeys.roll), tokenKeys.all]);
    const roll = entries.find(({ key }) => key === tokenKeys.roll);
    const records = entries.filter((entry) => entry !== roll);
    if (records.length >= tokenLimits.tokensMax) throw tooMany("There are", tokenLimits.tokensMax);
    if (maker !== undefined) {
      const tokens = records.map((entry) => tokenOf(entry));
      requireFreeName(maker, { name, namespaces }, tokens);
      const within = tokens.filter((token) => isWithin(maker, token.namespaces));
      if (maker.namespaces !== "*" && within.length >= tokenLimits.tokensWithinMax) throw tooMany("The namespaces that you may use have", tokenLimits.tokensWithinMax);
    }
    // The store's clock decides. A lifetime that ended with the maker's at the time of the request may end a moment later by now.
    const ttlMs = maker?.expiresAtMs === undefined ? askedTtlMs : Math.max(1, Math.min(askedTtlMs ?? Number.POSITIVE_INFINITY, maker.expiresAtMs - nowMs));
    const check = checkKeyIn(roll) ?? randomHex(64);
    const secret = newSecret(check);
    const id = idOf(secret);
    const result = await store.commit({
      checks: [
        { key: tokenKeys.record(id), is: "absent" },
        { key: tokenKeys.roll, version: roll?.version ?? 0 },
      ],
      writes: [
        {
          op: "put",
          key: tokenKeys.record(id),
          value: { name, role, namespaces, hash: hashOf(secret).toString("hex") },
          ttlMs,
          record: { kind: "token", op: "create", subject: id },
          lapse: ttlMs === undefined ? undefined : { kind: "token", op: "expire", subject: id },
        },
        { op: "put", key: tokenKeys.roll, value: { check } },
      ],
      writer,
    });
    if (!result.ok) continue;
    return { secret, token: { id, name, role, namespaces, createdAtMs: result.atMs, createdBy: writer, expiresAtMs: result.writes[0]?.expiresAtMs } };
  }
}

const tooMany = (who: string, max: number): HoldfastError =>
  new HoldfastError("limit_exceeded", `${who} ${max} tokens already; nothing was changed.`, { hint: "Revoke tokens that are no longer used." });

/** Valid tokens, oldest first. */
export async function listTokens({ store }: Pick<Scope, "store">): Promise<readonly AccessToken[]> {
  const [records, uses] = await Promise.all([store.read(tokenKeys.all), store.read(tokenKeys.uses, { values: false })]);
  const usedAt = new Map(uses.entries.map((entry) => [tokenKeys.idOf(entry.key), entry.updatedAtMs]));
  return records.entries.map((entry) => tokenOf(entry, usedAt.get(tokenKeys.idOf(entry.key)))).sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
}

export async function hasToken({ store }: Pick<Scope, "store">): Promise<boolean> {
  return (await store.read(tokenKeys.all, { limit: 1, values: false })).entries.length > 0;
}

/** Finds a token by a prefix of its id that matches no other token. */
export async function requireToken({ store }: Pick<Scope, "store">, part: string): Promise<AccessToken> {
  // The error must not repeat the input: the caller may have passed a secret by mistake.
  if (!/^[0-9a-f]{1,16}$/.test(part)) throw invalidInput("id", "must be a token's id or its first characters (0-9 and a-f, at most 16)");
  const { entries } = await store.read(tokenKeys.beginning(part));
  const [entry, another] = entries;
  if (entry === undefined) throw new HoldfastError("not_found", `There is no token whose id begins with ${part}.`);
  if (another === undefined) return tokenOf(entry);
  const candidates = entries.map((each) => tokenOf(each)).map(({ id, name }) => ({ id, name }));
  throw new HoldfastError("ambiguous", `${candidates.length} tokens have an id that begins with ${part}: ${candidates.map(({ id, name }) => `${id} (${name})`).join(", ")}`, {
    hint: "Pass more characters of the id.",
    details: { candidates },
  });
}

/** Revokes a token permanently. Other nodes follow once their cached lookup expires. Returns false if the token no longer existed. */
export async function revokeToken({ store, writer }: Scope, id: string): Promise<boolean> {
  const result = await store.commit({
    writes: [
      { op: "delete", key: tokenKeys.record(id), record: { kind: "token", op: "revoke", subject: id } },
      { op: "delete", key: tokenKeys.used(id) },
    ],
    writer,
  });
  return result.ok && result.writes[0]?.existed === true;
}

export interface FoundToken {
  readonly token: AccessToken;
  /** The engine's clock, which decides when the token expires. */
  readonly nowMs: number;
  /** The version of the entry that records the last use. */
  readonly useVersion: number;
}

/** Finds the token with this secret if it is currently valid. */
export async function readTokenBySecret({ store }: { readonly store: Store }, secret: string): Promise<FoundToken | undefined> {
  if (!isTokenSecret(secret)) return undefined;
  const id = idOf(secret);
  const { entries, nowMs } = await store.read([keyRange(tokenKeys.record(id)), keyRange(tokenKeys.used(id))]);
  const entry = entries.find(({ key }) => key === tokenKeys.record(id));
  const use = entries.find(({ key }) => key === tokenKeys.used(id));
  if (entry === undefined || !timingSafeEqual(hashIn(entry), hashOf(secret))) return undefined;
  return { token: tokenOf(entry, use?.updatedAtMs), nowMs, useVersion: use?.version ?? 0 };
}

export const isUseDue = ({ token: { lastUsedAtMs }, nowMs }: FoundToken): boolean => lastUsedAtMs === undefined || nowMs - lastUsedAtMs >= tokenLimits.useNotedEveryMs;

/** If many nodes see the same use, only one write succeeds. The use of a token that has been revoked meanwhile is not recorded. */
export async function noteTokenUse({ store }: { readonly store: Store }, { token: { id, expiresAtMs }, nowMs, useVersion }: FoundToken): Promise<void> {
  await store.commit({
    checks: [
      { key: tokenKeys.record(id), is: "present" },
      { key: tokenKeys.used(id), version: useVersion },
    ],
    writes: [{ op: "put", key: tokenKeys.used(id), value: null, ttlMs: expiresAtMs === undefined ? undefined : Math.max(1, expiresAtMs - nowMs) }],
    writer: systemWriter,
  });
}

/**
 * Names appear in terminals, pages and history, so they consist of letters, digits and a few signs: no control characters and
 * nothing that imitates other text. Colons are reserved for the names of other kinds of principals.
 */
const nameForm = /^[\p{L}\p{N}][\p{L}\p{N}._@ -]*$/u;

/** Alphabets with letters that look like letters of another one. */
const alphabets = [/\p{Script=Latin}/u, /\p{Script=Greek}/u, /\p{Script=Cyrillic}/u, /\p{Script=Armenian}/u, /\p{Script=Cherokee}/u];

function checked({ name, role, namespaces, ttlMs }: NewToken): NewToken {
  if (typeof name !== "string" || !nameForm.test(name) || Buffer.byteLength(name) > tokenLimits.nameBytesMax || name.endsWith(" "))
    throw invalidInput("name", `must begin with a letter or digit, then letters, digits, space and . _ @ -, at most ${tokenLimits.nameBytesMax} bytes`);
  if (alphabets.filter((alphabet) => alphabet.test(name)).length > 1)
    throw invalidInput("name", "must not mix letters of Latin, Greek, Cyrillic, Armenian or Cherokee: some of them look alike, and a name must not pass for another");
  // History would attribute the token's writes to the store itself.
  if (sameName(name, systemWriter)) throw invalidInput("name", `must not be ${systemWriter}: history uses that name for the store itself`);
  requireOneOf(role, "role", roles);
  if (ttlMs !== undefined) requireTtl(ttlMs, "expires");
  return { name, role, namespaces: requireNamespaces(namespaces), ttlMs };
}

function requireNamespaces(namespaces: unknown): readonly string[] | "*" {
  if (namespaces === "*") return "*";
  if (!Array.isArray(namespaces) || namespaces.length === 0 || namespaces.some((name) => typeof name !== "string"))
    throw invalidInput("namespaces", 'must be "*" or a list of names, the first of which is the default');
  if (namespaces.length > tokenLimits.namespacesMax)
    throw new HoldfastError("limit_exceeded", `namespaces: must have at most ${tokenLimits.namespacesMax} names (got ${namespaces.length})`, { details: { field: "namespaces" } });
  for (const name of namespaces as readonly string[]) requireNamespace(name);
  return [...new Set(namespaces as readonly string[])];
}

type StoredToken = { readonly name: string; readonly role: Role; readonly namespaces: readonly string[] | "*"; readonly hash: string };

/** Checked on every read: a damaged record must never grant access. */
function storedIn({ key, value }: Entry): StoredToken {
  const { name, role, namespaces, hash } = (value ?? {}) as { readonly [K in keyof StoredToken]?: Json };
  const isWhole =
    typeof name === "string" &&
    (roles as readonly unknown[]).includes(role) &&
    (namespaces === "*" || (Array.isArray(namespaces) && namespaces.length > 0 && namespaces.every((each) => typeof each === "string"))) &&
    typeof hash === "string" &&
    /^[0-9a-f]{64}$/.test(hash);
  if (!isWhole) throw new HoldfastError("store_damaged", `The record of the token ${tokenKeys.idOf(key)} is damaged; revoke it and create another.`);
  return { name, role: role as Role, namespaces: namespaces as StoredToken["namespaces"], hash };
}

const hashIn = (entry: Entry): Buffer => Buffer.from(storedIn(entry).hash, "hex");

function tokenOf(entry: Entry, lastUsedAtMs?: number): AccessToken {
  const { name, role, namespaces } = storedIn(entry);
  return { id: tokenKeys.idOf(entry.key), name, role, namespaces, createdAtMs: entry.createdAtMs, createdBy: entry.writer, expiresAtMs: entry.expiresAtMs, lastUsedAtMs };
}
