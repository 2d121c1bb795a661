import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { NewToken } from "../../../src/domain/identity/tokens.ts";
import { createToken } from "../../../src/domain/identity/tokens.ts";
import { systemNamespace, tokenKeys } from "../../../src/domain/keyspace.ts";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import type { LogLevel } from "../../../src/kernel/log.ts";
import { openLog } from "../../../src/kernel/log.ts";
import { openReservedStore } from "../../../src/store/namespace-store.ts";
import type { Store } from "../../../src/store/store.ts";
import type { AuthenticateOptions } from "../../../src/surfaces/http/authenticate.ts";
import { openAuthenticate } from "../../../src/surfaces/http/authenticate.ts";
import { openJwtVerifier } from "../../../src/surfaces/http/jwt.ts";
import type { JwtSettings } from "../../../src/surfaces/http/jwt-settings.ts";
import { Refusal } from "../../../src/surfaces/http/refusal.ts";
import { openChallenges } from "../../../src/surfaces/http/resource-metadata.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { audience } from "./issuer.ts";

export interface Admitted {
  readonly status: number;
  /** The principal, or the refusal's code and message. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage["headers"];
}

export interface AuthenticationOptions extends Partial<Pick<AuthenticateOptions, "operator" | "limits" | "notesUse">> {
  /** An issuer that is trusted. */
  readonly jwt?: Partial<JwtSettings> & { readonly issuer: string };
  /** A look at every read of the store, and a way to make it fail. */
  readonly onRead?: () => void | Promise<void>;
  readonly startMs?: number;
}

/** A real HTTP server that does nothing but ask who calls: the answer is the principal or the refusal. Time stands still until a test moves it. */
export async function openAuthentication({ jwt, onRead = () => {}, startMs = Date.now(), ...options }: AuthenticationOptions = {}) {
  const clock = manualClock(startMs);
  const engine = new MemoryEngine(clock);
  const store = openReservedStore(engine, systemNamespace, clock);
  const lines: string[] = [];
  const log = openLog("debug" satisfies LogLevel, (line) => void lines.push(line));
  const watched: Store = {
    ...store,
    read: async (...args) => {
      await onRead();
      return store.read(...args);
    },
  };
  const authenticate = openAuthenticate({
    store: watched,
    clock,
    log,
    notesUse: true,
    jwt: jwt && openJwtVerifier({ settings: { ...jwtDefaults, ...jwt }, clock, log, answerMsMax: 500 }),
    challenges: openChallenges({ issuer: jwt?.issuer }),
    ...options,
  });
  const server = createServer(async (request, response) => {
    const answer = await authenticate(request);
    const isRefused = answer instanceof Refusal;
    response.writeHead(isRefused ? answer.status : 200, { "content-type": "application/json", ...(isRefused ? answer.headers : {}) });
    response.end(JSON.stringify(isRefused ? { code: answer.code, message: answer.message, hint: answer.hint } : answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const scope = { store, clock, writer: "tester" };
  /** Exactly these headers; `host` is added when not given. */
  const authenticateWith = (headers: Readonly<Record<string, string | readonly string[]>> = {}, path = "/mcp"): Promise<Admitted> =>
    new Promise((resolve, reject) => {
      const sent = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).flatMap(([name, value]) => [value].flat().flatMap((one) => [name, one]));
      const call = ask({ host: "127.0.0.1", port, path, setHost: false, headers: sent as never, agent: false }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () => resolve({ status: response.statusCode as number, body: JSON.parse(text) as Admitted["body"], headers: response.headers }));
      });
      call.on("error", reject).end();
    });
  return {
    clock,
    engine,
    scope,
    port,
    /** Everything that was logged, as it would stand in the log file. */
    logged: () => lines.join(""),
    token: (change: Partial<NewToken> = {}) => createToken(scope, { name: "ci", role: "write", namespaces: ["builds"], ...change }),
    /** As versions before check values made and stored them. */
    async earlierToken(): Promise<string> {
      const secret = `hf_${randomBytes(32).toString("base64url")}`;
      const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
      const key = tokenKeys.record(digest(`holdfast token id\0${secret}`).slice(0, 16));
      await store.commit({ writes: [{ op: "put", key, value: { name: "ci", role: "write", namespaces: ["builds"], hash: digest(secret) } }], writer: "tester" });
      return secret;
    },
    authenticateWith,
    bring: (secret: string) => authenticateWith({ authorization: `Bearer ${secret}` }),
  };
}

const jwtDefaults = {
  audiences: [audience],
  algorithms: ["RS256", "PS256", "ES256", "EdDSA"],
  roleClaim: "scope",
  namespacesClaim: "holdfast_namespaces",
};
