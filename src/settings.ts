import { homedir, userInfo } from "node:os";
import { isAbsolute, resolve } from "node:path";
import * as z from "zod";
import { durationForms, parseDurationMs } from "./kernel/duration.ts";
import { storeForms, storeProblem } from "./kernel/store-url.ts";

/** The table of settings: what each accepts, where it comes from and what it means. Reading them is config.ts's work; help texts and docs/configuration.md are made from here. */

/** HOME may be empty or relative where somebody made the environment by hand: memory would then be another one in every folder. */
export function homeFolder(): string {
  const named = homedir();
  try {
    return isAbsolute(named) ? named : userInfo().homedir;
  } catch {
    return resolve(named);
  }
}

/** Clients start servers without a shell, so nobody else expands the tilde; a folder called "~" is never what was meant. */
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

/** `none`, or a path that is absolute from here on: a child process may work in another folder. */
const folder = z
  .string()
  .min(1)
  .transform((path) => (path === "none" ? path : absolutePath(path)));

const journalFormats = ["plain", "emoji", "json", "dual"] as const;
const logLevels = ["debug", "info", "warn", "error"] as const;

export const configSchema = z.strictObject({
  store: z.string().refine((url) => storeProblem(url) === undefined),
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
export type Settings = z.output<typeof configSchema>;
export type SettingName = keyof Settings;

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
    allowed: `must be ${storeForms}`,
    fallback: "a file in the user's data folder",
    meaning:
      "Where state lives: `sqlite:PATH` (created with its folders), `postgres://…`, `redis://…` (also `rediss:`, `redis+sentinel:`, `redis+cluster:`) or `memory:` (nothing survives the process). " +
      "See docs/engines.md. A URL with a password belongs into the variable or the configuration file, because other users can read a process's arguments.",
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
    fallback: "`checkpoints` beside a SQLite store's file, else none",
    meaning: "Where research checkpoints are also written as YAML files; `none` writes none.",
  },
  knowledgeDir: {
    flag: "knowledge-dir",
    takes: "FOLDER",
    variable: "HOLDFAST_KNOWLEDGE_DIR",
    aliases: [],
    allowed: "must be a folder, or none",
    fallback: "`knowledge` beside a SQLite store's file, else none",
    meaning: "Where notes are also written as Markdown files; `none` writes none.",
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
