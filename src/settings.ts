import { homedir, userInfo } from "node:os";
import { isAbsolute, resolve } from "node:path";
import * as z from "zod";
import { durationForms, parseDurationMs } from "./kernel/duration.ts";
import { storeForms, storeProblem } from "./kernel/store-url.ts";

/** The table of settings: accepted values, sources and meaning. config.ts reads the settings; help texts and docs/configuration.md are generated from this table. */

/** In a hand-made environment HOME may be empty or relative. The store would then be a different one in every folder. */
export function homeFolder(): string {
  const named = homedir();
  try {
    return isAbsolute(named) ? named : userInfo().homedir;
  } catch {
    return resolve(named);
  }
}

/** Clients start servers without a shell, so the tilde must be expanded here. A folder named "~" is never intended. */
export const absolutePath = (path: string): string => resolve(path.replace(/^~(?=[/\\])/, () => homeFolder()));

const durationMs = (minMs: number, maxMs: number) =>
  z
    .union([z.number(), z.string()])
    .transform((raw) => parseDurationMs(String(raw)) ?? Number.NaN)
    .pipe(z.number().min(minMs).max(maxMs));
const wholeNumber = (min: number, max: number) => z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]).pipe(z.number().int().min(min).max(max));
const flag = z.union([z.boolean(), z.stringbool()]);
const words = z.union([
  z.array(z.string().min(1)),
  z.string().transform((text) =>
    text
      .split(",")
      .map((word) => word.trim())
      .filter((word) => word !== ""),
  ),
]);

/** `none` or a path, which is absolute from here on because a child process may run in another folder. */
const folder = z
  .string()
  .min(1)
  .transform((path) => (path === "none" ? path : absolutePath(path)));

/** Origins of web pages without a path, as browsers send them in `Origin`. Wildcards are not allowed. */
const origins = words.refine((list) => list.every((text) => /^https?:\/\/[^/?#@*]+$/.test(text) && URL.canParse(text)));
const hostNames = words.refine((list) => list.every((text) => /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/.test(text)));
const publicUrl = z.string().refine((text) => /^https?:\/\/[^/?#@]+\/?$/.test(text) && URL.canParse(text));

const authModes = ["auto", "token"] as const;
const journalFormats = ["text", "plain", "emoji", "json", "dual"] as const;
/** Signatures that anyone can verify and only the issuer can create. With the others (HS256 …), every verifier could create tokens too. */
const jwtAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const;
const logLevels = ["debug", "info", "warn", "error"] as const;
const secretModes = ["allow", "refuse", "redact"] as const;
/** A collector's URL without credentials. Those belong in the headers, which are never shown. */
const collectorUrl = z.string().refine((text) => /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).username === "" && new URL(text).password === "");
/** `name=value,name=value`, percent-encoded where needed, in OpenTelemetry's format. */
const headerList = z.string().refine((text) => text.split(",").every((pair) => /^\s*[A-Za-z0-9_-]+\s*=[\x20-\x7e]*$/.test(pair)));

/** A folder with a model, or an endpoint's address, without credentials: those have a setting of their own, which is never shown. */
const embeddings = z
  .string()
  .refine((text) => /^onnx:./.test(text) || (/^https?:\/\/[^/?#@]+(?:\/[^?#@]*)?$/.test(text) && URL.canParse(text)))
  .transform((text) => (text.startsWith("onnx:") ? `onnx:${absolutePath(text.slice("onnx:".length))}` : text));
const secret = z.string().regex(/^[\x21-\x7e]{1,8192}$/);

export const configSchema = z.strictObject({
  store: z.string().refine((url) => storeProblem(url) === undefined),
  namespace: z.string().min(1),
  profile: z.string().min(1).optional(),
  tools: words.optional(),
  readOnly: flag.default(false),
  claimTtl: durationMs(1_000, 7 * 86_400_000).default(15 * 60_000),
  historyAge: durationMs(60_000, 3_650 * 86_400_000).default(30 * 86_400_000),
  historyRevisions: wholeNumber(1_000, 1_000_000_000).default(1_000_000),
  effectAge: durationMs(60_000, 3_650 * 86_400_000).default(30 * 86_400_000),
  journalFormat: z.enum(journalFormats).optional(),
  journalAge: z.union([z.literal("forever").transform(() => undefined), durationMs(60_000, 3_650 * 86_400_000)]).optional(),
  hookTimeout: durationMs(100, 3_600_000).default(4_000),
  goldfishDir: folder.optional(),
  checkpointDir: folder.optional(),
  knowledgeDir: folder.optional(),
  agent: z.string().min(1).optional(),
  host: z.string().min(1).default("127.0.0.1"),
  port: wholeNumber(0, 65_535).default(8_000),
  auth: z.enum(authModes).default("auto"),
  allowedHosts: hostNames.default([]),
  allowedOrigins: origins.default([]),
  publicUrl: publicUrl.optional(),
  rateLimit: wholeNumber(1, 1_000_000).default(2_000),
  jwtIssuer: z.string().min(1).optional(),
  jwtAudience: words.pipe(z.array(z.string()).min(1)).optional(),
  jwtJwksUrl: z.string().min(1).optional(),
  jwtAlgorithms: words.pipe(z.array(z.enum(jwtAlgorithms)).min(1)).default([...jwtAlgorithms]),
  jwtRoleClaim: z.string().min(1).default("scope"),
  jwtNamespacesClaim: z.string().min(1).default("holdfast_namespaces"),
  secrets: z.enum(secretModes).default("allow"),
  keysMax: wholeNumber(1, 1_000_000_000).default(10_000_000),
  namespacesMax: wholeNumber(1, 100_000).default(2_000),
  embeddings: embeddings.optional(),
  embeddingsModel: z.string().min(1).max(200).optional(),
  embeddingsRemote: flag.default(false),
  embeddingsKey: secret.optional(),
  embeddingsKeyFile: z.string().min(1).transform(absolutePath).optional(),
  token: secret.optional(),
  tokenFile: z.string().min(1).transform(absolutePath).optional(),
  otlpEndpoint: collectorUrl.optional(),
  otlpHeaders: headerList.optional(),
  otlpServiceName: z.string().min(1).max(200).default("holdfast"),
  otlpSampleRatio: z
    .union([
      z.number(),
      z
        .string()
        .regex(/^(?:\d+(?:\.\d+)?|\.\d+)$/)
        .transform(Number),
    ])
    .pipe(z.number().min(0).max(1))
    .default(1),
  logLevel: z.enum(logLevels).default("warn"),
});
export type Settings = z.output<typeof configSchema>;
export type SettingName = keyof Settings;

export interface SettingSource {
  /** Absent for secrets, because other users can read a process's arguments. */
  readonly flag?: string;
  /** The placeholder after the flag; absent for a boolean flag. */
  readonly takes?: string;
  readonly variable: string;
  /** Variables of replaced systems with the same meaning. */
  readonly aliases: readonly string[];
  readonly allowed: string;
  readonly fallback: string;
  readonly meaning: string;
  /** For shell completion, if only a few words are accepted. */
  readonly choices?: readonly string[];
  /** The only commands that use it. Other commands accept it too, because a variable or a file applies to all of them, but their help does not list it. */
  readonly of?: "serve" | "connect" | readonly ("connect" | "install")[];
}

/** The source and meaning of each setting; help texts and docs/configuration.md are generated from this table. */
export const settingSources: Readonly<Record<SettingName, SettingSource>> = {
  store: {
    flag: "store",
    takes: "URL",
    variable: "HOLDFAST_STORE",
    aliases: ["CHECKPOINT_DB_PATH", "STATE_BACKEND", "DB_PATH", "REDIS_URL"],
    allowed: `must be ${storeForms}`,
    fallback: "a file in the user's data folder",
    meaning:
      "Where state lives: `sqlite:PATH` (created with its folders), `postgres://…`, `redis://…` (also `rediss:`, `redis+sentinel:`, `redis+cluster:`) or `memory:` (nothing survives the process). " +
      "See docs/engines.md. Put a URL that contains a password into the variable or the configuration file: other users can read a process's arguments.",
  },
  namespace: {
    flag: "namespace",
    takes: "NAME",
    variable: "HOLDFAST_NAMESPACE",
    aliases: [],
    allowed: "must be a non-empty name",
    fallback: "default",
    meaning: "The namespace: one separate history of keys, leases, runs and sessions inside the store.",
  },
  profile: {
    flag: "profile",
    takes: "NAME",
    variable: "HOLDFAST_PROFILE",
    aliases: [],
    allowed: "must be the name of a profile",
    fallback: "default",
    meaning:
      "A preset of tools for MCP clients: `default` has Holdfast's own tools, `all` adds those of the systems it replaces, which also have their own profiles. `holdfast doctor` lists the profiles with their token cost.",
  },
  tools: {
    flag: "tools",
    takes: "LIST",
    variable: "HOLDFAST_TOOLS",
    aliases: [],
    allowed: "must be toolset names separated by commas",
    fallback: "all toolsets of the profile",
    meaning: "Offer only these toolsets, for example `state,lease`, from the profile, or from all tools if no profile is given.",
  },
  readOnly: {
    flag: "read-only",
    variable: "HOLDFAST_READ_ONLY",
    aliases: [],
    allowed: "must be true or false",
    fallback: "false",
    meaning: "Offer and accept only tools that change nothing. Fails with `not_found` instead of creating a missing store.",
  },
  claimTtl: {
    flag: "claim-ttl",
    takes: "DURATION",
    variable: "HOLDFAST_CLAIM_TTL",
    aliases: [],
    allowed: `must be ${durationForms}, from 1s to 7d`,
    fallback: "15m",
    meaning: "How long a workflow claim lasts if the caller does not specify it.",
  },
  historyAge: {
    flag: "history-age",
    takes: "DURATION",
    variable: "HOLDFAST_HISTORY_AGE",
    aliases: [],
    allowed: `must be ${durationForms}, from 1m to 3650d`,
    fallback: "30d",
    meaning: "History older than this may be removed; live entries never are.",
  },
  historyRevisions: {
    flag: "history-revisions",
    takes: "COUNT",
    variable: "HOLDFAST_HISTORY_REVISIONS",
    aliases: [],
    allowed: "must be a whole number from 1000 to 1000000000",
    fallback: "1000000",
    meaning: "Maximum number of revisions of history kept per namespace; older ones may be removed.",
  },
  effectAge: {
    flag: "effect-age",
    takes: "DURATION",
    variable: "HOLDFAST_EFFECT_AGE",
    aliases: [],
    allowed: `must be ${durationForms}, from 1m to 3650d`,
    fallback: "30d",
    meaning: "How long the record of an effect is kept after it is done or has failed; a repeat after that happens again. Unknown effects are kept until they are resolved.",
  },
  journalFormat: {
    flag: "journal-format",
    takes: "FORMAT",
    variable: "HOLDFAST_JOURNAL_FORMAT",
    aliases: ["GOLDFISH_OUTPUT_MODE"],
    allowed: `must be one of ${journalFormats.join(", ")}`,
    choices: journalFormats,
    fallback: "text; plain in the profile goldfish",
    meaning:
      "Output format of the `checkpoint` tool if a call does not specify one. Output is UTF-8; in the profile goldfish every format but `emoji` is ASCII (accents dropped, other scripts escaped).",
  },
  journalAge: {
    flag: "journal-age",
    takes: "DURATION",
    variable: "HOLDFAST_JOURNAL_AGE",
    aliases: [],
    allowed: `must be forever, or ${durationForms}, from 1m to 3650d`,
    fallback: "forever",
    meaning: "How long a journal entry is kept if it was saved without `ttl_days`.",
  },
  hookTimeout: {
    flag: "hook-timeout",
    takes: "DURATION",
    variable: "HOLDFAST_HOOK_TIMEOUT",
    aliases: [],
    allowed: `must be ${durationForms}, from 100ms to 1h`,
    fallback: "4s",
    meaning: "Time after which `holdfast hook` gives up, so that it never blocks the agent. Clients end installed hooks after 5 seconds.",
  },
  goldfishDir: {
    flag: "goldfish-dir",
    takes: "FOLDER",
    variable: "HOLDFAST_GOLDFISH_DIR",
    aliases: ["COA_GOLDFISH_BASE_PATH"],
    allowed: "must be a folder",
    fallback: "none",
    meaning: "The folder with Goldfish's files, for `holdfast import`.",
  },
  checkpointDir: {
    flag: "checkpoint-dir",
    takes: "FOLDER",
    variable: "HOLDFAST_CHECKPOINT_DIR",
    aliases: [],
    allowed: "must be a folder, or none",
    fallback: "`checkpoints` beside a SQLite store's file, else none",
    meaning: "Folder in which research checkpoints are also written as YAML files; `none` turns this off.",
  },
  knowledgeDir: {
    flag: "knowledge-dir",
    takes: "FOLDER",
    variable: "HOLDFAST_KNOWLEDGE_DIR",
    aliases: [],
    allowed: "must be a folder, or none",
    fallback: "`knowledge` beside a SQLite store's file, else none",
    meaning: "Folder in which notes are also written as Markdown files; `none` turns this off.",
  },
  agent: {
    flag: "agent",
    takes: "NAME",
    variable: "HOLDFAST_AGENT",
    aliases: [],
    allowed: "must be a non-empty name",
    fallback: "USER@HOST:SESSION where a command needs a holder or an agent, none elsewhere",
    meaning: "The agent name that the command line uses to hold leases and claims and in history. By default each terminal window has its own.",
  },
  host: {
    flag: "host",
    takes: "ADDRESS",
    variable: "HOLDFAST_HOST",
    aliases: ["SIDECAR_HOST"],
    allowed: "must be a host name or an address",
    fallback: "127.0.0.1",
    meaning: "Address to listen on. An address other than loopback requires a token (`holdfast token create`) or a configured issuer.",
    of: "serve",
  },
  port: {
    flag: "port",
    takes: "NUMBER",
    variable: "HOLDFAST_PORT",
    aliases: ["SIDECAR_PORT"],
    allowed: "must be a whole number from 0 to 65535",
    fallback: "8000",
    meaning: "Port to listen on; 0 picks a free port and prints it.",
    of: "serve",
  },
  auth: {
    flag: "auth",
    takes: "MODE",
    variable: "HOLDFAST_AUTH",
    aliases: [],
    allowed: `must be one of ${authModes.join(", ")}`,
    choices: authModes,
    fallback: "auto",
    meaning: "`auto`: on a loopback address, callers on this machine need no token; all others do. `token`: every caller needs one.",
    of: "serve",
  },
  allowedHosts: {
    flag: "allowed-hosts",
    takes: "LIST",
    variable: "HOLDFAST_ALLOWED_HOSTS",
    aliases: [],
    allowed: "must be host names separated by commas, each with or without a port",
    fallback: "loopback names; also IP addresses if bound to a non-loopback address",
    meaning: "Additional host names that are accepted in the Host header: the server's DNS name, or the reverse proxy's.",
    of: "serve",
  },
  allowedOrigins: {
    flag: "allowed-origins",
    takes: "LIST",
    variable: "HOLDFAST_ALLOWED_ORIGINS",
    aliases: [],
    allowed: "must be origins separated by commas, for example https://app.example.com (no path, no *)",
    fallback: "only the server's own origin",
    meaning: "Sites whose pages may call the server from a browser, for example `https://app.example.com`.",
    of: "serve",
  },
  publicUrl: {
    flag: "public-url",
    takes: "URL",
    variable: "HOLDFAST_PUBLIC_URL",
    aliases: [],
    allowed: "must be http:// or https:// with a host and without a path",
    fallback: "the address it listens on",
    meaning: "The server's public URL behind a reverse proxy, for example `https://holdfast.example.com`.",
    of: "serve",
  },
  rateLimit: {
    flag: "rate-limit",
    takes: "NUMBER",
    variable: "HOLDFAST_RATE_LIMIT",
    aliases: [],
    allowed: "must be a whole number from 1 to 1000000",
    fallback: "2000",
    meaning: "Maximum requests per second for each principal, also the maximum burst.",
    of: "serve",
  },
  jwtIssuer: {
    flag: "jwt-issuer",
    takes: "URL",
    variable: "HOLDFAST_JWT_ISSUER",
    aliases: [],
    allowed: "must be the issuer's URL, exactly as in the iss claim of its tokens",
    fallback: "none",
    meaning: "Also accept JWTs signed by this issuer. See docs/security.md.",
    of: "serve",
  },
  jwtAudience: {
    flag: "jwt-audience",
    takes: "LIST",
    variable: "HOLDFAST_JWT_AUDIENCE",
    aliases: [],
    allowed: "must be one or more names separated by commas",
    fallback: "none",
    meaning: "The `aud` claim of JWTs for this server, usually its URL. Required with --jwt-issuer.",
    of: "serve",
  },
  jwtJwksUrl: {
    flag: "jwt-jwks-url",
    takes: "URL",
    variable: "HOLDFAST_JWT_JWKS_URL",
    aliases: [],
    allowed: "must be the URL of the issuer's key set",
    fallback: "from the issuer's metadata",
    meaning: "URL of the issuer's public keys.",
    of: "serve",
  },
  jwtAlgorithms: {
    flag: "jwt-algorithms",
    takes: "LIST",
    variable: "HOLDFAST_JWT_ALGORITHMS",
    aliases: [],
    allowed: `must be some of ${jwtAlgorithms.join(", ")}`,
    fallback: `all of ${jwtAlgorithms.join(", ")}`,
    meaning: "Accepted signature algorithms.",
    of: "serve",
  },
  jwtRoleClaim: {
    flag: "jwt-role-claim",
    takes: "NAME",
    variable: "HOLDFAST_JWT_ROLE_CLAIM",
    aliases: [],
    allowed: "must be the name of a claim",
    fallback: "scope",
    meaning:
      "The claim that contains the role: `holdfast:read`, `holdfast:write` or `holdfast:admin`, alone, in a list or among other words; the highest applies. Claims other than `scope` and `scp` may also say `read`, `write` or `admin`. Use dots for nested objects: `realm_access.roles`.",
    of: "serve",
  },
  jwtNamespacesClaim: {
    flag: "jwt-namespaces-claim",
    takes: "NAME",
    variable: "HOLDFAST_JWT_NAMESPACES_CLAIM",
    aliases: [],
    allowed: "must be the name of a claim",
    fallback: "holdfast_namespaces",
    meaning: "The claim that lists the namespaces a JWT may use: a name, a list of names (the first is the default), or `*` for all.",
    of: "serve",
  },
  secrets: {
    flag: "secrets",
    takes: "MODE",
    variable: "HOLDFAST_SECRETS",
    aliases: [],
    allowed: `must be one of ${secretModes.join(", ")}`,
    choices: secretModes,
    fallback: "allow",
    meaning:
      "How tools treat recognizable keys, tokens and passwords in their input: `allow` stores them, `refuse` rejects the call and names the field, `redact` stores `[redacted:KIND]` instead. See docs/operating.md.",
  },
  keysMax: {
    flag: "keys-max",
    takes: "COUNT",
    variable: "HOLDFAST_KEYS_MAX",
    aliases: [],
    allowed: "must be a whole number from 1 to 1000000000",
    fallback: "10000000",
    meaning: "Maximum number of keys per namespace, including Holdfast's own (two per lease, about six per run). Calls that would exceed it are refused.",
  },
  namespacesMax: {
    flag: "namespaces-max",
    takes: "COUNT",
    variable: "HOLDFAST_NAMESPACES_MAX",
    aliases: [],
    allowed: "must be a whole number from 1 to 100000",
    fallback: "2000",
    meaning: "Maximum number of namespaces in the store. Calls that would create another are refused; existing namespaces are not affected. One SQLite file holds about 4,000.",
    of: "serve",
  },
  embeddings: {
    flag: "embeddings",
    takes: "URL",
    variable: "HOLDFAST_EMBEDDINGS",
    aliases: [],
    allowed: "must be the http:// or https:// address of an endpoint, without a user or password, or onnx:FOLDER",
    fallback: "none",
    meaning:
      "Also recall notes by meaning, with vectors of a model that you run: the address of an endpoint that offers OpenAI's `/v1/embeddings` (Ollama, LM Studio, text-embeddings-inference), for example `http://127.0.0.1:11434/v1`, or `onnx:FOLDER` with your own `onnxruntime-node`. Every note and every question is sent to the model. See docs/search.md.",
  },
  embeddingsModel: {
    flag: "embeddings-model",
    takes: "NAME",
    variable: "HOLDFAST_EMBEDDINGS_MODEL",
    aliases: [],
    allowed: "must be a name of at most 200 characters",
    fallback: "none",
    meaning: "The model's name as the endpoint knows it. Required with an endpoint. After a change, notes get new vectors in the background.",
  },
  embeddingsRemote: {
    flag: "embeddings-remote",
    variable: "HOLDFAST_EMBEDDINGS_REMOTE",
    aliases: [],
    allowed: "must be true or false",
    fallback: "false",
    meaning: "Allow an endpoint on another machine. Notes and questions leave this one.",
  },
  embeddingsKey: {
    variable: "HOLDFAST_EMBEDDINGS_KEY",
    aliases: [],
    allowed: "must be one key: visible characters without a space",
    fallback: "none",
    meaning: "The key that is sent to the endpoint as a bearer token. There is no flag, because other users can read a process's arguments.",
  },
  embeddingsKeyFile: {
    flag: "embeddings-key-file",
    takes: "FILE",
    variable: "HOLDFAST_EMBEDDINGS_KEY_FILE",
    aliases: [],
    allowed: "must be a file that holds one key",
    fallback: "none",
    meaning: "A file that contains the endpoint's key, instead of `HOLDFAST_EMBEDDINGS_KEY`.",
  },
  token: {
    variable: "HOLDFAST_TOKEN",
    aliases: [],
    allowed: "must be one token: visible characters without a space",
    fallback: "none",
    meaning: "The token that `holdfast connect` sends to the server. There is no flag, because other users can read a process's arguments.",
    of: "connect",
  },
  tokenFile: {
    flag: "token-file",
    takes: "FILE",
    variable: "HOLDFAST_TOKEN_FILE",
    aliases: [],
    allowed: "must be a file that contains one token",
    fallback: "none",
    meaning:
      "A file that contains the token for the server, instead of `HOLDFAST_TOKEN`. It is read again when the server rejects the token. `holdfast install CLIENT --http URL` makes the client start `holdfast connect` with this file.",
    of: ["connect", "install"],
  },
  otlpEndpoint: {
    flag: "otlp-endpoint",
    takes: "URL",
    variable: "HOLDFAST_OTLP_ENDPOINT",
    aliases: ["OTEL_EXPORTER_OTLP_ENDPOINT"],
    allowed: "must be the http:// or https:// address of a collector, without a user or password",
    fallback: "none",
    meaning:
      "The collector that receives spans of MCP calls, as OTLP over HTTP with JSON: its URL without `/v1/traces`, for example `http://127.0.0.1:4318`. Also used by `holdfast mcp`.",
    of: "serve",
  },
  otlpHeaders: {
    flag: "otlp-headers",
    takes: "LIST",
    variable: "HOLDFAST_OTLP_HEADERS",
    aliases: ["OTEL_EXPORTER_OTLP_HEADERS"],
    allowed: "must be name=value pairs separated by commas",
    fallback: "none",
    meaning: "Headers for the collector, for example its key. Put them into the variable or the configuration file: other users can read a process's arguments.",
    of: "serve",
  },
  otlpServiceName: {
    flag: "otlp-service-name",
    takes: "NAME",
    variable: "HOLDFAST_OTLP_SERVICE_NAME",
    aliases: ["OTEL_SERVICE_NAME"],
    allowed: "must be a name of at most 200 characters",
    fallback: "holdfast",
    meaning: "The `service.name` of the spans.",
    of: "serve",
  },
  otlpSampleRatio: {
    flag: "otlp-sample-ratio",
    takes: "NUMBER",
    variable: "HOLDFAST_OTLP_SAMPLE_RATIO",
    aliases: [],
    allowed: "must be a number from 0 to 1",
    fallback: "1",
    meaning: "The fraction of traces that are recorded. If the caller's trace context says whether it is sampled, that applies instead.",
    of: "serve",
  },
  logLevel: {
    flag: "log-level",
    takes: "LEVEL",
    variable: "HOLDFAST_LOG_LEVEL",
    aliases: [],
    allowed: `must be one of ${logLevels.join(", ")}`,
    choices: logLevels,
    fallback: "warn",
    meaning: "Minimum severity of log lines on standard error, one JSON object per line.",
  },
};

export const configFileSource = {
  flag: "config",
  takes: "FILE",
  variable: "HOLDFAST_CONFIG",
  meaning: 'A JSON file with any of these settings under their names in camelCase, for example `{"namespace": "team", "claimTtl": "30m"}`.',
} as const;

/** The flags that every command takes, in the form the command line uses. */
export const settingFlags: readonly {
  readonly name: string;
  readonly takes?: string;
  readonly meaning: string;
  readonly choices?: readonly string[];
  readonly hidden?: boolean;
  readonly of?: string | readonly string[];
}[] = [
  ...Object.values(settingSources).flatMap(({ flag: name, takes, choices, of, ...told }) =>
    name === undefined ? [] : [{ name, takes, meaning: withDefault({ choices, ...told }), choices, hidden: of !== undefined, of }],
  ),
  { name: configFileSource.flag, takes: configFileSource.takes, meaning: configFileSource.meaning },
];

/** The help text of a flag: its meaning, its accepted values unless the meaning names them, and its default. */
function withDefault({ meaning, choices = [], fallback }: Pick<SettingSource, "meaning" | "choices" | "fallback">): string {
  const accepted = choices.every((choice) => meaning.includes(choice)) ? "" : ` One of ${choices.join(", ")}.`;
  return `${meaning}${accepted}${fallback === "none" || fallback === "false" ? "" : ` Default: ${fallback}.`}`;
}
