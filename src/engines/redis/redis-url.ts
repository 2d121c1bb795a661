import { readFileSync } from "node:fs";
import { durationForms, parseDurationMs } from "../../kernel/duration.ts";
import { invalidInput } from "../../kernel/errors.ts";
import { schemeOf } from "../../kernel/store-url.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The validated settings of a store's URL; no other part of the engine reads the URL. */
export interface RedisSettings {
  readonly topology: "single" | "sentinel" | "cluster";
  readonly addresses: readonly Address[];
  /** The name of the group that the sentinels monitor. */
  readonly groupName: string | undefined;
  readonly database: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  readonly prefix: string;
  readonly deadlineMs: number;
  readonly waitReplicas: number;
  readonly waitAof: boolean;
  readonly allowLoss: boolean;
}

const known = ["prefix", "deadline", "wait_replicas", "wait_aof", "allow_loss", "sentinel_user", "sentinel_password", "tls_ca", "tls_cert", "tls_key"] as const;
type Setting = (typeof known)[number];

const deadlineMsMin = 100;
const deadlineMsMax = 600_000;
const replicasMax = 16;

/** Parsed by hand, because the URL class does not support a list of hosts. No message repeats the input: it may contain a password. */
export function parseRedisUrl(url: string): RedisSettings {
  const scheme = schemeOf(url);
  const parts = /^[a-z+]+:\/\/(?:([^/?#]*)@)?([^@/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(url);
  if (scheme === undefined || !scheme.startsWith("redis") || parts === null)
    throw invalidInput("store", "must be redis://USER:PASSWORD@HOST:PORT/DATABASE with settings after a ?; special characters of user and password are written as %XX");
  const [, credentials, hosts = "", path = "", query = ""] = parts;
  const topology = scheme.endsWith("+cluster") ? "cluster" : scheme.endsWith("+sentinel") ? "sentinel" : "single";
  const settings = readSettings(query);
  const [user, password] = splitCredentials(credentials);
  const steps = path.split("/").filter((step) => step !== "");
  const groupName = topology === "sentinel" ? steps.shift() : undefined;
  if (topology === "sentinel" && groupName === undefined) throw invalidInput("store", "a Sentinel URL names the group after the hosts: redis+sentinel://HOST:26379/GROUP");
  return {
    topology,
    addresses: readAddresses(hosts, topology === "sentinel" ? 26_379 : 6_379, topology === "single"),
    groupName: groupName === undefined ? undefined : decode(groupName),
    database: readDatabase(steps, topology),
    username: user,
    password,
    sentinelUsername: settings.sentinel_user,
    sentinelPassword: settings.sentinel_password,
    tls: readTls(scheme.startsWith("rediss"), settings),
    prefix: readPrefix(settings.prefix),
    deadlineMs: readDeadline(settings.deadline),
    waitReplicas: readCount(settings.wait_replicas),
    waitAof: readSwitch("wait_aof", settings.wait_aof),
    allowLoss: readSwitch("allow_loss", settings.allow_loss),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidInput("store", "contains a % that is not followed by two hexadecimal digits; write % itself as %25");
  }
}

function splitCredentials(text: string | undefined): [user: string | undefined, password: string | undefined] {
  if (text === undefined || text === "") return [undefined, undefined];
  const colon = text.indexOf(":");
  const user = decode(colon < 0 ? text : text.slice(0, colon));
  return [user === "" ? undefined : user, colon < 0 ? undefined : decode(text.slice(colon + 1))];
}

function readAddresses(text: string, defaultPort: number, single: boolean): readonly Address[] {
  const addresses = text.split(",").map((part): Address => {
    const [, ipv6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(part.trim()) ?? [];
    const host = ipv6 ?? name;
    if (host === undefined || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))) throw invalidInput("store", "every host must be NAME, NAME:PORT or [IPV6]:PORT");
    return { host, port: port === undefined ? defaultPort : Number(port) };
  });
  if (single && addresses.length > 1) throw invalidInput("store", "redis:// takes one host; use redis+cluster:// or redis+sentinel:// for several");
  return addresses;
}

function readDatabase(steps: readonly string[], topology: RedisSettings["topology"]): number {
  const [text = "0", ...more] = steps;
  if (more.length > 0 || !/^\d{1,5}$/.test(text)) throw invalidInput("store", "only a database number may follow the host (and a Sentinel group), for example /0");
  if (topology === "cluster" && Number(text) !== 0) throw invalidInput("store", "a Redis Cluster has only database 0");
  return Number(text);
}

/** An unescaped question mark in a password makes the rest look like a setting, so only text that can be a name is shown. */
const settingSaid = (name: string): string =>
  /^[a-z_]{1,40}$/.test(name) ? `unknown setting ${JSON.stringify(name)}` : "has a setting without a valid name (write ? in a password as %3F)";

function readSettings(query: string): Partial<Record<Setting, string>> {
  const settings: Partial<Record<Setting, string>> = {};
  for (const part of query.split("&").filter((one) => one !== "")) {
    const equals = part.indexOf("=");
    const name = equals < 0 ? part : part.slice(0, equals);
    if (!known.includes(name as Setting)) throw invalidInput("store", `${settingSaid(name)}; allowed: ${known.join(", ")}`);
    if (settings[name as Setting] !== undefined) throw invalidInput("store", `has the setting ${name} twice`);
    settings[name as Setting] = decode(equals < 0 ? "" : part.slice(equals + 1));
  }
  return settings;
}

function readPrefix(text = "holdfast:"): string {
  if (!/^[A-Za-z0-9._:/@-]{1,64}$/.test(text)) throw invalidInput("store", "the setting prefix must be 1 to 64 of the characters A-Z a-z 0-9 . _ : / @ -");
  return text;
}

function readDeadline(text = "10s"): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < deadlineMsMin || ms > deadlineMsMax) throw invalidInput("store", `the setting deadline must be ${durationForms}, from 100ms to 10m`);
  return Math.round(ms);
}

function readCount(text = "0"): number {
  if (!/^\d{1,2}$/.test(text) || Number(text) > replicasMax) throw invalidInput("store", `the setting wait_replicas must be a whole number from 0 to ${replicasMax}`);
  return Number(text);
}

function readSwitch(name: Setting, text = "0"): boolean {
  if (text !== "0" && text !== "1") throw invalidInput("store", `the setting ${name} must be 0 or 1`);
  return text === "1";
}

function readTls(isOn: boolean, settings: Partial<Record<Setting, string>>): RedisSettings["tls"] {
  const files = { ca: settings.tls_ca, cert: settings.tls_cert, key: settings.tls_key };
  if (!isOn) {
    if (Object.values(files).some((file) => file !== undefined))
      throw invalidInput("store", "the settings tls_ca, tls_cert and tls_key are allowed only with rediss://, rediss+sentinel:// and rediss+cluster://");
    return undefined;
  }
  return Object.fromEntries(Object.entries(files).flatMap(([name, file]) => (file === undefined ? [] : [[name, readPem(`tls_${name}`, file)]])));
}

function readPem(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw invalidInput("store", `the setting ${name} must name a readable PEM file (${(cause as NodeJS.ErrnoException).code ?? "not readable"})`);
  }
}
