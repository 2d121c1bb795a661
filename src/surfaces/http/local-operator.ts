import type { IncomingMessage } from "node:http";
import { isLoopbackAddress } from "../../kernel/loopback-address.ts";
import { hostName, isSameOrigin } from "./request-origin.ts";

/** Headers that reverse proxies, tunnels and load balancers add. */
const forwardingHeaders =
  /^(forwarded|via|x-forwarded(-.*)?|x-original-.*|x-envoy-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-.*|fastly-client-ip|tailscale-.*)$/;
const isForwarding = (name: string): boolean => forwardingHeaders.test(name);

/**
 * Whether the request comes from a user of this machine. A proxy on this machine would make every caller local, so forwarded requests do not count.
 * Another site's page can make a browser send requests, so requests that the browser marks as cross-site do not count either.
 */
export function isLocalRequest({ headers, httpVersion, socket }: IncomingMessage): boolean {
  if (!isLoopbackAddress(socket.remoteAddress ?? "")) return false;
  // No current client uses HTTP/1.0, but nginx does by default. It puts our own address into Host and does not name the original caller.
  if (httpVersion === "1.0") return false;
  const host = hostName((headers.host ?? "").toLowerCase());
  if (host === undefined || !isLoopbackAddress(host)) return false;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  // Older browsers and embedded views send no fetch metadata. A page from another origin is never the operator's own, even if it may call.
  if (headers.origin !== undefined && !isSameOrigin(headers.origin, headers.host ?? "")) return false;
  return !Object.keys(headers).some(isForwarding);
}
