import type { ErrorCode } from "../../kernel/errors.ts";
import { HoldfastError } from "../../kernel/errors.ts";

/** There was no answer in time. The connection was cut, because nothing else stops a query. */
export class DeadlineError extends Error {
  constructor() {
    super("PostgreSQL did not answer in time.");
    this.name = "DeadlineError";
  }
}

interface Meaning {
  readonly code: ErrorCode;
  readonly says: string;
  readonly hint: string;
}

const unavailable = (says: string, hint: string): Meaning => ({ code: "unavailable", says, hint });
const unsupported = (says: string, hint: string): Meaning => ({ code: "store_unsupported", says, hint });
const damaged = (says: string): Meaning => ({ code: "store_damaged", says: `${says} Nothing was overwritten.`, hint: "Restore a backup, or choose another store or schema." });

const signIn = unsupported(
  "PostgreSQL rejected this user.",
  "Check the user and the password in the store's URL (or PGPASSWORD, ~/.pgpass), and the server's pg_hba.conf for this user, database and host.",
);
const rights = unsupported(
  "The database role lacks a right that Holdfast needs.",
  "As the owner of the database: CREATE SCHEMA holdfast AUTHORIZATION the_role; or, if the tables exist: GRANT USAGE ON SCHEMA holdfast TO the_role; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO the_role (with the schema named in the URL).",
);
const retried = unavailable("The transaction kept conflicting with other work in the database; nothing was changed.", "Try again.");
const starting = unavailable("PostgreSQL is starting up, shutting down or in recovery; nothing was changed.", "Try again shortly.");

/** By SQLSTATE: first the whole code, then its class. */
const meanings: Readonly<Record<string, Meaning>> = {
  "25006": unavailable(
    "This PostgreSQL is read-only (a replica, or default_transaction_read_only is on); nothing was changed.",
    "Name the primary in the store's URL, or turn default_transaction_read_only off.",
  ),
  "25P03": unavailable("The transaction was idle for too long and PostgreSQL ended it; nothing was changed.", "Try again."),
  "28000": signIn,
  "28P01": signIn,
  "3D000": unsupported("The database named in the store's URL does not exist.", "Create it (createdb NAME), or name another one."),
  "3F000": damaged("The store's schema is gone."),
  "40001": retried,
  // For a commit this becomes `outcomeUnknown`; everything else is safe to repeat.
  "40003": unavailable("PostgreSQL does not know whether a statement took effect.", "Try again."),
  "40P01": retried,
  "42501": rights,
  "42P01": damaged("A table of the store is missing."),
  "42703": damaged("A table of the store does not have the expected columns."),
  "53100": { code: "storage_full", says: "The disk of the PostgreSQL server is full; nothing was changed.", hint: "Free some space there and try again; no restart is needed." },
  "53300": unavailable("PostgreSQL accepts no more connections; nothing was changed.", "Lower pool= in the store's URL, or raise max_connections on the server."),
  "55P03": unavailable("Other processes kept the namespace busy for too long; nothing was changed.", "Try again."),
  "57014": unavailable("PostgreSQL canceled the query because of its own time limit or a request; nothing was changed.", "Try again."),
  "57P01": starting,
  "57P02": starting,
  "57P03": starting,
  "53": unavailable("PostgreSQL has run out of a resource; nothing was changed.", "See the server's log."),
  "08": unavailable("The connection to PostgreSQL failed; nothing was changed.", "Check host, port and network."),
  "58": unavailable("PostgreSQL reported a system or disk error; nothing was changed.", "See the server's log."),
  XX001: damaged("PostgreSQL reports damaged data in the store."),
  XX002: damaged("PostgreSQL reports a damaged index in the store."),
};

const unreachable: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOENT",
  "EACCES",
]);
const refusedTls = /^(CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH)/;

export const sqlState = (error: unknown): string | undefined => {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !unreachable.has(code) ? code : undefined;
};

/** Another transaction won and this one had no effect, so it can be retried as a whole. */
export const isTransient = (error: unknown): boolean => sqlState(error) === "40001" || sqlState(error) === "40P01";

/** The server itself reported the error. Any other error means that the connection is unusable. */
export const isAnswer = (error: unknown): boolean => sqlState(error) !== undefined && !/^(57P0[1-4]|25P03|08...)$/.test(sqlState(error) as string);

/** The server rejected the user or the password. The driver itself throws this if it has no password to send. */
export const isSignInRefused = (error: unknown): boolean => meaningOf(error) === signIn;

/** PostgreSQL's message stays in `cause`, for the log; callers get ours, which never contains the URL. */
export function translatePostgresError(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const { code, says, hint } = meaningOf(error);
  return new HoldfastError(code, says, { hint, cause: error });
}

function meaningOf(error: unknown): Meaning {
  const state = sqlState(error);
  const known = state === undefined ? undefined : (meanings[state] ?? meanings[state.slice(0, 2)]);
  if (known !== undefined) return known;
  if (state !== undefined)
    return { code: "internal", says: `PostgreSQL returned an error that Holdfast does not recognize (SQLSTATE ${state}).`, hint: "The server's own message is in the log." };
  if (error instanceof DeadlineError)
    return unavailable("PostgreSQL did not answer in time; nothing was changed.", "Check the server and the network; deadline= in the store's URL sets how long Holdfast waits.");
  const { code, message } = error as { readonly code?: unknown; readonly message: string };
  if (typeof code === "string" && unreachable.has(code))
    return unavailable(`PostgreSQL cannot be reached (${code}); nothing was changed.`, "Check that the server is running, and the host and port in the store's URL.");
  if (typeof code === "string" && refusedTls.test(code))
    return unsupported(`The server's TLS certificate was not accepted (${code}).`, "Name the certificate authority with sslrootcert=FILE, or see sslmode= in docs/engines.md.");
  // The driver provides no code for these two.
  if (/does not support SSL/.test(message))
    return unsupported("The server does not accept TLS connections, but the store's URL requires TLS.", "Turn on TLS there, or add sslmode=disable to the URL.");
  if (/^SASL/.test(message)) return signIn;
  return unavailable("The connection to PostgreSQL was lost; nothing was changed.", "Try again.");
}

export const outcomeUnknown = (cause: unknown): HoldfastError =>
  new HoldfastError("outcome_unknown", "PostgreSQL did not confirm that the commit is durable: it may or may not have taken effect.", {
    hint: "Retry with the same request key, or read.",
    cause,
  });

export const unknownUser = (cause: unknown): HoldfastError =>
  new HoldfastError("store_unsupported", "The store's URL names no user, and PostgreSQL rejected the user from the environment (PGUSER, otherwise the system's user).", {
    hint: "Put the user in the URL: postgres://USER:PASSWORD@HOST:5432/DATABASE.",
    cause,
  });

export const foreignError = (schema: string): HoldfastError =>
  new HoldfastError("store_damaged", `The schema ${schema} holds tables that are not Holdfast's. Nothing was changed.`, {
    hint: "Choose a separate schema with ?schema=NAME in the store's URL.",
    details: { foreign: true },
  });
