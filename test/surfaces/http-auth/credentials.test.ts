import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { listTokens, revokeToken } from "../../../src/domain/identity/tokens.ts";
import { HoldfastError } from "../../../src/kernel/errors.ts";
import { isLoopbackAddress } from "../../../src/kernel/loopback-address.ts";
import { hasUsableCredential, revokedWithinMs } from "../../../src/surfaces/http/authenticate.ts";
import { GuessLimit, guessLimits } from "../../../src/surfaces/http/guess-limit.ts";
import { KnownCredentials } from "../../../src/surfaces/http/known-credentials.ts";
import { askRaw, head } from "../../support/raw-http.ts";
import { untilQuiet } from "../../support/until-quiet.ts";
import { openAuthentication } from "./open-authentication.ts";

const randomToken = (): string => `hf_${randomBytes(32).toString("base64url")}`;
const principal = { name: "ci", role: "write", namespaces: ["builds"], kind: "token" } as const;

describe("a token in the Authorization header", () => {
  test("makes its caller the principal of that name, with the token's role and namespaces", async () => {
    const door = await openAuthentication();
    const { token, secret } = await door.token();
    expect(await door.bring(secret)).toMatchObject({ status: 200, body: { ...principal, tokenId: token.id } });
    expect(await door.authenticateWith({ authorization: `bearer  ${secret}` })).toMatchObject({ status: 200 });
  });

  test("counts nowhere else: not in the address, not in a cookie, not in another header", async () => {
    const door = await openAuthentication();
    const { secret } = await door.token();
    for (const name of ["token", "access_token", "authorization", "key", "api_key"])
      expect(await door.authenticateWith({}, `/mcp?${name}=${secret}`), name).toMatchObject({ status: 401 });
    const headers = ["cookie", "x-api-key", "x-auth-token", "proxy-authorization", "x-authorization", "mcp-authorization"];
    for (const name of headers) {
      expect(await door.authenticateWith({ [name]: secret }), name).toMatchObject({ status: 401 });
      expect(await door.authenticateWith({ [name]: `Bearer ${secret}` }), name).toMatchObject({ status: 401 });
    }
    expect(await door.authenticateWith({ cookie: `token=${secret}; access_token=${secret}` })).toMatchObject({ status: 401 });
    expect(door.logged()).not.toContain(secret);
  });

  const odd = (secret: string): [string, string | readonly string[]][] => [
    ["nothing", ""],
    ["the scheme alone", "Bearer"],
    ["the scheme and a space", "Bearer "],
    ["the secret alone", secret],
    ["another scheme", `Basic ${Buffer.from(`x:${secret}`).toString("base64")}`],
    ["a token of another kind", `Token ${secret}`],
    ["quotes", `Bearer "${secret}"`],
    ["something behind it", `Bearer ${secret} extra`],
    ["a comma", `Bearer ${secret}, Bearer ${secret}`],
    ["two headers", [`Bearer ${secret}`, `Bearer ${secret}`]],
    ["two headers, the first one wrong", ["Bearer x", `Bearer ${secret}`]],
    ["a character too few", `Bearer ${secret.slice(0, -1)}`],
    ["a character too many", `Bearer ${secret}A`],
    ["other letters", `Bearer ${secret.toUpperCase()}`],
    ["a token that is long", `Bearer ${"A".repeat(9_000)}`],
    ["parts like a JWT's, where no issuer is configured", `Bearer ${secret}.${secret}.${secret}`],
  ];
  test("that is empty, odd or wrong is refused in one and the same way, and the caller is never taken for the operator instead", async () => {
    const door = await openAuthentication({ operator: "ops", limits: { ...guessLimits, perPeer: 1_000 } });
    const { secret } = await door.token();
    const unknown = await door.bring(randomToken());
    expect(unknown).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    for (const [what, authorization] of odd(secret)) {
      const { status, body, headers } = await door.authenticateWith({ authorization });
      expect([what, status, body, headers["www-authenticate"]]).toEqual([what, 401, unknown.body, unknown.headers["www-authenticate"]]);
    }
    expect(await door.authenticateWith()).toMatchObject({ status: 200, body: { name: "ops" } });
    expect(door.logged()).not.toContain(secret);
  });

  test("does not reveal whether a token ever was: unknown, expired and revoked ones answer alike", async () => {
    const door = await openAuthentication();
    const expired = await door.token({ ttlMs: 1_000 });
    const revoked = await door.token();
    await revokeToken(door.scope, revoked.token.id);
    door.clock.advance(1_000);
    const answers = [];
    for (const secret of [randomToken(), expired.secret, revoked.secret]) answers.push(await door.bring(secret));
    const [first] = answers.map(({ status, body, headers }) => [status, body, headers["www-authenticate"]]);
    for (const { status, body, headers } of answers) expect([status, body, headers["www-authenticate"]]).toEqual(first);
    expect(answers[0]?.status).toBe(401);
    for (const secret of [expired.secret, revoked.secret]) expect(JSON.stringify(answers) + door.logged()).not.toContain(secret);
  });
});

describe("a token's end", () => {
  test("by expiry is exact, although the token was looked up a moment before", async () => {
    const door = await openAuthentication();
    const { secret, token } = await door.token({ ttlMs: 1_500 });
    door.clock.advance(1_000);
    expect(await door.bring(secret)).toMatchObject({ status: 200, body: { expiresAtMs: token.expiresAtMs } });
    door.clock.advance(499);
    expect(await door.bring(secret)).toMatchObject({ status: 200 });
    door.clock.advance(1);
    expect(await door.bring(secret)).toMatchObject({ status: 401 });
  });

  test(`by revocation is seen everywhere within ${revokedWithinMs} ms, whatever is remembered`, async () => {
    const door = await openAuthentication();
    const { token, secret } = await door.token();
    expect(await door.bring(secret)).toMatchObject({ status: 200 });
    await revokeToken(door.scope, token.id);
    door.clock.advance(revokedWithinMs);
    expect(await door.bring(secret)).toMatchObject({ status: 401 });
  });

  test("does not wait for a clock that was set back", async () => {
    const door = await openAuthentication();
    const { token, secret } = await door.token();
    expect(await door.bring(secret)).toMatchObject({ status: 200 });
    await revokeToken(door.scope, token.id);
    door.clock.set(door.clock.nowMs() - 3_600_000);
    expect(await door.bring(secret)).toMatchObject({ status: 401 });
  });
});

describe("the store", () => {
  test("is asked once for many requests with one token, also when they come at one moment", async () => {
    let reads = 0;
    let answer = (): void => {};
    const mayAnswer = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const onRead = (): Promise<void> => {
      reads += 1;
      return mayAnswer;
    };
    const door = await openAuthentication({ onRead });
    const { secret } = await door.token();
    const asked = Array.from({ length: 50 }, () => door.bring(secret));
    // All of them have asked before the store has answered the first.
    await untilQuiet(() => reads);
    answer();
    const answers = await Promise.all(asked);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    for (let i = 0; i < 50; i += 1) await door.bring(secret);
    expect(reads).toBe(1);
    door.clock.advance(revokedWithinMs);
    await door.bring(secret);
    expect(reads).toBe(2);
  });

  test("is asked once about one wrong token, however often it is sent", async () => {
    let reads = 0;
    const door = await openAuthentication({
      onRead: () => {
        reads += 1;
      },
    });
    const wrong = randomToken();
    for (let i = 0; i < 50; i += 1) expect(await door.bring(wrong)).toMatchObject({ status: 401 });
    expect(reads).toBe(1);
  });

  test("that does not answer makes no caller a principal and no token a wrong one", async () => {
    let broken = true;
    const door = await openAuthentication({
      onRead: () => {
        if (broken) throw new HoldfastError("unavailable", "The store is away.");
      },
    });
    const { secret } = await door.token();
    expect(await door.bring(secret)).toMatchObject({ status: 503, body: { code: "unavailable" }, headers: { "retry-after": "1" } });
    broken = false;
    expect(await door.bring(secret)).toMatchObject({ status: 200 });
  });

  test("notes a token's use, and a read-only server does not", async () => {
    for (const notesUse of [true, false]) {
      const door = await openAuthentication({ notesUse });
      const { secret } = await door.token();
      await door.bring(secret);
      await door.clock.settle();
      expect((await listTokens(door.scope))[0]?.lastUsedAtMs !== undefined).toBe(notesUse);
    }
  });
});

describe("a flood of wrong tokens", () => {
  // These tests knock from this machine, for which only the limit for all counts.
  const few = { ...guessLimits, perServer: guessLimits.perPeer, perServerPerSecond: guessLimits.perPeerPerSecond };

  test("is answered without asking the store after a few, with the time to come back; good tokens of the same address continue", async () => {
    let reads = 0;
    const door = await openAuthentication({
      limits: few,
      onRead: () => {
        reads += 1;
      },
    });
    const { secret } = await door.token();
    expect(await door.bring(secret)).toMatchObject({ status: 200 });
    reads = 0;
    const statuses = await Promise.all(Array.from({ length: 300 }, async () => (await door.bring(randomToken())).status));
    expect(statuses.filter((status) => status === 401)).toHaveLength(guessLimits.perPeer);
    expect(statuses.filter((status) => status === 429)).toHaveLength(300 - guessLimits.perPeer);
    expect(reads).toBe(guessLimits.perPeer);
    expect(await door.bring(randomToken())).toMatchObject({ status: 429, body: { code: "rate_limited" }, headers: { "retry-after": "1" } });
    // Also when what is known of it has to be looked up anew.
    expect(await door.bring(secret)).toMatchObject({ status: 200 });
    door.clock.advance(revokedWithinMs);
    for (let i = 0; i < 20; i += 1) await door.bring(randomToken());
    expect(await door.bring(secret)).toMatchObject({ status: 200 });
  });

  test("lets the address try again after a while", async () => {
    const door = await openAuthentication({ limits: few });
    for (let i = 0; i < guessLimits.perPeer; i += 1) await door.bring(randomToken());
    expect(await door.bring(randomToken())).toMatchObject({ status: 429 });
    door.clock.advance(1_000);
    expect(await door.bring(randomToken())).toMatchObject({ status: 401 });
  });

  test("keeps out no token that this server has not seen yet: those made up do not meet the check value", async () => {
    const door = await openAuthentication({ limits: few });
    const secrets = [];
    for (let i = 0; i < guessLimits.perPeer * 2; i += 1) secrets.push((await door.token()).secret);
    const madeUp = (): string => randomToken() + randomBytes(6).toString("base64url");
    for (let i = 0; i < guessLimits.perPeer; i += 1) await door.bring(i % 2 === 0 ? madeUp() : randomToken());
    for (const junk of [randomToken(), madeUp(), `${secrets[0]?.slice(0, -1)}${secrets[0]?.endsWith("A") ? "B" : "A"}`])
      expect(await door.bring(junk)).toMatchObject({ status: 429 });
    for (const secret of secrets) expect(await door.bring(secret)).toMatchObject({ status: 200 });
  });

  test("does not keep out tokens of an earlier version, which have no check value, once it ebbs", async () => {
    const door = await openAuthentication({ limits: few });
    const { secret } = await door.token();
    const earlier = await door.earlierToken();
    for (let i = 0; i < guessLimits.perPeer; i += 1) await door.bring(randomToken());
    expect(await door.bring(earlier)).toMatchObject({ status: 429 });
    expect(await door.bring(secret)).toMatchObject({ status: 200 });
    door.clock.advance(1_000);
    expect(await door.bring(earlier)).toMatchObject({ status: 200 });
  });

  test("does not spend what good tokens use", async () => {
    const door = await openAuthentication();
    const secrets = [];
    for (let i = 0; i < guessLimits.perPeer * 2; i += 1) secrets.push((await door.token()).secret);
    for (const secret of secrets) expect((await door.bring(secret)).status).toBe(200);
  });

  test("from a hundred thousand addresses is held up by the limit for all, and takes no more memory than a few thousand", () => {
    const limit = new GuessLimit(guessLimits, 0);
    let taken = 0;
    for (let i = 0; i < 100_000; i += 1) if (limit.tryTake(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 0)) taken += 1;
    expect(taken).toBe(guessLimits.perServer);
    expect(limit.size).toBe(guessLimits.peersMax);
  });

  test("from one address is held up there alone; one that a proxy on this machine brings locks out no caller", () => {
    const limit = new GuessLimit(guessLimits, 0);
    const looked = (address: string): number => Array.from({ length: 100 }, () => limit.tryTake(address, 0)).filter(Boolean).length;
    expect(looked("10.0.0.1")).toBe(guessLimits.perPeer);
    expect(looked("10.0.0.2")).toBe(guessLimits.perPeer);
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) expect(looked(address), address).toBe(100);
  });

  test("from one network of IPv6 is one peer's, however its addresses are written", () => {
    const limit = new GuessLimit({ ...guessLimits, perPeer: 1 }, 0);
    expect(limit.tryTake("2001:db8:1:2::1", 0)).toBe(true);
    for (const address of ["2001:db8:1:2::2", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2:0:0:0:1"]) expect(limit.tryTake(address, 0), address).toBe(false);
    expect(limit.tryTake("2001:db8:1:3::1", 0)).toBe(true);
    expect(limit.tryTake("2001:db8::1", 0)).toBe(true);
    expect(limit.tryTake("2001:db8:0:0:1::", 0)).toBe(false);
    expect(limit.tryTake("::ffff:10.0.0.1", 0)).toBe(true);
    expect(limit.tryTake("::ffff:10.0.0.2", 0)).toBe(true);
  });

  test("pushes no good credential out of memory", () => {
    const known = new KnownCredentials(100);
    known.set("good", principal, 0, 1_000);
    for (let i = 0; i < 10_000; i += 1) known.set(`bad ${i}`, undefined, 0, 1_000);
    expect(known.read("good", 1)).toEqual({ is: "good", principal });
    expect(known.size).toBe(101);
    expect(known.read("bad 9999", 1)).toEqual({ is: "bad" });
    expect(known.read("bad 0", 1)).toEqual({ is: "unknown" });
  });
});

describe("the local operator", () => {
  const operator = { name: "ops", role: "admin", namespaces: "*", kind: "operator" };

  test("is any caller from this machine, by a name of this machine, without a credential", async () => {
    const door = await openAuthentication({ operator: "ops" });
    for (const host of [`127.0.0.1:${door.port}`, `localhost:${door.port}`, `LOCALHOST:${door.port}`, "localhost", `[::1]:${door.port}`, "127.0.0.1"])
      expect(await door.authenticateWith({ host }), host).toMatchObject({ status: 200, body: operator });
  });

  test("does not exist if the server requires a token of every caller", async () => {
    const door = await openAuthentication();
    expect(await door.authenticateWith()).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
  });

  test("does not exist under a foreign name, which a page may resolve to this address", async () => {
    const door = await openAuthentication({ operator: "ops" });
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.evil.example", "", "10.0.0.1", "0.0.0.0", "[::]"])
      expect(await door.authenticateWith({ host }), host).toMatchObject({ status: 401 });
  });

  test.each([
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-anything",
    "x-real-ip",
    "via",
    "X-Forwarded-For",
    "x-forwarded",
    "cf-connecting-ip",
    "tailscale-user-login",
    "x-original-host",
  ])("is nobody behind a proxy, which says so with %s: everybody would be local", async (header) => {
    const door = await openAuthentication({ operator: "ops" });
    for (const value of ["127.0.0.1", ""]) expect(await door.authenticateWith({ [header]: value })).toMatchObject({ status: 401 });
  });

  test("does not exist behind nginx with its defaults, which adds no header, uses our own address and speaks HTTP/1.0", async () => {
    const door = await openAuthentication({ operator: "ops" });
    const ask = (version: string) => askRaw(door.port, head("GET", "/", door.port).replace("HTTP/1.1", version));
    expect((await ask("HTTP/1.0")).status).toBe(401);
    expect((await ask("HTTP/1.1")).status).toBe(200);
  });

  test("does not exist if a browser marks the request as another site's", async () => {
    const door = await openAuthentication({ operator: "ops" });
    for (const site of ["cross-site", "same-site"]) expect(await door.authenticateWith({ "sec-fetch-site": site })).toMatchObject({ status: 401 });
    for (const site of ["same-origin", "none"]) expect(await door.authenticateWith({ "sec-fetch-site": site })).toMatchObject({ status: 200 });
  });

  test("does not exist for a page of another origin, even in a browser that sends no fetch metadata", async () => {
    const door = await openAuthentication({ operator: "ops" });
    const own = `127.0.0.1:${door.port}`;
    for (const origin of ["https://app.example.com", "null", "", "file://", "http://localhost:1", `http://127.0.0.1:${door.port + 1}`, `http://127.0.0.1:${door.port}.example.com`])
      for (const site of [undefined, "none", "same-origin"])
        expect(await door.authenticateWith({ host: own, origin, ...(site === undefined ? {} : { "sec-fetch-site": site }) }), origin).toMatchObject({ status: 401 });
    expect(await door.authenticateWith({ host: own, origin: `http://${own}` })).toMatchObject({ status: 200, body: operator });
    expect(await door.authenticateWith({ host: `LOCALHOST:${door.port}`, origin: `http://localhost:${door.port}` })).toMatchObject({ status: 200, body: operator });
  });

  test("lives on loopback addresses only", () => {
    for (const address of ["127.0.0.1", "127.255.0.1", "::1", "[::1]", "localhost", "::ffff:127.0.0.1", "::FFFF:127.0.0.1"]) expect(isLoopbackAddress(address), address).toBe(true);
    for (const address of ["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "127.0.0.1.example", "127.1", "", "localhost.example", "::ffff:10.0.0.1", "fe80::1"])
      expect(isLoopbackAddress(address), address).toBe(false);
  });
});

test("only a valid token or a configured issuer counts as a credential; an empty one does not", async () => {
  const door = await openAuthentication();
  expect(await hasUsableCredential(door.scope.store, undefined)).toBe(false);
  expect(await hasUsableCredential(door.scope.store, "")).toBe(false);
  expect(await hasUsableCredential(door.scope.store, "https://issuer.example.com")).toBe(true);
  const { token } = await door.token({ ttlMs: 1_000 });
  expect(await hasUsableCredential(door.scope.store, undefined)).toBe(true);
  door.clock.advance(1_000);
  expect(await hasUsableCredential(door.scope.store, undefined)).toBe(false);
  const another = await door.token();
  expect(await hasUsableCredential(door.scope.store, undefined)).toBe(true);
  await revokeToken(door.scope, another.token.id);
  expect(await hasUsableCredential(door.scope.store, undefined)).toBe(false);
  expect(token.id).not.toBe(another.token.id);
});
