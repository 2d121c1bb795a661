import { readFileSync } from "node:fs";
import { homedir, hostname, userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import * as z from "zod";
import { durationForms, parseDurationMs } from "./kernel/duration.ts";
import { HoldfastError, invalidInput } from "./kernel/errors.ts";

/**
 * Every setting, from a flag, the environment or a file, checked once here and then a plain value.
 * This file alone reads the environment. Precedence: flag, HOLDFAST_* variable, configuration file, variable of a replaced system, default.
 */
type Environment = Readonly<Record<string, string | undefined>>;

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

/** `none`, or a path that is absolute from here on: a child process may work in another folder. */
const folder = z
  .string()
  .min(1)
  .transform((path) => (path === "none" ? path : absolutePath(path)));

const journalFormats = ["plain", "emoji", "json", "dual"] as const;
const logLevels = ["debug", "info", "warn", "error"] as const;

const configSchema = z.strictObject({
  store: z.string().refine((url) => builtSchemes.some((scheme) => url.startsWith(scheme) && (scheme !== "sqlite:" || url.length > scheme.length))),
  namespace: z.string().min(1),
  profile: z.string().min(1).optional(),
  tools: words.optional(),
  readOnly: flag.default(false),
  claimTtl: durationMs(1_000, 7 * 86_400_000).default(15 * 60_000),
  historyAge: durationMs(60_000, 3_650 * 86_400_000).default(30 * 86_400_000),
  historyRevisions: wholeNumber(1_000, 1_000_000_000).default(1_000_000),
  journalFormat: z.enum(journalFormats).default("plain"),
  journalAge: z.union([z.literal("forever").transform(() => undefined), durationMs(60_000, 3_650 * 86_400_000)]).optional(),
  goldfishDir: folder.optional(),
  checkpointDir: folder.optional(),
  knowledgeDir: folder.optional(),
  agent: z.string().min(1).optional(),
  host: z.string().min(1).default("127.0.0.1"),
  port: wholeNumber(0, 65_535).default(7_420),
  logLevel: z.enum(logLevels).default("warn"),
});
type Settings = z.output<typeof configSchema>;
type SettingName = keyof Settings;

const builtSchemes = ["sqlite:", "memory:"] as const;

export interface SettingSource {
  readonly flag: string;
  /** What stands after the flag; absent for a switch. */
  readonly takes?: string;
  readonly variable: string;
  /** Variables of the replaced systems that mean the same. */
  readonly aliases: readonly string[];
  readonly allowed: string;
  readonly fallback: string;
  readonly meaning: string;
  /** For completion, where only a few words are accepted. */
  readonly choices?: readonly string[];
  /** Accepted, because the replaced systems' set-ups give it, but nothing uses it yet: help is silent about it. */
  readonly unused?: true;
}

/** Where each setting comes from and what it means; help texts and docs/configuration.md are made from this table. */
export const settingSources: Readonly<Record<SettingName, SettingSource>> = {
  store: {
    flag: "store",
    takes: "URL",
    variable: "HOLDFAST_STORE",
    aliases: ["CHECKPOINT_DB_PATH", "STATE_BACKEND", "DB_PATH", "REDIS_URL"],
    allowed: "must be sqlite:PATH or memory: (this build has: sqlite:, memory:)",
    fallback: "a file in the user's data folder",
    meaning: "Where state lives: `sqlite:PATH` (created with its folders) or `memory:` (nothing survives the process).",
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
    fallback: "all",
    meaning: "A preset of tools for MCP clients. `holdfast doctor` lists the profiles with their token cost.",
  },
  tools: {
    flag: "tools",
    takes: "LIST",
    variable: "HOLDFAST_TOOLS",
    aliases: [],
    allowed: "must be toolset names separated by commas",
    fallback: "those of the profile",
    meaning: "Only these toolsets, for example `state,lease`.",
  },
  readOnly: {
    flag: "read-only",
    variable: "HOLDFAST_READ_ONLY",
    aliases: [],
    allowed: "must be true or false",
    fallback: "false",
    meaning: "Offer and accept only tools that change nothing. A command then makes no store either: where there is none yet it ends with `not_found`.",
  },
  claimTtl: {
    flag: "claim-ttl",
    takes: "DURATION",
    variable: "HOLDFAST_CLAIM_TTL",
    aliases: [],
    allowed: `must be ${durationForms}, from 1s to 7d`,
    fallback: "15m",
    meaning: "How long a workflow claim lasts when the caller does not say.",
  },
  historyAge: {
    flag: "history-age",
    takes: "DURATION",
    variable: "HOLDFAST_HISTORY_AGE",
    aliases: [],
    allowed: `must be ${durationForms}, from 1m to 3650d`,
    fallback: "30d",
    meaning: "History older than this may be forgotten; live entries never are.",
  },
  historyRevisions: {
    flag: "history-revisions",
    takes: "COUNT",
    variable: "HOLDFAST_HISTORY_REVISIONS",
    aliases: [],
    allowed: "must be a whole number from 1000 to 1000000000",
    fallback: "1000000",
    meaning: "Revisions of history kept per namespace at most; the older ones may be forgotten.",
  },
  journalFormat: {
    flag: "journal-format",
    takes: "FORMAT",
    variable: "HOLDFAST_JOURNAL_FORMAT",
    aliases: ["GOLDFISH_OUTPUT_MODE"],
    allowed: `must be one of ${journalFormats.join(", ")}`,
    choices: journalFormats,
    fallback: "plain",
    meaning: "How the `checkpoint` tool answers when a call does not say: `plain` is ASCII alone (accents dropped, other scripts escaped), the others keep every character.",
  },
  journalAge: {
    flag: "journal-age",
    takes: "DURATION",
    variable: "HOLDFAST_JOURNAL_AGE",
    aliases: [],
    allowed: `must be forever, or ${durationForms}, from 1m to 3650d`,
    fallback: "forever",
    meaning: "How long a journal entry is kept when its save does not say (`ttl_days`).",
  },
  goldfishDir: {
    flag: "goldfish-dir",
    takes: "FOLDER",
    variable: "HOLDFAST_GOLDFISH_DIR",
    aliases: ["COA_GOLDFISH_BASE_PATH"],
    allowed: "must be a folder",
    fallback: "none",
    meaning: "Where Goldfish kept its files, for importing them.",
  },
  checkpointDir: {
    flag: "checkpoint-dir",
    takes: "FOLDER",
    variable: "HOLDFAST_CHECKPOINT_DIR",
    aliases: [],
    allowed: "must be a folder, or none",
    fallback: "`checkpoints` beside the store's file",
    meaning: "Where research checkpoints are also written as YAML files, when the store is a file; `none` writes none.",
  },
  knowledgeDir: {
    flag: "knowledge-dir",
    takes: "FOLDER",
    variable: "HOLDFAST_KNOWLEDGE_DIR",
    aliases: [],
    allowed: "must be a folder, or none",
    fallback: "`knowledge` beside the store's file",
    meaning: "Where notes are also written as Markdown files, when the store is a file; `none` writes none.",
  },
  agent: {
    flag: "agent",
    takes: "NAME",
    variable: "HOLDFAST_AGENT",
    aliases: [],
    allowed: "must be a non-empty name",
    fallback: "USER@HOST:SESSION where a command needs a holder or an agent, none elsewhere",
    meaning:
      "Who the command line acts as: the holder of leases and claims, and the label in history. Where a holder is needed and none is given: USER@HOST:SESSION. SESSION is the id of the terminal session (of the parent process where the system does not tell), so that two terminals are two holders.",
  },
  host: {
    flag: "host",
    takes: "ADDRESS",
    variable: "HOLDFAST_HOST",
    aliases: ["SIDECAR_HOST"],
    allowed: "must be a host name or an address",
    fallback: "127.0.0.1",
    meaning: "Address for an HTTP server. This build has none: the value is checked and not used.",
    unused: true,
  },
  port: {
    flag: "port",
    takes: "NUMBER",
    variable: "HOLDFAST_PORT",
    aliases: ["SIDECAR_PORT"],
    allowed: "must be a whole number from 0 to 65535",
    fallback: "7420",
    meaning: "Port for an HTTP server. This build has none: the value is checked and not used.",
    unused: true,
  },
  logLevel: {
    flag: "log-level",
    takes: "LEVEL",
    variable: "HOLDFAST_LOG_LEVEL",
    aliases: [],
    allowed: `must be one of ${logLevels.join(", ")}`,
    choices: logLevels,
    fallback: "warn",
    meaning: "Least severity written to standard error, one JSON object per line.",
  },
};

export const configFileSource = {
  flag: "config",
  takes: "FILE",
  variable: "HOLDFAST_CONFIG",
  meaning: 'A JSON file with any of these settings under their names in camelCase, for example `{"namespace": "team", "claimTtl": "30m"}`.',
} as const;

/** The flags every command takes, as the command line reads them. */
export const settingFlags: readonly {
  readonly name: string;
  readonly takes?: string;
  readonly meaning: string;
  readonly choices?: readonly string[];
  readonly hidden?: boolean;
}[] = [
  ...Object.values(settingSources).map(({ flag: name, takes, meaning, choices, unused }) => ({ name, takes, meaning, choices, hidden: unused })),
  { name: configFileSource.flag, takes: configFileSource.takes, meaning: configFileSource.meaning },
];

export interface Config extends Readonly<Omit<Settings, "claimTtl" | "historyAge" | "journalAge">> {
  readonly claimTtlMs: number;
  readonly historyAgeMs: number;
  /** Absent = for ever. */
  readonly journalAgeMs?: number;
  /** The user's home folder. */
  readonly home: string;
  /** Which flag, variable or file each setting came from; "default" otherwise. */
  readonly origins: Readonly<Record<SettingName, string>>;
  /** Colour may be used on a terminal: NO_COLOR is unset. */
  readonly colourAllowed: boolean;
}

/** Flags by name without dashes, as the command line gave them. */
type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Given {
  readonly raw: unknown;
  readonly origin: string;
}

/** `options` are settings of a program that uses the library; they go before everything else. */
export function readConfig(flags: Flags = {}, environment: Environment = process.env, options: Readonly<Partial<Record<SettingName, Given>>> = {}): Config {
  const file = readConfigFile(flags, environment);
  const given: Partial<Record<SettingName, Given>> = {};
  for (const [name, source] of Object.entries(settingSources) as [SettingName, SettingSource][]) {
    given[name] = firstGiven(
      [options[name]?.raw, options[name]?.origin ?? name],
      [flags[source.flag], `--${source.flag}`],
      [nonEmpty(environment[source.variable]), source.variable],
      [file.settings[name], `${name} in ${file.origin}`],
      name === "store" ? storeFromAliases(environment) : aliasOf(source, environment),
    );
  }
  given.store = withAbsolutePath(given.store) ?? { raw: `sqlite:${join(dataFolder(environment), "holdfast.db")}`, origin: "default" };
  given.namespace ??= { raw: "default", origin: "default" };
  const raw = Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value.raw]])));
  const parsed = configSchema.safeParse(raw);
  if (!parsed.success) throw refusal(parsed.error.issues[0]?.path[0] as SettingName, given);
  const { claimTtl, historyAge, journalAge, ...rest } = parsed.data;
  const origins = Object.fromEntries(Object.keys(settingSources).map((name) => [name, given[name as SettingName]?.origin ?? "default"])) as Record<SettingName, string>;
  return {
    ...rest,
    claimTtlMs: claimTtl,
    historyAgeMs: historyAge,
    journalAgeMs: journalAge,
    home: homeFolder(),
    origins,
    colourAllowed: nonEmpty(environment.NO_COLOR) === undefined,
  };
}

function refusal(name: SettingName, given: Partial<Record<SettingName, Given>>): HoldfastError {
  const { raw, origin } = given[name] as Given;
  const isRedis = name === "store" && typeof raw === "string" && /^rediss?:/.test(raw);
  const error = invalidInput(origin, `${isRedis ? "there is no Redis engine in this build; " : ""}${settingSources[name].allowed}`);
  if (name !== "store" || typeof raw !== "string" || /^[a-z]+:/i.test(raw)) return error;
  return new HoldfastError("invalid_input", error.message, { details: error.details, hint: `A file is written with its scheme, for example sqlite:${raw}.` });
}

function firstGiven(...candidates: readonly (readonly [raw: unknown, origin: string] | undefined)[]): Given | undefined {
  for (const candidate of candidates) if (candidate?.[0] !== undefined) return { raw: candidate[0], origin: candidate[1] };
  return undefined;
}

/** An empty variable is an unset one: that is how launchers pass "nothing". */
const nonEmpty = (text: string | undefined): string | undefined => (text === undefined || text === "" ? undefined : text);

/** Kubernetes gives every container a SIDECAR_PORT=tcp://ADDRESS:PORT when a service is called "sidecar": that is where the service is, not a port for us. */
function aliasOf({ aliases: [alias = ""] }: SettingSource, environment: Environment): readonly [raw: string | undefined, origin: string] {
  const text = nonEmpty(environment[alias]);
  return [alias === "SIDECAR_PORT" && text !== undefined && /^tcp:\/\/[^/]+:\d+$/.test(text) ? undefined : text, alias];
}

/**
 * What the replaced systems' variables say about the store. REDIS_URL counts only beside STATE_BACKEND=redis:
 * many programs set it for purposes of their own.
 */
function storeFromAliases(environment: Environment): readonly [raw: string, origin: string] | undefined {
  const backend = nonEmpty(environment.STATE_BACKEND)?.toLowerCase();
  const dbPath = nonEmpty(environment.DB_PATH);
  switch (backend) {
    case "memory":
      return ["memory:", "STATE_BACKEND"];
    case "redis":
      return [nonEmpty(environment.REDIS_URL) ?? "redis://localhost:6379", "STATE_BACKEND=redis"];
    case undefined:
    case "sqlite": {
      const checkpointPath = nonEmpty(environment.CHECKPOINT_DB_PATH);
      if (checkpointPath !== undefined) return [`sqlite:${checkpointPath}`, "CHECKPOINT_DB_PATH"];
      return dbPath === undefined ? undefined : [`sqlite:${dbPath}`, "DB_PATH"];
    }
    default:
      throw invalidInput("STATE_BACKEND", "must be sqlite, memory or redis");
  }
}

/** Clients start servers without a shell, so nobody else expands the tilde; a folder called "~" is never what was meant. */
const absolutePath = (path: string): string => resolve(path.replace(/^~(?=[/\\])/, () => homeFolder()));

/** One absolute path from here on: a child process may work in another folder. */
function withAbsolutePath(given: Given | undefined): Given | undefined {
  if (given === undefined || typeof given.raw !== "string" || !/^sqlite:./.test(given.raw)) return given;
  const path = given.raw.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "");
  return { ...given, raw: `sqlite:${path === ":memory:" ? path : absolutePath(path)}` };
}

/** HOME may be empty or relative where somebody made the environment by hand: memory would then be another one in every folder. */
function homeFolder(): string {
  const named = homedir();
  try {
    return isAbsolute(named) ? named : userInfo().homedir;
  } catch {
    return resolve(named);
  }
}

/** The XDG specification wants relative ones ignored. */
const absolute = (path: string | undefined): string | undefined => (path !== undefined && isAbsolute(path) ? path : undefined);

function dataFolder(environment: Environment): string {
  if (process.platform === "darwin") return join(homeFolder(), "Library", "Application Support", "holdfast");
  if (process.platform === "win32") return join(nonEmpty(environment.LOCALAPPDATA) ?? join(homeFolder(), "AppData", "Local"), "holdfast");
  return join(absolute(environment.XDG_DATA_HOME) ?? join(homeFolder(), ".local", "share"), "holdfast");
}

function readConfigFile(flags: Flags, environment: Environment): { readonly settings: Readonly<Record<string, unknown>>; readonly origin: string } {
  const given = firstGiven([flags[configFileSource.flag], `--${configFileSource.flag}`], [nonEmpty(environment[configFileSource.variable]), configFileSource.variable]);
  if (given === undefined) return { settings: {}, origin: "" };
  const { raw: path, origin } = given;
  if (typeof path !== "string") throw invalidInput(origin, "must name a JSON file");
  let settings: unknown;
  try {
    settings = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new HoldfastError("invalid_input", `${origin}: must name a readable JSON file; ${cause instanceof SyntaxError ? "this one is not JSON" : "this one cannot be read"}`, {
      cause,
      details: { field: origin },
    });
  }
  if (settings === null || typeof settings !== "object" || Array.isArray(settings)) throw invalidInput(origin, "must hold one JSON object");
  const unknown = Object.keys(settings).find((name) => !Object.hasOwn(settingSources, name));
  if (unknown !== undefined) throw invalidInput(`${unknown} in ${origin}`, `unknown setting; allowed: ${Object.keys(settingSources).join(", ")}`);
  return { settings: settings as Record<string, unknown>, origin };
}

/** The operating system's user: the writer that history names. A container may run under an id that has no name. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return process.getuid === undefined ? "unknown" : `uid-${process.getuid()}`;
  }
}

/** Who a command acts as when nobody says: one name per user, host and terminal session, so that two terminals are two holders. */
export const defaultAgent = (): string => `${systemUser()}@${hostname()}:${sessionId() ?? process.ppid}`;

/**
 * The session of the terminal or login. The parent process would not do: npx, timeout and the like stand in between and are new each time.
 * Field 6 of the kernel's line; the name in field 2 may hold blanks and brackets. 0: the session was begun outside this container.
 */
function sessionId(): number | undefined {
  try {
    const line = readFileSync("/proc/self/stat", "utf8");
    const session = Number(line.slice(line.lastIndexOf(")") + 2).split(" ")[3]);
    return Number.isInteger(session) && session > 0 ? session : undefined;
  } catch {
    return undefined;
  }
}

/** The environment for a child process, with some variables of our own. */
export const childEnvironment = (extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({ ...process.env, ...extra });

/** What ties a git to one repository, as a git that started us (in a hook, in `rebase --exec`) would have set it. */
const repositoryVariables = [
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_PREFIX",
  "GIT_COMMON_DIR",
  "GIT_OBJECT_DIRECTORY",
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_NAMESPACE",
];

/** The environment for a git that is to look at the folder it is told. */
export const gitEnvironment = (): NodeJS.ProcessEnv => Object.fromEntries(Object.entries(process.env).filter(([name]) => !repositoryVariables.includes(name)));

/** Where this machine and its user keep clients' files; src/install works with it. */
export const clientPlaces = (environment: Environment = process.env) => ({
  home: homeFolder(),
  project: process.cwd(),
  platform: process.platform,
  claudeFolder: nonEmpty(environment.CLAUDE_CONFIG_DIR),
  codexFolder: nonEmpty(environment.CODEX_HOME),
  hermesFolder: nonEmpty(environment.HERMES_HOME),
  xdgConfigFolder: absolute(environment.XDG_CONFIG_HOME),
  appDataFolder: nonEmpty(environment.APPDATA),
  dataFolder: dataFolder(environment),
});

/** The settings that were given as flags, as arguments for a server that somebody else starts from another folder. */
export function settingArguments(flags: Flags, config: Config, only: readonly string[] = settingFlags.map(({ name }) => name)): string[] {
  const absolute: Readonly<Record<string, string | undefined>> = {
    store: config.store,
    "goldfish-dir": config.goldfishDir,
    "checkpoint-dir": config.checkpointDir,
    "knowledge-dir": config.knowledgeDir,
  };
  return only.flatMap((name) => {
    const given = flags[name];
    if (given === undefined || given === false) return [];
    if (given === true) return [`--${name}`];
    return [`--${name}`, name === configFileSource.flag ? absolutePath(String(given)) : (absolute[name] ?? String(given))];
  });
}
