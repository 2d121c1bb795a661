import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { durationForms, parseDurationMs } from "../../kernel/duration.ts";
import { invalidInput } from "../../kernel/errors.ts";

/** The settings in a store's URL. The driver finds missing ones (password, host, TLS) as every PostgreSQL program does: PGPASSWORD, ~/.pgpass, PGSSLMODE. */
export interface ServerSettings {
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly ssl: boolean | ConnectionOptions | undefined;
  /** The schema that contains only Holdfast's tables. */
  readonly schema: string;
  readonly connectionsMax: number;
  /** No call takes longer than this, whatever the server and the network do. */
  readonly deadlineMs: number;
}

const allowed = ["schema", "pool", "deadline", "sslmode", "sslrootcert", "sslcert", "sslkey", "host"] as const;
type Name = (typeof allowed)[number];

export function readServerSettings(url: string): ServerSettings {
  const parsed = parseUrl(url);
  const given = new Map<Name, string>();
  for (const [name, value] of parsed.searchParams) {
    if (!isAllowed(name)) throw invalidInput("store", `unknown setting ${quote(name)} in the URL; allowed: ${allowed.join(", ")}`);
    if (given.has(name)) throw invalidInput("store", `${name} appears twice in the URL`);
    given.set(name, value);
  }
  if (parsed.hash !== "") throw invalidInput("store", "a # in the URL must be written %23");
  const path = decode(parsed.pathname.slice(1));
  if (path.includes("/")) throw invalidInput("store", "the URL must have exactly one name after the host, the database: postgres://USER@HOST:5432/DATABASE");
  return {
    host: given.get("host") ?? present(decode(parsed.hostname).replace(/^\[(.+)\]$/, "$1")),
    port: parsed.port === "" ? undefined : Number(parsed.port),
    user: present(decode(parsed.username)),
    password: present(decode(parsed.password)),
    database: present(path),
    ssl: tlsOf(given),
    schema: schemaOf(given.get("schema") ?? "holdfast"),
    connectionsMax: connectionsOf(given.get("pool") ?? "8"),
    deadlineMs: deadlineOf(given.get("deadline") ?? "10s"),
  };
}

const isAllowed = (name: string): name is Name => (allowed as readonly string[]).includes(name);
const present = (text: string): string | undefined => (text === "" ? undefined : text);
/** Quotes only names of settings: a value may be a secret. */
const quote = (text: string): string => JSON.stringify(text.slice(0, 40));

function parseUrl(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw invalidInput("store", "is not a well-formed URL; the form is postgres://USER:PASSWORD@HOST:5432/DATABASE, with @ : / ? # in a password written as %40 %3A %2F %3F %23");
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidInput("store", "contains a % that is not followed by two hexadecimal digits; write % itself as %25");
  }
}

function schemaOf(name: string): string {
  if (!/^[a-z_][a-z0-9_]{0,47}$/.test(name) || name.startsWith("pg_"))
    throw invalidInput("store", "schema must begin with a lower-case letter or _, then letters, digits and _, at most 48 characters, and not with pg_");
  return name;
}

function connectionsOf(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 100)
    throw invalidInput("store", "pool must be a whole number from 1 to 100: the connections of one process, not counting the one that listens");
  return count;
}

function deadlineOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < 100 || ms > 600_000) throw invalidInput("store", `deadline must be ${durationForms}, from 100ms to 10m`);
  return ms;
}

/** These words mean the same as in every PostgreSQL program. `prefer` is rejected, because it would be unclear whether the connection is encrypted. */
function tlsOf(given: ReadonlyMap<Name, string>): boolean | ConnectionOptions | undefined {
  const mode = given.get("sslmode");
  const ca = readPem(given, "sslrootcert");
  const own = { ca, cert: readPem(given, "sslcert"), key: readPem(given, "sslkey") };
  switch (mode) {
    case undefined:
      return Object.values(own).some((text) => text !== undefined) ? own : undefined;
    case "disable":
      return false;
    case "require":
      return ca === undefined ? { ...own, rejectUnauthorized: false } : { ...own, checkServerIdentity: () => undefined };
    case "verify-ca":
      return { ...own, checkServerIdentity: () => undefined };
    case "verify-full":
      return own;
    default:
      throw invalidInput("store", "sslmode must be disable, require, verify-ca or verify-full");
  }
}

function readPem(given: ReadonlyMap<Name, string>, name: Name): string | undefined {
  const path = given.get(name);
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw invalidInput("store", `the file named by ${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown reason"})`);
  }
}
