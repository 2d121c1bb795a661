import type { IncomingMessage } from "node:http";
import { roles } from "../../domain/identity/principal.ts";

/** Tells a rejected client how to get a credential. With an issuer: RFC 9728, which MCP clients of both eras follow. */
export interface Challenges {
  /** Headers of a 401 if no credential was sent. */
  wanted(request: IncomingMessage): Readonly<Record<string, string>>;
  /** Headers of a 401 if the credential is not valid. */
  wrong(request: IncomingMessage): Readonly<Record<string, string>>;
  /** Headers of a 403 if a valid credential is not sufficient: `needs` is the required role. */
  insufficient(request: IncomingMessage, needs?: Role): Readonly<Record<string, string>>;
}

export interface ResourceMetadataOptions {
  /** Absent if only this server issues tokens. */
  readonly issuer?: string;
  /** The server's public URL. Absent: taken from the Host header, which the front has checked. */
  readonly publicUrl?: string;
}
type Role = (typeof roles)[number];

const wellKnown = "/.well-known/oauth-protected-resource";
/** The role as a word in an issuer's `scope` claim. */
export const oauthScopeOf = (role: Role): string => `holdfast:${role}`;

export function openChallenges({ issuer, publicUrl }: ResourceMetadataOptions): Challenges {
  const header = (request: IncomingMessage, parts: readonly string[]): Readonly<Record<string, string>> => {
    const metadata = issuer === undefined ? [] : [`resource_metadata="${originOf(request, publicUrl)}${wellKnown}${resourcePath(request.url ?? "/")}"`];
    return { "www-authenticate": `Bearer ${['realm="holdfast"', ...parts, ...metadata].join(", ")}` };
  };
  return {
    wanted: (request) => header(request, issuer === undefined ? [] : [`scope="${oauthScopeOf("read")} ${oauthScopeOf("write")}"`]),
    wrong: (request) => header(request, ['error="invalid_token"']),
    insufficient: (request, needs = "read") => header(request, ['error="insufficient_scope"', `scope="${oauthScopeOf(needs)}"`]),
  };
}

/** The document at `/.well-known/oauth-protected-resource` and, for one resource, at that path followed by the resource's path. `undefined`: there is none here. */
export function resourceMetadata(request: IncomingMessage, { issuer, publicUrl }: ResourceMetadataOptions): Readonly<Record<string, unknown>> | undefined {
  const path = (request.url ?? "").split("?")[0] as string;
  if (issuer === undefined || !isMetadataPath(path)) return undefined;
  const suffix = path.slice(wellKnown.length);
  if (suffix !== "" && resourcePath(suffix) !== suffix) return undefined;
  return {
    resource: `${originOf(request, publicUrl)}${suffix}`,
    authorization_servers: [issuer],
    bearer_methods_supported: ["header"],
    scopes_supported: roles.map(oauthScopeOf),
    resource_name: "Holdfast",
  };
}

export const isMetadataPath = (path: string): boolean => path === wellKnown || path.startsWith(`${wellKnown}/`);

/** The MCP endpoint that a request names; any other path is not repeated. */
function resourcePath(url: string): string {
  const path = url.split("?")[0] as string;
  return path === "/mcp" || /^\/ns\/[A-Za-z0-9._~%@:!$&'()*+,;=-]{1,512}\/mcp$/.test(path) ? path : "";
}

function originOf({ headers, socket }: IncomingMessage, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return new URL(publicUrl).origin;
  return `${"encrypted" in socket ? "https" : "http"}://${headers.host ?? "localhost"}`;
}
