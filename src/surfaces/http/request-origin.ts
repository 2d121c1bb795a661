import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { Refusal } from "./refusal.ts";

export interface OriginRules {
  /** Bound to a loopback address: only loopback names are ours. Otherwise every IP address is too, because an attacker can make a name point here, but not an address. */
  readonly loopbackOnly: boolean;
  /** Additional names in the Host header. */
  readonly allowedHosts: readonly string[];
  /** Other sites whose pages may call. */
  readonly allowedOrigins: readonly string[];
  /** The server's public URL, if it differs from the address it listens on. */
  readonly publicUrl?: string;
}

export interface OriginCheck {
  /** Throws if the request is not meant for this server. */
  checkHost(request: IncomingMessage): void;
  /** Throws if it comes from a page that may not call. `forPage`: other sites may link here, because the response contains no data. */
  checkOrigin(request: IncomingMessage, forPage: boolean): void;
  /** Allows only pages of a configured origin to read the response. "preflight": the browser asked for permission, and the response was sent. */
  allowReading(request: IncomingMessage, response: ServerResponse, methods: readonly string[]): "preflight" | "request";
}

const allowedHeaders = "authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name";
const loopbackHosts = new Set(["localhost", "127.0.0.1", "[::1]"]);

export function openOriginCheck({ loopbackOnly, allowedHosts, allowedOrigins, publicUrl }: OriginRules): OriginCheck {
  const publicly = publicUrl === undefined ? undefined : new URL(publicUrl);
  const hosts = new Set([...allowedHosts.map((host) => host.toLowerCase()), ...(publicly === undefined ? [] : [publicly.host, publicly.hostname])]);
  const crossOrigins = new Set(allowedOrigins.map((origin) => new URL(origin).origin));
  const ownOrigin = publicly?.origin;
  // Results are cached only for the few hosts that are ours, never for names that a caller invents.
  const known = new Set<string>();

  const isOurs = (host: string): boolean => {
    if (known.has(host)) return true;
    const lower = host.toLowerCase();
    const name = hostName(lower);
    const ours = name !== undefined && (loopbackHosts.has(name) || hosts.has(lower) || hosts.has(name) || (!loopbackOnly && isAddress(name)));
    if (ours && known.size < 100) known.add(host);
    return ours;
  };

  return {
    checkHost({ headers: { host } }) {
      if (host === undefined || !isOurs(host))
        throw new Refusal("forbidden", "Host: this server does not accept that name.", {
          reason: "host",
          hint: "If callers reach the server by that name, start it with --allowed-hosts NAME.",
        });
    },
    checkOrigin({ method, headers: { host = "", origin, "sec-fetch-site": site, "sec-fetch-mode": mode } }, forPage) {
      if (origin !== undefined) {
        if (origin !== ownOrigin && !isSameOrigin(origin, host) && !crossOrigins.has(origin))
          throw new Refusal("forbidden", "Origin: pages of that site may not call this server.", { reason: "origin", hint: "Allow a site with --allowed-origins." });
      } else if (site !== undefined && site !== "same-origin" && site !== "none" && !(forPage && mode === "navigate" && method === "GET"))
        throw new Refusal("forbidden", "Sec-Fetch-Site: pages of other sites may not call this server.", { reason: "origin" });
    },
    allowReading({ method, headers }, response, methods) {
      if (crossOrigins.size === 0) return "request";
      response.setHeader("vary", "Origin");
      const { origin } = headers;
      if (origin === undefined || !crossOrigins.has(origin)) return "request";
      response.setHeader("access-control-allow-origin", origin);
      response.setHeader("access-control-expose-headers", "mcp-session-id, retry-after, www-authenticate");
      if (method !== "OPTIONS" || headers["access-control-request-method"] === undefined) return "request";
      response.setHeader("access-control-allow-methods", methods.join(", "));
      response.setHeader("access-control-allow-headers", allowedHeaders);
      response.setHeader("access-control-max-age", "600");
      return "preflight";
    },
  };
}

/** Whether the page's origin has the request's host and port. */
export function isSameOrigin(origin: string, host: string): boolean {
  const lower = host.toLowerCase();
  return origin === `http://${lower}` || origin === `https://${lower}`;
}

/** The host without its port; undefined if it is not a valid host. */
export function hostName(host: string): string | undefined {
  return /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/.exec(host)?.[1];
}

const isAddress = (name: string): boolean => isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
