import type { Client } from "./clients.ts";
import { transportMembers } from "./edit-json.ts";
import type { Launch } from "./server-launch.ts";

type Members = Readonly<Record<string, unknown>>;

/** How an entry reaches its server: by a command, in the client's own form, or by an address. */
export type EntryReach =
  | { readonly kind: "stdio"; readonly words: readonly string[]; readonly form: "command and args" | "command list" | "cmd and args" }
  | { readonly kind: "http"; readonly url: string; readonly sendsHeaders: boolean };

const isWords = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((word) => typeof word === "string");
const headerMembers = ["headers", "requestOptions", "http_headers", "env_http_headers", "bearer_token_env_var"] as const;

/** Undefined if the entry has neither a command nor an address in a known form. */
export function entryReach(entry: Members): EntryReach | undefined {
  const { command, cmd, args = [] } = entry;
  if (isWords(command) && command.length > 0) return { kind: "stdio", words: command, form: "command list" };
  if (typeof command === "string" && isWords(args)) return { kind: "stdio", words: [command, ...args], form: "command and args" };
  if (typeof cmd === "string" && isWords(args)) return { kind: "stdio", words: [cmd, ...args], form: "cmd and args" };
  const url = [entry.url, entry.httpUrl, entry.serverUrl, entry.uri].find((value) => typeof value === "string");
  if (url === undefined) return undefined;
  return { kind: "http", url: url as string, sendsHeaders: headerMembers.some((name) => entry[name] !== undefined && JSON.stringify(entry[name]) !== "{}") };
}

/** The arguments of the proxy: first those by which a wrapped entry is recognized, last the server's own command or address. */
export const proxyWords = (server: string, settings: readonly string[], reach: EntryReach): readonly string[] => [
  "proxy",
  "--name",
  server,
  ...settings,
  ...(reach.kind === "stdio" ? ["--", ...reach.words] : ["--url", reach.url]),
];

/** The server behind the proxy of a wrapped entry; undefined if the entry is not wrapped. */
export function unwrappedReach(reach: EntryReach | undefined, server: string): EntryReach | undefined {
  if (reach?.kind !== "stdio") return undefined;
  const { words, form } = reach;
  const at = words.findIndex((word, i) => word === "proxy" && words[i + 1] === "--name" && words[i + 2] === server);
  if (at === -1) return undefined;
  const dashes = words.indexOf("--", at);
  if (dashes !== -1) return { kind: "stdio", words: words.slice(dashes + 1), form };
  const url = words[words.indexOf("--url", at) + 1];
  return url === undefined ? undefined : { kind: "http", url, sendsHeaders: false };
}

/** Only the entry's members that define how to reach the server; its other members stay unchanged. */
export function reachMembers(client: Pick<Client, "entry">, entry: Members, reach: EntryReach): Members {
  const transport = (members: Members): Members => Object.fromEntries(Object.entries(members).filter(([name]) => transportMembers.has(name)));
  if (reach.kind === "http") return transport(client.entry({ kind: "http", url: reach.url }));
  const [command = "", ...args] = reach.words;
  // An entry with an address becomes an entry with a command, in the form that this client uses.
  if (entryReach(entry)?.kind !== "stdio") return transport(client.entry({ kind: "stdio", launch: { command, args } satisfies Launch }));
  const changed: Readonly<Record<typeof reach.form, Members>> = {
    "command and args": { command, args },
    "command list": { command: reach.words },
    "cmd and args": { cmd: command, args },
  };
  return { ...transport(entry), ...changed[reach.form] };
}
