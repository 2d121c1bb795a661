import type { IncomingMessage } from "node:http";
import { isLoopbackAddress } from "../../kernel/loopback-address.ts";
import { hostName, isSameOrigin } from "./request-origin.ts";

/** What reverse proxies, tunnels and balancers add. */
const forwardingHeaders =
  /^(forwarded|via|x-forwarded(-.*)?|x-original-.*|x-envoy-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-.*|fastly-client-ip|tailscale-.*)$/;
const isForwarding = (name: string): boolean => forwardingHeaders.test(name);

/**
 * Whether the request comes from a user of this machine. A proxy on this machine would make every caller local, so forwarded requests do not count;
 * and a page of another site may make a browser ask, so what a browser says comes from elsewhere does not count either.
 */
export function isLocalRequest({ headers, httpVersion, socket }: IncomingMessage): boolean {
  if (!isLoopbackAddress(socket.remoteAddress ?? "")) return false;
  // No client of today speaks 1.0, but nginx does by default, and it puts our own address into Host and says nothing of whom it speaks for.
  if (httpVersion === "1.0") return false;
  const host = hostName((headers.host ?? "").toLowerCase());
  if (host === undefined || !isLoopbackAddress(host)) return false;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  // Older browsers and embedded views send no fetch metadata: a page that another origin served is never the operator's own, even if it may call.
  if (headers.origin !== undefined && !isSameOrigin(headers.origin, headers.host ?? "")) return false;
  return !Object.keys(headers).some(isForwarding);
}
