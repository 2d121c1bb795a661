import { invalidInput } from "../../kernel/errors.ts";
import { isLoopbackAddress } from "../../kernel/loopback-address.ts";

/** Whose tokens are accepted, and which claims grant roles and namespaces. */
export interface JwtSettings {
  readonly issuer: string;
  /** One of these must be in the token's `aud`. */
  readonly audiences: readonly string[];
  readonly jwksUrl?: string;
  readonly algorithms: readonly string[];
  readonly roleClaim: string;
  readonly namespacesClaim: string;
}

/** The settings as in a configuration. */
export interface JwtConfig {
  readonly jwtIssuer?: string;
  readonly jwtAudience?: readonly string[];
  readonly jwtJwksUrl?: string;
  readonly jwtAlgorithms: readonly string[];
  readonly jwtRoleClaim: string;
  readonly jwtNamespacesClaim: string;
  readonly origins: Readonly<Record<"jwtIssuer" | "jwtAudience" | "jwtJwksUrl", string>>;
}

/** Undefined if no issuer is configured. A setting that has no effect without another one is rejected, because the operator would rely on it. */
export function jwtSettingsOf({ jwtIssuer, jwtAudience = [], jwtJwksUrl, jwtAlgorithms, jwtRoleClaim, jwtNamespacesClaim, origins }: JwtConfig): JwtSettings | undefined {
  if (jwtIssuer === undefined) {
    if (jwtAudience.length > 0) throw invalidInput(origins.jwtAudience, "requires --jwt-issuer");
    if (jwtJwksUrl !== undefined) throw invalidInput(origins.jwtJwksUrl, "requires --jwt-issuer");
    return undefined;
  }
  if (!isTrustedUrl(jwtIssuer)) throw invalidInput(origins.jwtIssuer, "must be an https: URL without a password (http: is allowed on a loopback address)");
  if (jwtJwksUrl !== undefined && !isTrustedUrl(jwtJwksUrl))
    throw invalidInput(origins.jwtJwksUrl, "must be an https: URL without a password (http: is allowed on a loopback address)");
  // Without it, a token that the issuer made for another service would be accepted here.
  if (jwtAudience.length === 0) throw invalidInput(origins.jwtIssuer, "requires --jwt-audience: the audience that the issuer writes into tokens for this server");
  return {
    issuer: jwtIssuer,
    audiences: jwtAudience,
    jwksUrl: jwtJwksUrl,
    algorithms: jwtAlgorithms,
    roleClaim: jwtRoleClaim,
    namespacesClaim: jwtNamespacesClaim,
  };
}

/** A URL whose response cannot be changed in transit: TLS, or this machine. */
export function isTrustedUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopbackAddress(url.hostname));
}

/** Plain http is only for an issuer on this machine: an issuer elsewhere must not point to services that listen here. */
export const mayHaveKeysAt = (issuer: string, jwksUrl: string): boolean => isTrustedUrl(jwksUrl) && (jwksUrl.startsWith("https:") || issuer.startsWith("http:"));
