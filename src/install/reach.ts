import { invalidInput } from "../kernel/errors.ts";
import { isLoopbackAddress } from "../kernel/loopback-address.ts";
import type { InstallScope } from "./client-folders.ts";
import type { Client, Reach, TokenVariable } from "./clients.ts";
import type { Running } from "./server-launch.ts";
import { serverLaunch } from "./server-launch.ts";

export interface ReachRequest {
  readonly http?: string;
  readonly tokenEnv?: string;
  readonly tokenFile?: string;
  readonly serverArgs: readonly string[];
}

/** The variable that the bridge reads by itself, and the default if no other is named. */
const usualVariable = "HOLDFAST_TOKEN";
const noVariable = "none";

/** How the client will reach the server: by starting one, by its address, or by starting the bridge to that address. */
export function reachOf(client: Client, request: ReachRequest, running: Running, scope: InstallScope): Reach {
  const { http, tokenEnv, tokenFile, serverArgs } = request;
  const { command, args } = serverLaunch(running, scope);
  if (http === undefined) {
    if (tokenEnv !== undefined || tokenFile !== undefined)
      throw invalidInput(tokenEnv === undefined ? "--token-file" : "--token-env", "requires --http URL, the address of a running server");
    return { kind: "stdio", launch: { command, args: [...args, ...serverArgs] } };
  }
  const url = requireAddress(http);
  if (serverArgs.length > 0) throw invalidInput("--http", `cannot go with ${serverArgs.filter((arg) => arg.startsWith("--")).join(", ")}: a running server has its own settings`);
  const token = tokenVariable(client, request, url);
  if (client.takesHttp && tokenFile === undefined) return { kind: "http", url: http, ...(token === undefined ? {} : { token }) };
  if (url.search !== "") throw invalidInput("--http", "must not contain a query, because other users can read a process's arguments");
  return { kind: "stdio", launch: { command, args: [...args, "connect", http, ...(tokenFile === undefined ? [] : ["--token-file", tokenFile])] } };
}

function requireAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidInput("--http", "must be an http: or https: URL, for example http://127.0.0.1:8000/mcp");
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw invalidInput("--http", "must not contain a user, a password or a fragment, because other users may read the file it is written to");
  return url;
}

/** On this machine callers need no token unless the server requires one; elsewhere every caller needs one or signs in. */
function tokenVariable({ title, bearer }: Client, { tokenEnv, tokenFile }: ReachRequest, url: URL): TokenVariable | "none" | undefined {
  if (tokenEnv === noVariable) return noVariable;
  if (tokenEnv === undefined) return bearer === undefined || tokenFile !== undefined || isLoopbackAddress(url.hostname) ? undefined : { name: usualVariable, isAsked: false };
  // The value is not repeated in the error: it may be the token itself.
  if (!/^[A-Za-z_]\w{0,127}$/.test(tokenEnv) || tokenEnv.startsWith("hf_"))
    throw invalidInput("--token-env", `must be the name of an environment variable, for example ${usualVariable}, or ${noVariable}; the token itself is never written`);
  if (tokenFile !== undefined) throw invalidInput("--token-env", "cannot be combined with --token-file: pass the token in one way");
  if (bearer === undefined) throw invalidInput("--token-env", `${title} cannot refer to a variable in its file; pass --token-file FILE instead`);
  return { name: tokenEnv, isAsked: true };
}

/** What the user still has to do about the token. */
export function tokenNote({ title, variablesFrom = `where ${title} is started` }: Client, { http, tokenEnv, tokenFile }: ReachRequest, reach: Reach): string[] {
  if (http === undefined || tokenFile !== undefined || tokenEnv === noVariable) return [];
  if (reach.kind === "http" && reach.token !== undefined && reach.token !== noVariable)
    return [`Set ${reach.token.name} to a token of that server ${variablesFrom}; create one there with holdfast token create.`];
  if (isLoopbackAddress(new URL(http).hostname)) return [];
  return [`${title} cannot refer to a variable in its file. Put a token of that server into a file that only you can read, and run the command again with --token-file FILE.`];
}
