import type { Role } from "../../domain/identity/principal.ts";
import { roles } from "../../domain/identity/principal.ts";
import type { AccessToken } from "../../domain/identity/tokens.ts";
import { createToken, listTokens, requireToken, revokeToken } from "../../domain/identity/tokens.ts";
import { systemNamespace } from "../../domain/keyspace.ts";
import { durationForms, parseDurationMs } from "../../kernel/duration.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { openReservedStore } from "../../store/namespace-store.ts";
import type { Scope } from "../../store/transact.ts";
import type { CliRuntime, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { confirmed } from "./confirmed.ts";
import { storeFlags } from "./store-flags.ts";
import type { TextStyle } from "./terminal-text.ts";
import { formatTime, safeText, styleFor, table } from "./terminal-text.ts";

const tokenCreateCommand: Command = {
  path: ["token", "create"],
  summary: "Create an access token for holdfast serve and print its secret once",
  details:
    "Prints the secret alone to standard output, and a description to standard error. The store keeps only a hash of the secret, so it cannot be shown again; if it is lost, create another token. A token is valid on every server that uses the same store. History records the token's name with every change made with it, so give each agent or person a token of their own.",
  operands: "",
  flags: [
    { name: "name", takes: "NAME", meaning: "Name of the token's user: letters, digits, space and . _ @ -. Required." },
    {
      name: "role",
      takes: "ROLE",
      choices: roles,
      meaning: "read: tools that change nothing; write: everything except clearing a namespace; admin: everything, including tokens. Required.",
    },
    {
      name: "namespace",
      takes: "NAME",
      repeats: true,
      meaning: "A namespace that the token may use; '*' means all. May be repeated; the first is the token's default. Default: the configured namespace.",
    },
    { name: "expires", takes: "DURATION", meaning: "How long the token is valid, for example 90d. Default: until it is revoked." },
  ],
  examples: [
    "holdfast token create --name ci --role write --namespace builds",
    "holdfast token create --name dashboard --role read --namespace '*' --expires 90d",
    "holdfast token create --name ops --role admin --namespace '*' --json",
  ],
  run: runCreate,
};

const tokenListCommand: Command = {
  path: ["token", "list"],
  summary: "List the valid access tokens and when each was last used",
  details: "Secrets cannot be shown, because only their hashes are stored. The time of the last use is accurate to about a minute.",
  operands: "",
  flags: [],
  examples: ["holdfast token list", "holdfast token list --json"],
  run: runList,
};

const tokenRevokeCommand: Command = {
  path: ["token", "revoke"],
  summary: "Revoke an access token, on every server within two seconds",
  operands: "<id>",
  operandMeanings: [{ name: "id", meaning: "The id that holdfast token list shows, or a unique beginning of it." }],
  flags: [{ name: "yes", meaning: "Skip the confirmation. Required when standard input is not a terminal." }],
  examples: ["holdfast token revoke 3f9a", "holdfast token revoke 3f9a61c07b12de45 --yes --json"],
  run: runRevoke,
};

export const tokenCommands: readonly Command[] = [tokenCreateCommand, tokenListCommand, tokenRevokeCommand];

const scopeOf = ({ base: { clock, writer }, engine }: CliRuntime): Scope => ({ store: openReservedStore(engine, systemNamespace, clock), clock, writer });

function requireWritable({ config }: CliRuntime, what: string): void {
  if (config.readOnly) throw new HoldfastError("read_only", `${what} changes the store, and this command was started read-only.`);
}

async function runCreate({ host, flags, words, json }: Invocation): Promise<number> {
  if (words.length > 0) throw invalidInput("--name", "pass the name with this flag; create takes no argument");
  const name = flags.name;
  if (typeof name !== "string") throw invalidInput("--name", "is missing; name who will use the token");
  const role = roles.find((word) => word === flags.role);
  if (role === undefined) throw invalidInput("--role", `must be one of ${roles.join(", ")}`);
  const ttlMs = flags.expires === undefined ? undefined : readDuration(flags.expires as string);
  await using runtime = await host.open(storeFlags(flags));
  requireWritable(runtime, "token create");
  const scope = scopeOf(runtime);
  const others = (await listTokens(scope)).filter((token) => token.name === name);
  const { token, secret } = await naming(() => createToken(scope, { name, role, namespaces: namespacesOf(flags.namespace, runtime.config.namespace), ttlMs }));
  if (json) {
    host.stdout.write(`${JSON.stringify({ ...toJson(token), secret })}\n`);
    return exitCodes.ok;
  }
  // Relative to its creation: a moment later, "90d" would read as 89 days and 23 hours.
  const style = styleFor(host.stderr, runtime.config.colourAllowed, token.createdAtMs);
  host.stderr.write(
    `Token ${token.id} for ${safeText(token.name)}: ${token.role} in ${shownNamespaces(token)}, valid ${validUntil(token, style)}. This is its secret, shown once:\n`,
  );
  host.stdout.write(`${secret}\n`);
  if (others.length > 0)
    host.stderr.write(
      `Note: ${others.map(({ id }) => id).join(", ")} ${others.length === 1 ? "has" : "have"} the same name, and history cannot tell them apart. Revoke the tokens that this one replaces.\n`,
    );
  return exitCodes.ok;
}

function readDuration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms <= 0) throw invalidInput("--expires", `must be ${durationForms}`);
  return ms;
}

/** Before the command, --namespace is the common flag, which is given once. */
function namespacesOf(given: Invocation["flags"][string] | undefined, configured: string): AccessToken["namespaces"] {
  const names = given === undefined ? [configured] : typeof given === "string" ? [given] : (given as readonly string[]);
  if (!names.includes("*")) return names;
  if (names.length > 1) throw invalidInput("--namespace", "'*' means every namespace and cannot be combined with others");
  return "*";
}

/** The error names the flag that the user wrote. */
async function naming<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const field = error instanceof HoldfastError ? error.details?.field : undefined;
    const flag = { name: "--name", role: "--role", expires: "--expires", namespace: "--namespace", namespaces: "--namespace" }[String(field)];
    if (!(error instanceof HoldfastError) || flag === undefined) throw error;
    throw new HoldfastError(error.code, error.message.replace(/^[a-z]+: /, `${flag}: `), { hint: error.hint, details: { ...error.details, field: flag } });
  }
}

async function runList({ host, flags, words, json }: Invocation): Promise<number> {
  if (words.length > 0) throw invalidInput("<id>", "list takes no argument; it shows all tokens");
  await using runtime = await host.open(storeFlags(flags), { onlyLooks: true });
  const scope = scopeOf(runtime);
  const tokens = await listTokens(scope);
  if (json) host.stdout.write(`${JSON.stringify({ tokens: tokens.map(toJson) })}\n`);
  else if (tokens.length === 0) host.stdout.write("There are no tokens. Create one: holdfast token create --name NAME --role ROLE\n");
  else host.stdout.write(renderTokens(tokens, styleFor(host.stdout, runtime.config.colourAllowed, scope.clock.nowMs())));
  return exitCodes.ok;
}

async function runRevoke({ host, flags, words, json }: Invocation): Promise<number> {
  const [part, ...others] = words;
  if (part === undefined || others.length > 0) throw invalidInput("<id>", "must be the id of one token, or its beginning");
  await using runtime = await host.open(storeFlags(flags), { onlyLooks: true });
  requireWritable(runtime, "token revoke");
  const scope = scopeOf(runtime);
  const token = await requireToken(scope, part);
  const question = `Revoke the token ${token.id} of ${safeText(token.name)} (${token.role} in ${shownNamespaces(token)})?`;
  const isSure = await confirmed(host, { question, otherwise: "nothing was changed", yes: flags.yes === true, json });
  if (!isSure) {
    host.stdout.write("Nothing was changed.\n");
    return exitCodes.negative;
  }
  const revoked = await revokeToken(scope, token.id);
  if (json) host.stdout.write(`${JSON.stringify({ id: token.id, name: token.name, revoked })}\n`);
  else host.stdout.write(revoked ? `Revoked ${token.id}. Running servers reject it within two seconds.\n` : `${token.id} had already been revoked or expired.\n`);
  return exitCodes.ok;
}

const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1_000);

const toJson = ({ id, name, role, namespaces, createdAtMs, createdBy, expiresAtMs, lastUsedAtMs }: AccessToken) => ({
  id,
  name,
  role: role satisfies Role,
  namespaces,
  created_at: seconds(createdAtMs),
  created_by: createdBy,
  expires_at: seconds(expiresAtMs),
  last_used_at: seconds(lastUsedAtMs),
});

const shownNamespaces = ({ namespaces }: AccessToken): string => (namespaces === "*" ? "every namespace" : namespaces.map((name) => safeText(name)).join(", "));
const validUntil = ({ expiresAtMs }: AccessToken, style: TextStyle): string =>
  expiresAtMs === undefined ? "until it is revoked" : `until ${formatTime(expiresAtMs / 1_000, style)}`;

function renderTokens(tokens: readonly AccessToken[], style: TextStyle): string {
  const time = (ms: number | undefined, otherwise: string): string => (ms === undefined ? otherwise : formatTime(ms / 1_000, { ...style, shortTimes: true }));
  return table(
    ["id", "name", "role", "namespaces", "created", "by", "expires", "last used"],
    tokens.map((token) => [
      token.id,
      safeText(token.name),
      token.role,
      shownNamespaces(token),
      time(token.createdAtMs, ""),
      safeText(token.createdBy),
      time(token.expiresAtMs, "never"),
      time(token.lastUsedAtMs, "never"),
    ]),
    style,
  );
}
