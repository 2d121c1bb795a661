import type { ClientConfig } from "pg";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import { PgSession, PipelineError } from "./pg-session.ts";
import { isSignInRefused, unknownUser } from "./postgres-errors.ts";
import type { ServerSettings } from "./server-settings.ts";

/** Older versions are no longer maintained. */
export const oldestVersion = 130_000;

/** An idle transaction (of a process that stopped between its two steps) releases its namespace no later than this, which leaves waiting sessions enough time. */
const standstillMs = (deadlineMs: number): number => Math.ceil(Math.min(5_000, deadlineMs / 2));

/**
 * A revision alone does not identify a history: see `NamespaceFacts.base`. The timeline is the first eight digits of the current WAL file's name; a copy of a
 * whole database on one server has another oid. Not every server (or role) reports these. If they are missing, only a lower revision is noticed.
 */
const identityColumn =
  "(SELECT system_identifier FROM pg_control_system())::text || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())::text";

export async function openServerSession(pg: typeof import("pg"), settings: ServerSettings, oldest: number, deadlineMs: number): Promise<PgSession> {
  const session = await PgSession.open(pg, clientConfig(settings), deadlineMs).catch((error: unknown) => {
    throw settings.user === undefined && isSignInRefused(error) ? unknownUser(error) : error;
  });
  try {
    const about: Statement = {
      text: "SELECT current_setting('server_version'), current_setting('server_version_num')::int, pg_is_in_recovery(), pg_backend_pid()",
    };
    const [answer] = await session.send([about], deadlineMs);
    const [version, versionNumber, isInRecovery, processId] = (answer as StatementResult).rows[0] as unknown as [string, number, boolean, number];
    if (versionNumber < oldest)
      throw new HoldfastError("store_unsupported", `The server is PostgreSQL ${version}; Holdfast needs ${Math.floor(oldest / 10_000)} or newer.`, {
        hint: "Upgrade the server, or choose another store.",
      });
    if (isInRecovery)
      throw new HoldfastError("unavailable", "This PostgreSQL is in recovery (a replica, or a backup being restored) and accepts no writes; nothing was changed.", {
        hint: "Name the primary in the store's URL, or promote this server: SELECT pg_promote().",
      });
    // Every pooler gives its clients its own process ids.
    const isDirect = (session.client as unknown as { readonly processID: number | null }).processID === processId;
    if (isDirect) await settle(session, settings, deadlineMs);
    session.facts = { version, identity: await readIdentity(session, deadlineMs), isDirect };
    return session;
  } catch (error) {
    session.destroy();
    throw error instanceof PipelineError ? error.cause : error;
  }
}

const clientConfig = ({ host, port, user, password, database, ssl }: ServerSettings): ClientConfig => ({
  host,
  port,
  user,
  password,
  database,
  ssl,
  application_name: "holdfast",
});

/** The share of a deadline that may be spent waiting for a lock. */
export const lockShare = 0.7;

/** The settings of every transaction; `SET LOCAL` for each one if a pooler may give every transaction a different connection. */
export const transactionSettings = ({ deadlineMs }: Pick<ServerSettings, "deadlineMs">): readonly (readonly [name: string, value: string])[] => [
  ["statement_timeout", String(Math.ceil(deadlineMs))],
  // Waiting for a namespace ends before the caller's deadline, so that the error comes from the server and the outcome is certain.
  ["lock_timeout", String(Math.ceil(deadlineMs * lockShare))],
  ["idle_in_transaction_session_timeout", String(standstillMs(deadlineMs))],
];

/** Makes the planner always use the indexes, row by row, because a plan that was made while a table was small is kept. */
const planning = [
  ["enable_seqscan", "off"],
  ["enable_hashjoin", "off"],
  ["enable_mergejoin", "off"],
  ["jit", "off"],
  ["plan_cache_mode", "force_generic_plan"],
] as const;

/** On a direct connection, these are set only once. */
async function settle(session: PgSession, settings: ServerSettings, deadlineMs: number): Promise<void> {
  const wanted = [...transactionSettings(settings), ...planning, ["default_transaction_isolation", "'read committed'"]] as const;
  await session.send([{ text: `${wanted.map(([name, value]) => `SET ${name} = ${value}`).join("; ")}; ${keepDurable(false)}` }], deadlineMs);
}

/** A returned commit is on disk: if the server does not wait for that by default, this turns waiting on. Stronger settings are kept. */
export const keepDurable = (isLocal: boolean): string =>
  `SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, ${isLocal})`;

async function readIdentity(session: PgSession, deadlineMs: number): Promise<string | null> {
  try {
    const [answer] = await session.send([{ text: `SELECT ${identityColumn}` }], deadlineMs);
    return (answer?.rows[0]?.[0] as string | null | undefined) ?? null;
  } catch (error) {
    if (session.isLost) throw error;
    return null;
  }
}
