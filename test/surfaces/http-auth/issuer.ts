import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JWTPayload } from "jose";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { onTestFinished } from "vitest";

/** A real issuer of tokens on a loopback address: it publishes its keys and its metadata, and does what the test tells it to. */
export interface Issuer {
  readonly url: string;
  readonly jwksUrl: string;
  readonly publicKeyPem: string;
  /** How often each path was asked for. */
  readonly asked: Readonly<Record<string, number>>;
  /** Replaces what a path answers. */
  answer(path: string, how: Answer): void;
  /** A new key takes the place of the old one, in what is published and in what is signed. */
  rotate(): Promise<void>;
  sign(claims?: JWTPayload, header?: { readonly alg?: string; readonly kid?: string; readonly typ?: string }): Promise<string>;
  /** Signed by somebody else under the issuer's name. */
  forge(claims?: JWTPayload): Promise<string>;
  stop(): Promise<void>;
}
export type Answer = { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> } | "hang" | undefined;

export const audience = "https://holdfast.example.com/mcp";
const paths = { metadata: "/.well-known/openid-configuration", jwks: "/keys" } as const;

export async function startIssuer({ alg = "ES256" }: { readonly alg?: string } = {}): Promise<Issuer> {
  const answers = new Map<string, Answer>();
  const asked: Record<string, number> = {};
  let serial = 1;
  const newKey = async () => {
    const pair = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${serial}`;
    serial += 1;
    return { ...pair, kid, jwk: { ...(await exportJWK(pair.publicKey)), kid, alg, use: "sig" } };
  };
  let key = await newKey();
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0] as string;
    asked[path] = (asked[path] ?? 0) + 1;
    const told = answers.get(path);
    if (told === "hang") return;
    const documents: Record<string, unknown> = { [paths.metadata]: { issuer: url, jwks_uri: `${url}${paths.jwks}` }, [paths.jwks]: { keys: [key.jwk] } };
    const { status, body, headers = {} } = told ?? (Object.hasOwn(documents, path) ? { status: 200, body: JSON.stringify(documents[path]) } : { status: 404, body: "{}" });
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(async () => {
    if (server.listening) await stop();
  });
  const fresh = (): JWTPayload => ({
    iss: url,
    aud: audience,
    sub: "ops",
    exp: Math.floor(Date.now() / 1_000) + 600,
    scope: "openid holdfast:write",
    holdfast_namespaces: ["team"],
  });
  // A claim that is undefined is left out.
  const claimsOf = (claims: JWTPayload): JWTPayload => JSON.parse(JSON.stringify({ ...fresh(), ...claims })) as JWTPayload;
  return {
    url,
    jwksUrl: `${url}${paths.jwks}`,
    publicKeyPem: await exportSPKI(key.publicKey),
    asked,
    answer: (path, how) => void answers.set(path, how),
    async rotate() {
      key = await newKey();
    },
    sign: (claims = {}, header = {}) => new SignJWT(claimsOf(claims)).setProtectedHeader({ alg, kid: key.kid, ...header }).sign(key.privateKey),
    async forge(claims = {}) {
      const { privateKey } = await generateKeyPair(alg);
      return new SignJWT(claimsOf(claims)).setProtectedHeader({ alg, kid: key.kid }).sign(privateKey);
    },
    stop,
  };
}

/** A token put together by hand: whatever header and claims, signed with whatever. */
export const rawJwt = (header: object, claims: object, signature: string): string =>
  `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.${signature}`;
