import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { isLoopbackAddress } from "../../kernel/loopback-address.ts";

const field = "URL";

/** Where MCP is served. A URL that names a server alone gets the path of MCP; one with a path of its own is taken as it is. Nothing of a refused one is repeated. */
export function requireTarget(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw invalidInput(field, "must be the http:// or https:// address of a Holdfast server, for example http://127.0.0.1:8000/mcp");
  if (url.username !== "" || url.password !== "" || url.search !== "")
    throw new HoldfastError("invalid_input", `${field}: must not contain a user, password or query, because other users can read a process's arguments`, {
      hint: "Put the token into HOLDFAST_TOKEN, or into a file and pass --token-file FILE.",
      details: { field },
    });
  url.hash = "";
  if (url.pathname === "/") url.pathname = "/mcp";
  return url;
}

/** Whether the network can read what is sent there. */
export const isInTheClear = ({ protocol, hostname }: URL): boolean => protocol === "http:" && !isLoopbackAddress(hostname);
