import { readFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { HoldfastError, invalidInput } from "./kernel/errors.ts";
import { fingerprint } from "./kernel/json.ts";
import { quotedName } from "./kernel/nearest.ts";
import { storeProblem } from "./kernel/store-url.ts";
import type { SettingName, SettingSource, Settings } from "./settings.ts";
import { absolutePath, configFileSource, configSchema, homeFolder, settingFlags, settingSources } from "./settings.ts";

/**
 * Reads every setting from a flag, the environment or a file and validates it once. Only this file reads the environment.
 * Precedence: flag, HOLDFAST_* variable, configuration file, variable of a replaced system, default.
 */
type Environment = Readonly<Record<string, string | undefined>>;

export interface Config extends Readonly<Omit<Settings, "claimTtl" | "historyAge" | "effectAge" | "journalAge" | "hookTimeout">> {
  readonly claimTtlMs: number;
  readonly historyAgeMs: number;
  readonly effectAgeMs: number;
  /** Absent = for ever. */
  readonly journalAgeMs?: number;
  readonly hookTimeoutMs: number;
  /** The user's home folder. */
  readonly home: string;
  /** The flag, variable or file that each setting came from; otherwise "default". */
  readonly origins: Readonly<Record<SettingName, string>>;
  /** True if NO_COLOR is unset, so that colour may be used on a terminal. */
  readonly colourAllowed: boolean;
}

/** Flags by name without dashes, as given on the command line. */
type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Given {
  readonly raw: unknown;
  readonly origin: string;
}

/** `options` are the settings of a program that uses the library; they take precedence over everything else. */
export function readConfig(flags: Flags = {}, environment: Environment = process.env, options: Readonly<Partial<Record<SettingName, Given>>> = {}): Config {
  const file = readConfigFile(flags, environment);
  const given: Partial<Record<SettingName, Given>> = {};
  for (const [name, source] of Object.entries(settingSources) as [SettingName, SettingSource][]) {
    given[name] = firstGiven(
      [options[name]?.raw, options[name]?.origin ?? name],
      source.flag === undefined ? undefined : [flags[source.flag], `--${source.flag}`],
      [nonEmpty(environment[source.variable]), source.variable],
      [file.settings[name], `${name} in ${file.origin}`],
      name === "store" ? storeFromAliases(environment) : aliasOf(name, source, environment),
    );
  }
  given.store = withAbsolutePath(given.store) ?? { raw: `sqlite:${join(dataFolder(environment), "holdfast.db")}`, origin: "default" };
  given.namespace ??= { raw: "default", origin: "default" };
  const raw = Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value.raw]])));
  const parsed = configSchema.safeParse(raw);
  if (!parsed.success) throw refusal(parsed.error.issues[0]?.path[0] as SettingName, given);
  const { claimTtl, historyAge, effectAge, journalAge, hookTimeout, ...rest } = parsed.data;
  const origins = Object.fromEntries(Object.keys(settingSources).map((name) => [name, given[name as SettingName]?.origin ?? "default"])) as Record<SettingName, string>;
  return {
    ...rest,
    claimTtlMs: claimTtl,
    historyAgeMs: historyAge,
    effectAgeMs: effectAge,
    journalAgeMs: journalAge,
    hookTimeoutMs: hookTimeout,
    home: homeFolder(),
    origins,
    colourAllowed: nonEmpty(environment.NO_COLOR) === undefined,
  };
}

function refusal(name: SettingName, given: Partial<Record<SettingName, Given>>): HoldfastError {
  const { raw, origin } = given[name] as Given;
  const error = invalidInput(origin, (name === "store" && typeof raw === "string" ? storeProblem(raw) : undefined) ?? settingSources[name].allowed);
  if (name !== "store" || typeof raw !== "string" || /^[a-z]+:/i.test(raw)) return error;
  return new HoldfastError("invalid_input", error.message, { details: error.details, hint: `Include the scheme for a file, for example sqlite:${raw}.` });
}

function firstGiven(...candidates: readonly (readonly [raw: unknown, origin: string] | undefined)[]): Given | undefined {
  for (const candidate of candidates) if (candidate?.[0] !== undefined) return { raw: candidate[0], origin: candidate[1] };
  return undefined;
}

/** An empty variable counts as unset, because launchers pass "nothing" that way. */
const nonEmpty = (text: string | undefined): string | undefined => (text === undefined || text === "" ? undefined : text);

function aliasOf(name: SettingName, { aliases: [alias = ""] }: SettingSource, environment: Environment): readonly [raw: string | undefined, origin: string] {
  const text = nonEmpty(environment[alias]);
  return [text === undefined || isForOthers(name, alias, text, environment) ? undefined : text, alias];
}

/**
 * If a service is named "sidecar", Kubernetes sets SIDECAR_PORT=tcp://ADDRESS:PORT in every container. That is the address of the
 * service, not a port for Holdfast. OTEL_… variables apply to every program on a machine and may have values Holdfast does not
 * support (such as a collector for gRPC only). Those are ignored rather than reported as errors.
 */
function isForOthers(name: SettingName, alias: string, text: string, environment: Environment): boolean {
  // Goldfish ignores values that it does not know.
  if (alias === "GOLDFISH_OUTPUT_MODE") return !configSchema.shape[name].safeParse(text).success;
  if (alias === "SIDECAR_PORT") return /^tcp:\/\/[^/]+:\d+$/.test(text);
  return alias.startsWith("OTEL_") && (environment.OTEL_SDK_DISABLED?.toLowerCase() === "true" || !configSchema.shape[name].safeParse(text).success);
}

/**
 * The store according to the replaced systems' variables. REDIS_URL counts only together with STATE_BACKEND=redis,
 * because many programs set it for other purposes.
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

/** The path is absolute from here on, because a child process may run in another folder. */
function withAbsolutePath(given: Given | undefined): Given | undefined {
  if (given === undefined || typeof given.raw !== "string" || !/^sqlite:./.test(given.raw)) return given;
  const path = given.raw.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "");
  return { ...given, raw: `sqlite:${path === ":memory:" ? path : absolutePath(path)}` };
}

/** The XDG specification says to ignore relative paths. */
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
    throw new HoldfastError("invalid_input", `${origin}: must name a readable JSON file; ${quotedName(path)} ${cause instanceof SyntaxError ? "is not JSON" : "cannot be read"}`, {
      cause,
      details: { field: origin },
    });
  }
  if (settings === null || typeof settings !== "object" || Array.isArray(settings)) throw invalidInput(origin, "must contain one JSON object");
  const unknown = Object.keys(settings).find((name) => !Object.hasOwn(settingSources, name));
  if (unknown !== undefined) throw invalidInput(`${unknown} in ${origin}`, `unknown setting; allowed: ${Object.keys(settingSources).join(", ")}`);
  return { settings: settings as Record<string, unknown>, origin };
}

/** The operating system's user, recorded as the writer in history. A container may run under an id without a name. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return process.getuid === undefined ? "unknown" : `uid-${process.getuid()}`;
  }
}

/** The default agent name of a command: one per user, host and terminal session, so that two terminals are two holders. */
export const defaultAgent = (): string => `${systemUser()}@${hostname()}:${sessionId() ?? process.ppid}`;

/**
 * The id of the terminal or login session. The parent process is not suitable: wrappers such as npx or timeout have a new process id each time.
 * 0: the session began outside this container.
 */
function sessionId(readText: TextReader = readTextFile): number | undefined {
  const session = Number(processFields(readText("/proc/self/stat"))[statFields.session]);
  return Number.isInteger(session) && session > 0 ? session : undefined;
}

/**
 * Identifies the terminal that a command runs in, by the session leader and its start time, because process
 * ids are reused. Undefined without a terminal, or if the system does not provide the information.
 */
export function terminalSession(readText: TextReader = readTextFile, environment: Environment = process.env): string | undefined {
  const named = nonEmpty(environment.TERM_SESSION_ID) ?? nonEmpty(environment.WT_SESSION);
  const own = processFields(readText("/proc/self/stat"));
  // Only Linux has these files. On other systems, the terminal program names its session in a variable.
  if (own.length === 0) return named === undefined ? undefined : sessionName([named]);
  const leader = sessionId(readText);
  if (leader === undefined || own[statFields.terminal] === "0") return undefined;
  const startedAt = processFields(readText(`/proc/${leader}/stat`))[statFields.startedAt];
  const boot = readText("/proc/sys/kernel/random/boot_id")?.trim();
  return startedAt === undefined ? undefined : sessionName([boot ?? hostname(), String(leader), startedAt]);
}

const sessionName = (identity: readonly string[]): string => `session-${fingerprint(identity).slice(0, 12)}`;

/** Returns undefined if the file does not exist or cannot be read. */
type TextReader = (path: string) => string | undefined;

function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Fields 6, 7 and 22 of /proc/PID/stat, counted from field 3, because the name in field 2 may contain spaces and brackets. */
const statFields = { session: 3, terminal: 4, startedAt: 19 } as const;
const processFields = (line: string | undefined): readonly string[] => (line === undefined ? [] : line.slice(line.lastIndexOf(")") + 2).split(" "));

/** The environment for a child process, with additional variables. */
export const childEnvironment = (extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({ ...process.env, ...extra });

/** Variables that bind git to one repository, as set by a git process that started Holdfast (in a hook, in `rebase --exec`). */
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

/** The environment for git commands that must use the folder passed to them. */
export const gitEnvironment = (): NodeJS.ProcessEnv => Object.fromEntries(Object.entries(process.env).filter(([name]) => !repositoryVariables.includes(name)));

/** The folders in which clients keep their files on this machine, for src/install. */
export const clientFolders = (environment: Environment = process.env) => ({
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

/** The settings that were given as flags, as arguments for a server that a client starts from another folder. */
export function settingArguments(flags: Flags, config: Config, only: readonly string[] = settingFlags.map(({ name }) => name)): string[] {
  // A text is passed as it was read: a relative path is absolute by then.
  const texts = Object.fromEntries(Object.entries(settingSources).map(([name, { flag = name }]) => [flag, config[name as keyof Config]]));
  return only.flatMap((name) => {
    const given = flags[name];
    if (given === undefined || given === false) return [];
    if (given === true) return [`--${name}`];
    const read = name === configFileSource.flag ? absolutePath(String(given)) : texts[name];
    return [`--${name}`, typeof read === "string" ? read : String(given)];
  });
}
