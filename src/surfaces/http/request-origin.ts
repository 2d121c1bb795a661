import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { Refusal } from "./refusal.ts";

export interface OriginRules {
  /** Bound to a loopback address: only loopback names are ours. Otherwise every address is too, because an attacker can make a name point here, but not an address. */
  readonly loopbackOnly: boolean;
  /** Further names in the Host header. */
  readonly allowedHosts: readonly string[];
  /** Pages of other sites that may call. */
  readonly allowedOrigins: readonly string[];
  /** Where callers find this server, when that is not where it listens. */
  readonly publicUrl?: string;
}

export interface OriginCheck {
  /** Throws where the request is not meant for this server. */
  checkHost(request: IncomingMessage): void;
  /** Throws where it comes from a page that may not call. `forPage`: a link from elsewhere may lead here, because what is answered holds no data. */
  checkOrigin(request: IncomingMessage, forPage: boolean): void;
  /** Lets only pages of a configured origin read the answer. "preflight": the browser asked for permission, and the request is answered. */
  allowReading(request: IncomingMessage, response: ServerResponse, methods: readonly string[]): "preflight" | "request";
}

const allowedHeaders = "authorization, content-type, accept, last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name";
const loopbackHosts = new Set(["localhost", "127.0.0.1", "[::1]"]);

export function openOriginCheck({ loopbackOnly, allowedHosts, allowedOrigins, publicUrl }: OriginRules): OriginCheck {
  const publicly = publicUrl === undefined ? undefined : new URL(publicUrl);
  const hosts = new Set([...allowedHosts.map((host) => host.toLowerCase()), ...(publicly === undefined ? [] : [publicly.host, publicly.hostname])]);
  const crossOrigins = new Set(allowedOrigins.map((origin) => new URL(origin).origin));
  const ownOrigin = publicly?.origin;
  // Verdicts are remembered for the few hosts that are ours, never for those a stranger makes up.
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

/** Whether a page that this origin served was served under the name that the request is for. */
export function isSameOrigin(origin: string, host: string): boolean {
  const lower = host.toLowerCase();
  return origin === `http://${lower}` || origin === `https://${lower}`;
}

/** Without the port; undefined for what is no host. */
export function hostName(host: string): string | undefined {
  return /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/.exec(host)?.[1];
}

const isAddress = (name: string): boolean => isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
