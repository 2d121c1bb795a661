import { describe, expect, test } from "vitest";
import { hasRole, mayUse } from "../../src/domain/identity/principal.ts";
import type { NewToken } from "../../src/domain/identity/tokens.ts";
import {
  createToken,
  hasToken,
  isTokenSecret,
  isUseDue,
  listTokens,
  noteTokenUse,
  readTokenBySecret,
  requireToken,
  revokeToken,
  tokenLimits,
} from "../../src/domain/identity/tokens.ts";
import { systemNamespace, tokenKeys } from "../../src/domain/keyspace.ts";
import type { JsonObject } from "../../src/kernel/json.ts";
import { limits } from "../../src/store/limits.ts";
import { isReservedNamespace, openNamespaceStore, openReservedStore, requireNamespace } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Engine } from "../../src/store/store.ts";
import type { Scope } from "../../src/store/transact.ts";
import { engines } from "../support/engines.ts";
import { manualClock } from "../support/manual-clock.ts";
import { openScope } from "../support/scope.ts";

const ci: NewToken = { name: "ci", role: "write", namespaces: ["builds", "releases"] };

/** The system namespace of a fresh memory store. */
function openSystem() {
  const { engine, clock } = openScope();
  return { ...systemOf(engine, clock), engine, clock };
}

const systemOf = (engine: Engine, clock: Scope["clock"]): Scope => ({ store: openReservedStore(engine, systemNamespace, clock), clock, writer: "ops" });

describe("a role", () => {
  test("includes the ones before it", () => {
    expect(hasRole({ role: "admin" }, "write")).toBe(true);
    expect(hasRole({ role: "write" }, "read")).toBe(true);
    expect(hasRole({ role: "read" }, "write")).toBe(false);
    expect(hasRole({ role: "write" }, "admin")).toBe(false);
  });

  test("reaches only the namespaces that go with it", () => {
    expect(mayUse({ namespaces: ["a"] }, "a")).toBe(true);
    expect(mayUse({ namespaces: ["a"] }, "A")).toBe(false);
    expect(mayUse({ namespaces: ["a"] }, "*")).toBe(false);
    expect(mayUse({ namespaces: "*" }, "anything")).toBe(true);
  });
});

describe("the system namespace", () => {
  test("has a name that no caller can spell", () => {
    expect(isReservedNamespace(systemNamespace)).toBe(true);
    expect(() => requireNamespace(systemNamespace)).toThrow(/must begin with a letter or digit/);
    const { engine, clock } = openScope();
    expect(() => openNamespaceStore(engine, systemNamespace, clock)).toThrow(/must begin with a letter or digit/);
  });

  test("is the only kind that can be opened as reserved", () => {
    const { engine, clock } = openScope();
    for (const name of ["default", "", ".", ".A", "..", ".a/b"]) expect(() => openReservedStore(engine, name, clock), name).toThrow(/reserved/);
  });
});

describe("a token", () => {
  test("is found by its secret, with the role and the namespaces it was given", async () => {
    const scope = openSystem();
    const { token, secret } = await createToken(scope, ci);
    expect(isTokenSecret(secret)).toBe(true);
    expect(token).toMatchObject({ ...ci, createdBy: "ops", createdAtMs: scope.clock.nowMs() });
    expect((await readTokenBySecret(scope, secret))?.token).toEqual(token);
  });

  test("has a secret of 256 random bits that nothing in the store repeats, not even as its id", async () => {
    const scope = openSystem();
    const made = await Promise.all(Array.from({ length: 20 }, () => createToken(scope, ci)));
    const secrets = made.map(({ secret }) => secret);
    expect(new Set(secrets).size).toBe(20);
    const stored = JSON.stringify([await scope.store.read(everything), await scope.store.log({ ranges: [everything] })]);
    for (const { secret, token } of made) {
      expect(Buffer.from(secret.slice("hf_".length, -8), "base64url")).toHaveLength(32);
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(secret.slice("hf_".length));
      expect(stored).toContain(token.id);
      // Neither the stored hash nor a part of it: an id is shown to people.
      const hash = /"hash":"([0-9a-f]{64})"/.exec(JSON.stringify((await scope.store.read(tokenKeys.beginning(token.id))).entries))?.[1];
      expect(hash).toHaveLength(64);
      expect(hash).not.toContain(token.id);
    }
  });

  test("is not found by anything but its whole secret", async () => {
    const scope = openSystem();
    const { token, secret } = await createToken(scope, ci);
    const wrong = [
      secret.slice(0, -1),
      secret.slice(0, -8),
      `${secret}A`,
      secret.toUpperCase(),
      secret.slice(3),
      token.id,
      "",
      "hf_",
      `hf_${"A".repeat(43)}`,
      `Bearer ${secret}`,
      ` ${secret}`,
    ];
    for (const text of wrong) expect(await readTokenBySecret(scope, text), text).toBeUndefined();
  });

  test("whose stored hash is not that of the secret is no token, although its id fits", async () => {
    const scope = openSystem();
    const { token, secret } = await createToken(scope, ci);
    const other = await createToken(scope, ci);
    const hashOf = async (id: string) => (await scope.store.read(tokenKeys.beginning(id))).entries.map(({ value }) => value as { readonly hash: string })[0]?.hash ?? null;
    const value = { name: "ci", role: "admin", namespaces: "*", hash: await hashOf(other.token.id) };
    await scope.store.commit({ writes: [{ op: "put", key: tokenKeys.record(token.id), value }], writer: "x" });
    expect(await readTokenBySecret(scope, secret)).toBeUndefined();
  });

  test("whose record is damaged gives no permission", async () => {
    const scope = openSystem();
    const { token, secret } = await createToken(scope, ci);
    const { value } = (await scope.store.read(tokenKeys.beginning(token.id))).entries[0] as { readonly value: Record<string, string> };
    const damages: readonly JsonObject[] = [{ role: "root" }, { namespaces: [] }, { namespaces: [1] }, { namespaces: "builds" }, { hash: "00" }, { name: null }];
    for (const damage of damages) {
      await scope.store.commit({ writes: [{ op: "put", key: tokenKeys.record(token.id), value: { ...value, ...damage } }], writer: "x" });
      await expect(readTokenBySecret(scope, secret), JSON.stringify(damage)).rejects.toMatchObject({ code: "store_damaged" });
    }
  });

  test("expires to the millisecond by the store's clock, and history says so", async () => {
    const scope = openSystem();
    const { token, secret } = await createToken(scope, { ...ci, ttlMs: 90_000 });
    expect(token.expiresAtMs).toBe(scope.clock.nowMs() + 90_000);
    scope.clock.advance(89_999);
    expect(await readTokenBySecret(scope, secret)).toBeDefined();
    scope.clock.advance(1);
    expect(await readTokenBySecret(scope, secret)).toBeUndefined();
    expect(await listTokens(scope)).toEqual([]);
    expect(await hasToken(scope)).toBe(false);
    await scope.engine.sweep(systemNamespace, 10);
    const { rows } = await scope.store.log({ ranges: [everything], recorded: { kinds: ["token"] } });
    expect(rows.map(({ record, writer }) => [record?.op, record?.subject, writer])).toEqual([
      ["create", token.id, "ops"],
      ["expire", token.id, "holdfast"],
    ]);
  });

  test("is revoked once and for all, by the one that history names", async () => {
    const scope = openSystem();
    const { token, secret } = await createToken(scope, ci);
    const other = await createToken(scope, ci);
    expect(await revokeToken({ ...scope, writer: "bert" }, token.id)).toBe(true);
    expect(await revokeToken(scope, token.id)).toBe(false);
    expect(await readTokenBySecret(scope, secret)).toBeUndefined();
    expect((await readTokenBySecret(scope, other.secret))?.token.id).toBe(other.token.id);
    expect((await listTokens(scope)).map(({ id }) => id)).toEqual([other.token.id]);
    const { rows } = await scope.store.log({ ranges: [everything], recorded: { kinds: ["token"] }, reverse: true, limit: 1 });
    expect(rows[0]).toMatchObject({ writer: "bert", record: { op: "revoke", subject: token.id } });
  });

  test("may share its name with another, as when one replaces the other", async () => {
    const scope = openSystem();
    const first = await createToken(scope, ci);
    const second = await createToken(scope, { ...ci, role: "read" });
    expect((await readTokenBySecret(scope, first.secret))?.token).toMatchObject({ name: "ci", role: "write" });
    expect((await readTokenBySecret(scope, second.secret))?.token).toMatchObject({ name: "ci", role: "read" });
  });

  test("is named by the beginning of its id where only one begins so; candidates are listed otherwise", async () => {
    const scope = openSystem();
    const made = await Promise.all(Array.from({ length: 20 }, (_, i) => createToken(scope, { ...ci, name: `ci ${i}` })));
    const ids = made.map(({ token }) => token.id);
    for (const id of ids) expect((await requireToken(scope, id)).id).toBe(id);
    const shared = "0123456789abcdef".split("").find((digit) => ids.filter((id) => id.startsWith(digit)).length > 1) as string;
    const expected = ids.filter((id) => id.startsWith(shared)).sort();
    await expect(requireToken(scope, shared)).rejects.toMatchObject({
      code: "ambiguous",
      details: { candidates: expected.map((id) => ({ id, name: made.find(({ token }) => token.id === id)?.token.name })) },
    });
    await expect(requireToken(scope, "ffffffffffffffff")).rejects.toMatchObject({ code: "not_found" });
  });

  test("a secret in the place of an id is not repeated in the refusal", async () => {
    const scope = openSystem();
    const { secret } = await createToken(scope, ci);
    const refusal = await requireToken(scope, secret).catch((error: Error) => error);
    expect(refusal).toMatchObject({ code: "invalid_input" });
    expect(JSON.stringify(refusal) + String(refusal)).not.toContain(secret.slice(3, 20));
  });
});

describe("last use", () => {
  test("is written at most once a minute, however often a token is used", async () => {
    const scope = openSystem();
    const { secret } = await createToken(scope, ci);
    const use = async (): Promise<boolean> => {
      const found = await readTokenBySecret(scope, secret);
      if (found === undefined || !isUseDue(found)) return false;
      await noteTokenUse(scope, found);
      return true;
    };
    expect(await use()).toBe(true);
    expect((await listTokens(scope))[0]?.lastUsedAtMs).toBe(scope.clock.nowMs());
    scope.clock.advance(tokenLimits.useNotedEveryMs - 1);
    expect(await use()).toBe(false);
    scope.clock.advance(1);
    expect(await use()).toBe(true);
    expect((await listTokens(scope))[0]?.lastUsedAtMs).toBe(scope.clock.nowMs());
  });

  test("lands once when many nodes see the same use, and changes neither the token nor its history", async () => {
    const scope = openSystem();
    const { token, secret } = await createToken(scope, ci);
    const before = (await scope.store.read(tokenKeys.beginning(token.id))).entries;
    const seen = await Promise.all(Array.from({ length: 10 }, () => readTokenBySecret(scope, secret)));
    for (const found of seen) if (found !== undefined) await noteTokenUse(scope, found);
    expect((await scope.store.read(tokenKeys.beginning(token.id))).entries).toEqual(before);
    const { rows } = await scope.store.log({ ranges: [tokenKeys.uses] });
    expect(rows).toHaveLength(1);
    expect((await scope.store.log({ ranges: [everything], recorded: {} })).rows).toHaveLength(1);
  });

  test("of a revoked token is not written down any more, and goes with the token", async () => {
    const scope = openSystem();
    const { token, secret } = await createToken(scope, { ...ci, ttlMs: 10_000 });
    const found = await readTokenBySecret(scope, secret);
    if (found === undefined) throw new Error("The token was not found.");
    await noteTokenUse(scope, found);
    scope.clock.advance(10_000);
    expect((await scope.store.read(tokenKeys.uses)).entries).toEqual([]);
    await revokeToken(scope, token.id);
    await noteTokenUse(scope, found);
    expect((await scope.store.read(tokenKeys.uses)).entries).toEqual([]);
  });
});

describe("bad input", () => {
  const hostile = [
    "",
    " ",
    " ci",
    "ci ",
    "-ci",
    "a\nb",
    "a\u0000b",
    "a\u001b[31m",
    "a\u202eb",
    "a\u200bb",
    "jwt:ops",
    "a/b",
    "<b>x</b>",
    'a"b',
    "\ud800",
    "x".repeat(65),
    "ä".repeat(33),
    "holdfast",
    "Holdfast",
    "ｈｏｌｄｆａｓｔ",
    "r\u043e\u043et",
    "\u0391dmin",
    "ops\u0570",
  ];
  test.each(hostile)("the name %j is refused, and nothing is stored", async (name) => {
    const scope = openSystem();
    await expect(createToken(scope, { ...ci, name })).rejects.toMatchObject({ code: "invalid_input", details: { field: "name" } });
    expect((await scope.store.read(everything)).entries).toEqual([]);
  });

  test("names of any script and the usual signs are taken", async () => {
    const scope = openSystem();
    for (const name of ["ci", "Änne", "张伟", "ops@example.com", "build-agent_7.2", "Team Nord", "0", "админ", "διαχειριστής", "ci-サーバ", "张伟 ops"])
      expect((await createToken(scope, { ...ci, name })).token.name).toBe(name);
  });

  const others: [string, Partial<Record<keyof NewToken, unknown>>, string][] = [
    ["a role that there is not", { role: "root" }, "role"],
    ["no role", { role: undefined }, "role"],
    ["no namespace", { namespaces: [] }, "namespaces"],
    ["a star among others", { namespaces: ["a", "*"] }, "namespace"],
    ["the system namespace", { namespaces: [systemNamespace] }, "namespace"],
    ["a name that is no namespace", { namespaces: ["../etc"] }, "namespace"],
    ["a text in the place of a list", { namespaces: "builds" }, "namespaces"],
    ["no time at all", { ttlMs: 0 }, "expires"],
    ["more than ten years", { ttlMs: limits.ttlMsMax + 1 }, "expires"],
    ["no number", { ttlMs: Number.NaN }, "expires"],
  ];
  test.each(others)("%s is refused, and the field is named", async (_what, change, field) => {
    const scope = openSystem();
    await expect(createToken(scope, { ...ci, ...change } as NewToken)).rejects.toMatchObject({ code: "invalid_input", details: { field } });
    expect(await hasToken(scope)).toBe(false);
  });

  test("more namespaces than one token may have are refused; a name that stands twice counts once", async () => {
    const scope = openSystem();
    const many = Array.from({ length: tokenLimits.namespacesMax + 1 }, (_, i) => `n${i}`);
    await expect(createToken(scope, { ...ci, namespaces: many })).rejects.toMatchObject({ code: "limit_exceeded" });
    expect((await createToken(scope, { ...ci, namespaces: ["b", "a", "b"] })).token.namespaces).toEqual(["b", "a"]);
  });

  test("more tokens than a store may have are refused, also when many are made at one moment, and a revoked one makes room", async () => {
    const scope = openSystem();
    const made = [];
    for (let i = 0; i < tokenLimits.tokensMax - 2; i += 1) made.push(await createToken(scope, ci));
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => createToken(scope, ci)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    expect(results.filter((result) => result.status === "rejected" && result.reason.code === "limit_exceeded")).toHaveLength(6);
    expect(await listTokens(scope)).toHaveLength(tokenLimits.tokensMax);
    await revokeToken(scope, made[0]?.token.id as string);
    await createToken(scope, ci);
  });
});

test("a token ends with its maker by the store's clock, whatever was asked for by another", async () => {
  const scope = openSystem();
  const endsAtMs = scope.clock.nowMs() + 1_000;
  const maker = { name: "guest", namespaces: "*", operator: "root", expiresAtMs: endsAtMs } as const;
  for (const ttlMs of [undefined, 5_000]) expect((await createToken(scope, { ...ci, ttlMs }, maker)).token.expiresAtMs).toBe(endsAtMs);
  expect((await createToken(scope, { ...ci, ttlMs: 400 }, maker)).token.expiresAtMs).toBe(endsAtMs - 600);
});

test.each(engines)("a token lives, is used, expires and is revoked on $name", async ({ freshUrl, openOnClock }) => {
  const clock = manualClock();
  await using engine = await openOnClock(await freshUrl(), clock);
  const scope = systemOf(engine, clock);
  const lasting = await createToken(scope, ci);
  const passing = await createToken(scope, { ...ci, name: "guest", ttlMs: 5_000 });
  const found = await readTokenBySecret(scope, lasting.secret);
  if (found === undefined) throw new Error("The token was not found.");
  await noteTokenUse(scope, found);
  expect((await listTokens(scope)).map(({ name, lastUsedAtMs }) => [name, lastUsedAtMs !== undefined])).toEqual(
    expect.arrayContaining([
      ["ci", true],
      ["guest", false],
    ]),
  );
  clock.advance(5_000);
  expect(await readTokenBySecret(scope, passing.secret)).toBeUndefined();
  expect(await revokeToken(scope, lasting.token.id)).toBe(true);
  expect(await readTokenBySecret(scope, lasting.secret)).toBeUndefined();
  expect(await listTokens(scope)).toEqual([]);
  expect(await engine.namespaces()).toEqual([systemNamespace]);
});
