import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { guessLimits } from "../../../src/surfaces/http/guess-limit.ts";
import { keyLimits } from "../../../src/surfaces/http/jwt-keys.ts";
import type { JwtConfig } from "../../../src/surfaces/http/jwt-settings.ts";
import { isTrustedUrl, jwtSettingsOf, mayHaveKeysAt } from "../../../src/surfaces/http/jwt-settings.ts";
import type { Issuer } from "./issuer.ts";
import { audience, rawJwt, startIssuer } from "./issuer.ts";
import type { AuthenticationOptions } from "./open-authentication.ts";
import { openAuthentication } from "./open-authentication.ts";

const limits = { ...guessLimits, perPeer: 10_000, perServer: 10_000 };
const openFor = (issuer: Issuer, jwt: Partial<AuthenticationOptions["jwt"]> = {}) => openAuthentication({ limits, jwt: { issuer: issuer.url, ...jwt } });
const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

describe("a JWT of the configured issuer", () => {
  test.each(["ES256", "RS256", "PS256", "EdDSA"])("signed with %s makes its subject the principal, with the role and the namespaces of its claims", async (alg) => {
    const issuer = await startIssuer({ alg });
    const door = await openFor(issuer);
    expect(await door.bring(await issuer.sign())).toMatchObject({ status: 200, body: { name: "jwt:ops", role: "write", namespaces: ["team"], kind: "jwt" } });
  });

  test("has a name that no token and no system user can have", async () => {
    const issuer = await startIssuer();
    const door = await openFor(issuer);
    await expect(door.token({ name: "jwt:ops" })).rejects.toMatchObject({ code: "invalid_input" });
    expect(await door.bring(await issuer.sign({ sub: "ci" }))).toMatchObject({ body: { name: "jwt:ci" } });
  });

  test("is verified once while it is fresh, and refused from its expiry on", async () => {
    const issuer = await startIssuer();
    const door = await openFor(issuer);
    const exp = nowSeconds() + 60;
    const jwt = await issuer.sign({ exp });
    expect(await door.bring(jwt)).toMatchObject({ status: 200, body: { expiresAtMs: exp * 1_000 } });
    // Half a minute for clocks that differ.
    door.clock.advance(89_000);
    expect(await door.bring(jwt)).toMatchObject({ status: 200 });
    door.clock.advance(2_000);
    expect(await door.bring(jwt)).toMatchObject({ status: 401 });
  });

  const refused: [string, (issuer: Issuer) => Promise<string>][] = [
    ["of another kind that the issuer signs too", (issuer) => issuer.sign({}, { typ: "logout+jwt" })],
    ["whose subject begins with a space", (issuer) => issuer.sign({ sub: " ops" })],
    ["whose subject ends with a space", (issuer) => issuer.sign({ sub: "ops " })],
    ["of another issuer", (issuer) => issuer.sign({ iss: "https://issuer.example.com" })],
    ["without an issuer", (issuer) => issuer.sign({ iss: undefined })],
    ["whose issuer only looks the same", (issuer) => issuer.sign({ iss: `${issuer.url}/` })],
    ["for another audience", (issuer) => issuer.sign({ aud: "https://other.example.com" })],
    ["without an audience", (issuer) => issuer.sign({ aud: undefined })],
    ["that has expired", (issuer) => issuer.sign({ exp: nowSeconds() - 60 })],
    ["that never expires", (issuer) => issuer.sign({ exp: undefined })],
    ["whose expiry is a text", (issuer) => issuer.sign({ exp: "2030" as never })],
    ["that is not valid yet", (issuer) => issuer.sign({ nbf: nowSeconds() + 60 })],
    ["without a subject", (issuer) => issuer.sign({ sub: undefined })],
    ["with an empty subject", (issuer) => issuer.sign({ sub: "" })],
    ["whose subject would steer a terminal", (issuer) => issuer.sign({ sub: "ops\u001b[2J" })],
    ["whose subject has two lines", (issuer) => issuer.sign({ sub: "ops\nroot" })],
    ["whose subject runs backwards", (issuer) => issuer.sign({ sub: "ops\u202e" })],
    ["whose subject is endless", (issuer) => issuer.sign({ sub: "a".repeat(257) })],
    ["whose subject is a list", (issuer) => issuer.sign({ sub: ["ops"] as never })],
    ["signed by somebody else", (issuer) => issuer.forge()],
    ["with a key id that the issuer does not have", (issuer) => issuer.sign({}, { kid: "unknown" })],
    ["cut in its signature", async (issuer) => (await issuer.sign()).slice(0, -4)],
    [
      "with claims that somebody has changed",
      async (issuer) => {
        const [header, claims, signature] = (await issuer.sign()).split(".") as [string, string, string];
        const raised = { ...JSON.parse(Buffer.from(claims, "base64url").toString()), scope: "holdfast:admin" };
        return [header, Buffer.from(JSON.stringify(raised)).toString("base64url"), signature].join(".");
      },
    ],
    ["that is not signed (none)", async (issuer) => rawJwt({ alg: "none" }, claimsFor(issuer), "")],
    ["that is not signed (None) and brings something as its signature", async (issuer) => rawJwt({ alg: "None", kid: "key-1" }, claimsFor(issuer), "AAAA")],
    [
      "that says none and brings a true signature of another",
      async (issuer) => rawJwt({ alg: "none", kid: "key-1" }, claimsFor(issuer), ((await issuer.sign()).split(".") as string[])[2] as string),
    ],
    ["signed with the issuer's public key as a shared secret (HS256)", async (issuer) => hmacJwt(issuer, "HS256", "sha256")],
    ["signed with the issuer's public key as a shared secret (HS512)", async (issuer) => hmacJwt(issuer, "HS512", "sha512")],
    ["with a header that is no JSON", async (issuer) => ["bm90IGpzb24", ...(await issuer.sign()).split(".").slice(1)].join(".")],
    ["with extensions that must be understood", async (issuer) => rawJwt({ alg: "ES256", kid: "key-1", crit: ["x"], x: 1 }, claimsFor(issuer), "AAAA")],
    [
      "that brings its own key",
      async (issuer) => rawJwt({ alg: "ES256", jwk: { kty: "EC", crv: "P-256", x: "AA", y: "AA" }, jku: "http://127.0.0.1:1/keys" }, claimsFor(issuer), "AAAA"),
    ],
  ];
  test.each(refused)("%s is refused", async (_what, make) => {
    const issuer = await startIssuer();
    const door = await openFor(issuer, { jwksUrl: issuer.jwksUrl });
    const jwt = await make(issuer);
    const { status, body, headers } = await door.bring(jwt);
    expect([status, body.code]).toEqual([401, "unauthenticated"]);
    expect(headers["www-authenticate"]).toContain('error="invalid_token"');
    // Neither the answer nor the log repeats it.
    for (const part of jwt.split(".").filter((text) => text.length > 8)) expect(JSON.stringify(body) + door.logged()).not.toContain(part);
    expect(await door.bring(await issuer.sign())).toMatchObject({ status: 200 });
  });

  test("signed with an algorithm that is not on the list is refused, although the signature is right", async () => {
    const issuer = await startIssuer({ alg: "ES256" });
    const door = await openFor(issuer, { algorithms: ["RS256"] });
    expect(await door.bring(await issuer.sign())).toMatchObject({ status: 401 });
  });

  test("for several audiences is accepted when one of them is ours", async () => {
    const issuer = await startIssuer();
    const door = await openFor(issuer, { audiences: ["https://b.example.com", audience] });
    expect(await door.bring(await issuer.sign({ aud: ["https://a.example.com", audience] }))).toMatchObject({ status: 200 });
  });
});

const claimsFor = (issuer: Issuer) => ({ iss: issuer.url, aud: audience, sub: "mallory", exp: nowSeconds() + 600, scope: "holdfast:admin", holdfast_namespaces: "*" });

function hmacJwt(issuer: Issuer, alg: string, hash: string): string {
  const unsigned = rawJwt({ alg, kid: "key-1" }, claimsFor(issuer), "").slice(0, -1);
  return `${unsigned}.${createHmac(hash, issuer.publicKeyPem).update(unsigned).digest("base64url")}`;
}

describe("the claims", () => {
  const roles: [string, unknown, string | undefined][] = [
    ["scope", "holdfast:read", "read"],
    ["scope", "openid holdfast:read holdfast:admin email", "admin"],
    ["scope", ["holdfast:write"], "write"],
    // Scopes are shared with other services.
    ["scope", "read write admin", undefined],
    ["scope", "xholdfast:admin holdfast:administrator", undefined],
    ["scope", undefined, undefined],
    ["scope", { admin: true }, undefined],
    ["holdfast_role", "admin", "admin"],
    ["holdfast_role", "root", undefined],
    ["https://example.com/role", "write", "write"],
    ["realm_access.roles", undefined, "write"],
    ["__proto__.role", undefined, undefined],
    ["constructor", undefined, undefined],
  ];
  test.each(roles)("%s = %j grants %s", async (claim, value, role) => {
    const issuer = await startIssuer();
    const door = await openFor(issuer, { roleClaim: claim });
    const claims = claim === "realm_access.roles" ? { realm_access: { roles: ["offline", "holdfast:write"] } } : { [claim]: value };
    const { status, body, headers } = await door.bring(await issuer.sign({ scope: undefined, ...claims }));
    if (role !== undefined) expect([status, body.role]).toEqual([200, role]);
    else {
      expect([status, body.code]).toEqual([403, "forbidden"]);
      expect(headers["www-authenticate"]).toContain('error="insufficient_scope"');
    }
  });

  const namespaces: [unknown, readonly string[] | "*" | undefined][] = [
    ["team", ["team"]],
    ["*", "*"],
    [
      ["b", "a", "b"],
      ["b", "a"],
    ],
    [["a", "*"], "*"],
    [[".system", "a"], ["a"]],
    [".system", undefined],
    [["", "../x", 7, null], undefined],
    [undefined, undefined],
    [{ a: 1 }, undefined],
    [[], undefined],
  ];
  test.each(namespaces)("the namespaces %j are %j", async (value, expected) => {
    const issuer = await startIssuer();
    const door = await openFor(issuer);
    const { status, body } = await door.bring(await issuer.sign({ holdfast_namespaces: value }));
    if (expected === undefined) expect([status, body.code]).toEqual([403, "forbidden"]);
    else expect([status, body.namespaces]).toEqual([200, expected]);
  });
});

describe("the issuer's keys", () => {
  test("are found by the issuer's own metadata, fetched once, and fetched again after a while", async () => {
    const issuer = await startIssuer();
    const door = await openFor(issuer);
    await Promise.all(Array.from({ length: 20 }, async (_, i) => expect((await door.bring(await issuer.sign({ jti: String(i) }))).status).toBe(200)));
    expect(issuer.asked).toEqual({ "/.well-known/openid-configuration": 1, "/keys": 1 });
    door.clock.advance(keyLimits.freshMs);
    expect((await door.bring(await issuer.sign({ exp: nowSeconds() + 10_000 }))).status).toBe(200);
    expect(issuer.asked["/keys"]).toBe(2);
  });

  test("are found where OAuth puts them when OpenID Connect's place is empty", async () => {
    const issuer = await startIssuer();
    issuer.answer("/.well-known/openid-configuration", { status: 404, body: "{}" });
    issuer.answer("/.well-known/oauth-authorization-server", { status: 200, body: JSON.stringify({ issuer: issuer.url, jwks_uri: issuer.jwksUrl }) });
    const door = await openFor(issuer);
    expect((await door.bring(await issuer.sign())).status).toBe(200);
  });

  test("that are new are fetched when a token names one, but not more often than every half minute", async () => {
    const issuer = await startIssuer();
    const door = await openFor(issuer, { jwksUrl: issuer.jwksUrl });
    expect((await door.bring(await issuer.sign())).status).toBe(200);
    door.clock.advance(keyLimits.missMsMin);
    for (let i = 0; i < 20; i += 1) expect((await door.bring(await issuer.sign({ jti: String(i) }, { kid: `made-up-${i}` }))).status).toBe(401);
    expect(issuer.asked["/keys"]).toBe(2);
    await issuer.rotate();
    door.clock.advance(keyLimits.missMsMin);
    expect((await door.bring(await issuer.sign())).status).toBe(200);
    expect(issuer.asked["/keys"]).toBe(3);
  });

  test("serve on while the issuer is away, for a day at most", async () => {
    const issuer = await startIssuer();
    const door = await openFor(issuer, { jwksUrl: issuer.jwksUrl });
    const jwt = await issuer.sign({ exp: nowSeconds() + 1_000_000 });
    expect((await door.bring(jwt)).status).toBe(200);
    issuer.answer("/keys", { status: 500 });
    door.clock.advance(keyLimits.staleMsMax - 1);
    expect((await door.bring(jwt)).status).toBe(200);
    door.clock.advance(60_000);
    expect((await door.bring(jwt)).status).toBe(503);
    issuer.answer("/keys", undefined);
    door.clock.advance(keyLimits.failedMsMin);
    expect((await door.bring(jwt)).status).toBe(200);
  });

  const broken: [string, Parameters<Issuer["answer"]>[1]][] = [
    ["an error", { status: 500, body: "{}" }],
    ["a redirect", { status: 302, headers: { location: "/elsewhere" } }],
    ["no JSON", { status: 200, body: "<html>" }],
    ["a list", { status: 200, body: "[]" }],
    ["no keys", { status: 200, body: "{}" }],
    ["more keys than anybody has", { status: 200, body: JSON.stringify({ keys: Array.from({ length: keyLimits.keysMax + 1 }, (_, i) => ({ kty: "RSA", kid: String(i) })) }) }],
    ["more bytes than a key set has", { status: 200, body: JSON.stringify({ keys: [], padding: "x".repeat(keyLimits.documentBytesMax) }) }],
  ];
  test.each(broken)("that arrive as %s admit no caller, and the issuer is not queried for a few seconds", async (_what, how) => {
    const issuer = await startIssuer();
    issuer.answer("/keys", how);
    const door = await openFor(issuer, { jwksUrl: issuer.jwksUrl });
    for (let i = 0; i < 10; i += 1) expect(await door.bring(await issuer.sign({ jti: String(i) }))).toMatchObject({ status: 503, body: { code: "unavailable" } });
    expect(issuer.asked).toEqual({ "/keys": 1 });
    issuer.answer("/keys", undefined);
    door.clock.advance(keyLimits.failedMsMin);
    expect((await door.bring(await issuer.sign())).status).toBe(200);
  });

  test("of an issuer that is unreachable or silent admit no caller; tokens of this server still do", async () => {
    const silent = await startIssuer();
    silent.answer("/keys", "hang");
    const gone = await startIssuer();
    await gone.stop();
    for (const issuer of [silent, gone]) {
      const door = await openFor(issuer, { jwksUrl: issuer.jwksUrl });
      const { secret } = await door.token();
      const [jwt, own] = await Promise.all([door.bring(await issuer.sign()), door.bring(secret)]);
      expect([jwt.status, own.status]).toEqual([503, 200]);
    }
  });

  test("of metadata that speaks for another issuer, or leads out of TLS, are not used", async () => {
    const issuer = await startIssuer();
    for (const metadata of [
      { issuer: "https://other.example.com", jwks_uri: issuer.jwksUrl },
      { issuer: issuer.url, jwks_uri: issuer.jwksUrl.replace("127.0.0.1", "0.0.0.0") },
      { issuer: issuer.url },
    ]) {
      issuer.answer("/.well-known/openid-configuration", { status: 200, body: JSON.stringify(metadata) });
      const door = await openFor(issuer);
      expect((await door.bring(await issuer.sign())).status).toBe(503);
    }
    expect(issuer.asked["/keys"]).toBeUndefined();
  });

  test("that are private or shared secrets are no keys to check with", async () => {
    const issuer = await startIssuer();
    const secret = Buffer.from("a shared secret that somebody published").toString("base64url");
    issuer.answer("/keys", { status: 200, body: JSON.stringify({ keys: [{ kty: "oct", kid: "key-1", k: secret, alg: "HS256" }] }) });
    const door = await openFor(issuer, { jwksUrl: issuer.jwksUrl });
    const unsigned = rawJwt({ alg: "HS256", kid: "key-1" }, claimsFor(issuer), "").slice(0, -1);
    const jwt = `${unsigned}.${createHmac("sha256", Buffer.from(secret, "base64url")).update(unsigned).digest("base64url")}`;
    expect((await door.bring(jwt)).status).toBe(401);
  });
});

describe("the settings", () => {
  const origins = { jwtIssuer: "--jwt-issuer", jwtAudience: "--jwt-audience", jwtJwksUrl: "--jwt-jwks-url" };
  const config: JwtConfig = { jwtAlgorithms: ["ES256"], jwtRoleClaim: "scope", jwtNamespacesClaim: "n", origins };

  test("are none without an issuer", () => {
    expect(jwtSettingsOf(config)).toBeUndefined();
  });

  const refused: [string, Partial<JwtConfig>, RegExp][] = [
    ["an issuer without an audience", { jwtIssuer: "https://a.example.com" }, /--jwt-issuer: requires --jwt-audience/],
    ["an audience without an issuer", { jwtAudience: ["a"] }, /--jwt-audience: requires --jwt-issuer/],
    ["keys without an issuer", { jwtJwksUrl: "https://a.example.com/keys" }, /--jwt-jwks-url: requires --jwt-issuer/],
    ["an issuer without TLS", { jwtIssuer: "http://a.example.com", jwtAudience: ["a"] }, /--jwt-issuer: must be an https: URL/],
    ["an issuer that is no URL", { jwtIssuer: "a.example.com", jwtAudience: ["a"] }, /--jwt-issuer: must be an https: URL/],
    ["an issuer with a password", { jwtIssuer: "https://u:geheim@a.example.com", jwtAudience: ["a"] }, /--jwt-issuer: must be an https: URL without a password/],
    ["keys without TLS", { jwtIssuer: "https://a.example.com", jwtAudience: ["a"], jwtJwksUrl: "http://a.example.com/keys" }, /--jwt-jwks-url: must be an https: URL/],
  ];
  test.each(refused)("%s is refused, and the setting is named", (_what, change, words) => {
    const refusal = (() => {
      try {
        return jwtSettingsOf({ ...config, ...change });
      } catch (error) {
        return error as Error;
      }
    })();
    expect(String(refusal)).toMatch(words);
    expect(String(refusal)).not.toContain("geheim");
  });

  test.each(["HS256", "none", "RS256,HS512", "", "rs256"])("refuse %j as algorithms: every verifier of such a signature could create it", (algorithms) => {
    expect(() => readConfig({ "jwt-algorithms": algorithms }, {})).toThrow(/--jwt-algorithms: must be some of RS256, /);
  });

  test("of a configuration are taken as they are", () => {
    const flags = { "jwt-issuer": "https://a.example.com", "jwt-audience": "x, y", "jwt-algorithms": "ES256,EdDSA", "jwt-role-claim": "roles" };
    expect(jwtSettingsOf(readConfig(flags, { HOLDFAST_JWT_NAMESPACES_CLAIM: "teams" }))).toEqual({
      issuer: "https://a.example.com",
      audiences: ["x", "y"],
      jwksUrl: undefined,
      algorithms: ["ES256", "EdDSA"],
      roleClaim: "roles",
      namespacesClaim: "teams",
    });
  });

  test("trust TLS and this machine", () => {
    for (const url of ["https://a.example.com", "http://127.0.0.1:8080/x", "http://localhost/", "http://[::1]:80/"]) expect(isTrustedUrl(url), url).toBe(true);
    for (const url of ["http://a.example.com", "ftp://127.0.0.1", "http://127.0.0.1.example.com", "//a", "", "file:///etc/passwd", "http://10.0.0.1"])
      expect(isTrustedUrl(url), url).toBe(false);
  });
});

describe("a flood of unsigned tokens", () => {
  const few = { ...guessLimits, perServer: 20, perServerPerSecond: 1 };
  const base64Url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const unsigned = (issuer: Issuer, n: number, claims: object = {}, header: object = {}): string =>
    [
      base64Url({ alg: "ES256", kid: "key-1", ...header }),
      base64Url({ iss: issuer.url, exp: nowSeconds() + 600, sub: `s${n}`, ...claims }),
      Buffer.from(`signature ${n}`).toString("base64url"),
    ].join(".");

  test.each<[string, (issuer: Issuer, n: number) => string]>([
    ["of no issuer", (issuer, n) => unsigned(issuer, n, { iss: "https://issuer.example.com" })],
    ["long expired", (issuer, n) => unsigned(issuer, n, { exp: 1 })],
    ["without an expiry", (issuer, n) => unsigned(issuer, n, { exp: undefined })],
    ["by a key that the issuer does not have", (issuer, n) => unsigned(issuer, n, {}, { kid: `key-x${n}` })],
    ["by an algorithm that is not allowed", (issuer, n) => unsigned(issuer, n, {}, { alg: "HS256" })],
    ["that are no JSON", (_issuer, n) => `a${n}.b.c`],
  ])("%s keeps out no fresh one of the issuer, nor a token", async (_name, junk) => {
    const issuer = await startIssuer();
    const door = await openAuthentication({ limits: few, jwt: { issuer: issuer.url } });
    expect(await door.bring(await issuer.sign({ sub: "first" }))).toMatchObject({ status: 200 });
    const statuses = [];
    for (let n = 0; n < 40; n += 1) statuses.push((await door.bring(junk(issuer, n))).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    for (let n = 0; n < 25; n += 1) expect(await door.bring(await issuer.sign({ sub: `caller-${n}` }))).toMatchObject({ status: 200 });
    expect(await door.bring((await door.token()).secret)).toMatchObject({ status: 200 });
  });

  test("with the right claims costs the budget of such tokens, and not that of others", async () => {
    const issuer = await startIssuer();
    const door = await openAuthentication({ limits: few, jwt: { issuer: issuer.url } });
    const statuses = [];
    for (let n = 0; n < 50; n += 1) statuses.push((await door.bring(unsigned(issuer, n))).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect(await door.bring((await door.token()).secret)).toMatchObject({ status: 200 });
  });
});

test("an issuer elsewhere does not lead to keys on plain http on this machine", () => {
  expect(mayHaveKeysAt("https://login.example.com", "http://127.0.0.1:9000/keys")).toBe(false);
  expect(mayHaveKeysAt("https://login.example.com", "https://keys.example.com/keys")).toBe(true);
  expect(mayHaveKeysAt("http://127.0.0.1:9000", "http://127.0.0.1:9000/keys")).toBe(true);
  expect(mayHaveKeysAt("http://127.0.0.1:9000", "http://keys.example.com/keys")).toBe(false);
});
