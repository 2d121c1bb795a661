import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { isLoopbackAddress } from "../../kernel/loopback-address.ts";
import type { BridgeCredential } from "./credential.ts";

/** The URL at which a Holdfast server serves MCP. A URL without a path gets /mcp; any other URL is used unchanged. */
export function requireTarget(text: string): URL {
  const url = requireAddress(text, "URL", "a Holdfast server, for example http://127.0.0.1:8000/mcp");
  if (url.pathname === "/") url.pathname = "/mcp";
  return url;
}

/** Parses the address of a server. The error does not repeat the address, because it may contain a secret. */
export function requireAddress(text: string, field: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) throw invalidInput(field, `must be the http:// or https:// address of ${what}`);
  if (url.username !== "" || url.password !== "" || url.search !== "")
    throw new HoldfastError("invalid_input", `${field}: must not contain a user, password or query, because other users can read a process's arguments`, {
      hint: "Put the token into HOLDFAST_TOKEN, or into a file and pass --token-file FILE.",
      details: { field },
    });
  url.hash = "";
  return url;
}

export function warnInTheClear(url: URL, { headers }: Pick<BridgeCredential, "headers">, log: Log): void {
  if (!isInTheClear(url) || headers.authorization === undefined) return;
  log("warn", "token_in_the_clear", {
    to: url.host,
    hint: "The token is sent over plain http, which others on the network can read. Use https, or a tunnel to a loopback address.",
  });
}

/** True if others on the network can read the traffic to this address. */
export const isInTheClear = ({ protocol, hostname }: URL): boolean => protocol === "http:" && !isLoopbackAddress(hostname);
