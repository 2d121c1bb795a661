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
 * Of the secret only a hash is stored. It has 256 random bits, so a plain hash is as hard to undo as a slow one, and costs microseconds.
 */
export interface AccessToken {
  readonly id: string;
  /** The principal that history names. Two tokens may share it, as when one replaces the other: they are one principal then. */
  readonly name: string;
  readonly role: Role;
  readonly namespaces: readonly string[] | "*";
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly expiresAtMs?: number;
  /** Exact to about a minute. */
  readonly lastUsedAtMs?: number;
}

export interface NewToken {
  readonly name: string;
  readonly role: Role;
  readonly namespaces: readonly string[] | "*";
  /** Absent = until it is revoked. */
  readonly ttlMs?: number;
}

/** `tokensWithinMax`: those for namespaces of one maker who may not use all of them, whoever made them; the rest is for the others. */
export const tokenLimits = { tokensMax: 500, tokensWithinMax: 100, nameBytesMax: 64, namespacesMax: 100, useNotedEveryMs: 60_000 } as const;

/** Says what it is wherever it turns up, so that scanners and people recognise it. The last part is the check value, which tokens of earlier versions lack. */
const secretForm = /^hf_[A-Za-z0-9_-]{43}([A-Za-z0-9_-]{8})?$/;
export const isTokenSecret = (text: string): boolean => secretForm.test(text);

/**
 * Ends every new secret and follows from the rest by a key of the store: whoever makes a secret up does not meet it, which shows without a read.
 * It opens nothing. A token is good because its hash is stored, and for no other reason.
 */
const checkLength = 8;
const checkOf = (random: string, checkKey: string): string => createHmac("sha256", checkKey).update(random).digest("base64url").slice(0, checkLength);
const newSecret = (checkKey: string): string => {
  const random = `hf_${randomBase64Url(32)}`;
  return random + checkOf(random, checkKey);
};

export const hasCheckValue = (secret: string): boolean => secretForm.exec(secret)?.[1] !== undefined;
export const meetsCheck = (secret: string, checkKey: string): boolean => secret.slice(-checkLength) === checkOf(secret.slice(0, -checkLength), checkKey);

/** Undefined until the first token with a check value is made. */
export async function readCheckKey({ store }: Pick<Scope, "store">): Promise<string | undefined> {
  return checkKeyIn((await store.read(keyRange(tokenKeys.roll))).entries[0]);
}

function checkKeyIn(roll: Entry | undefined): string | undefined {
  const { check } = (roll?.value ?? {}) as { readonly check?: Json };
  return typeof check === "string" && /^[0-9a-f]{64}$/.test(check) ? check : undefined;
}

const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

/**
 * Follows from the secret, so that a lookup is one read; and tells nothing of it. Another hash than the stored one: an id may be shown, and
 * whoever knows a part of what is compared could find the rest piece by piece.
 */
const idOf = (secret: string): string => createHash("sha256").update(`holdfast token id\0${secret}`).digest("hex").slice(0, 16);

/**
 * The only moment at which anybody sees the secret. Takes no request key: to answer twice it would have to be stored.
 * Without a `maker` it is whoever has the store itself in hand, who may do everything.
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
    // By the store's own clock: what was within the maker's time when it was asked for may have come to lie a moment beyond.
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
  new HoldfastError("limit_exceeded", `${who} ${max} tokens already; nothing was changed.`, { hint: "Revoke those that nobody uses any more." });

/** Those that are valid now, oldest first. */
export async function listTokens({ store }: Pick<Scope, "store">): Promise<readonly AccessToken[]> {
  const [records, uses] = await Promise.all([store.read(tokenKeys.all), store.read(tokenKeys.uses, { values: false })]);
  const usedAt = new Map(uses.entries.map((entry) => [tokenKeys.idOf(entry.key), entry.updatedAtMs]));
  return records.entries.map((entry) => tokenOf(entry, usedAt.get(tokenKeys.idOf(entry.key)))).sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
}

export async function hasToken({ store }: Pick<Scope, "store">): Promise<boolean> {
  return (await store.read(tokenKeys.all, { limit: 1, values: false })).entries.length > 0;
}

/** By the beginning of its id, where only one begins so. */
export async function requireToken({ store }: Pick<Scope, "store">, part: string): Promise<AccessToken> {
  // A whole secret given by mistake must not be repeated in the refusal.
  if (!/^[0-9a-f]{1,16}$/.test(part)) throw invalidInput("id", "must be the id of a token or its beginning: up to 16 of 0-9 and a-f");
  const { entries } = await store.read(tokenKeys.beginning(part));
  const [entry, another] = entries;
  if (entry === undefined) throw new HoldfastError("not_found", `There is no token whose id begins with ${part}.`);
  if (another === undefined) return tokenOf(entry);
  const candidates = entries.map((each) => tokenOf(each)).map(({ id, name }) => ({ id, name }));
  throw new HoldfastError("ambiguous", `${candidates.length} tokens have an id that begins with ${part}: ${candidates.map(({ id, name }) => `${id} (${name})`).join(", ")}`, {
    hint: "Give more of the id.",
    details: { candidates },
  });
}

/** Ends it for good, on every node within the time that a lookup is remembered. False: it was not there any more. */
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
  /** The engine's clock, by which the token expires. */
  readonly nowMs: number;
  /** Of the entry that says when it was used last. */
  readonly useVersion: number;
}

/** The token with this secret, if it is valid now. */
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

/** Lands once when many nodes see the same use, and never for a token that was revoked meanwhile. */
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

/** Shown in terminals, pages and history: letters, digits and a few signs, nothing that could steer or imitate. A colon stands only in names of other kinds of principals. */
const nameForm = /^[\p{L}\p{N}][\p{L}\p{N}._@ -]*$/u;

/** Those with letters that look like another's. */
const alphabets = [/\p{Script=Latin}/u, /\p{Script=Greek}/u, /\p{Script=Cyrillic}/u, /\p{Script=Armenian}/u, /\p{Script=Cherokee}/u];

function checked({ name, role, namespaces, ttlMs }: NewToken): NewToken {
  if (typeof name !== "string" || !nameForm.test(name) || Buffer.byteLength(name) > tokenLimits.nameBytesMax || name.endsWith(" "))
    throw invalidInput("name", `must begin with a letter or digit, then letters, digits, space and . _ @ -, at most ${tokenLimits.nameBytesMax} bytes`);
  if (alphabets.filter((alphabet) => alphabet.test(name)).length > 1)
    throw invalidInput("name", "must not mix letters of Latin, Greek, Cyrillic, Armenian or Cherokee: some of them look alike, and a name must not pass for another");
  // History would take it for what the store does by itself.
  if (sameName(name, systemWriter)) throw invalidInput("name", `must not be ${systemWriter}, which history writes for the store itself`);
  requireOneOf(role, "role", roles);
  if (ttlMs !== undefined) requireTtl(ttlMs, "expires");
  return { name, role, namespaces: requireNamespaces(namespaces), ttlMs };
}

function requireNamespaces(namespaces: unknown): readonly string[] | "*" {
  if (namespaces === "*") return "*";
  if (!Array.isArray(namespaces) || namespaces.length === 0 || namespaces.some((name) => typeof name !== "string"))
    throw invalidInput("namespaces", 'must be "*" or a list of names, the first of which is the default');
  if (namespaces.length > tokenLimits.namespacesMax)
    throw new HoldfastError("limit_exceeded", `namespaces: may have ${tokenLimits.namespacesMax} names; this one has ${namespaces.length}`, { details: { field: "namespaces" } });
  for (const name of namespaces as readonly string[]) requireNamespace(name);
  return [...new Set(namespaces as readonly string[])];
}

type StoredToken = { readonly name: string; readonly role: Role; readonly namespaces: readonly string[] | "*"; readonly hash: string };

/** Checked again: a record that does not hold together must never become a permission. */
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
