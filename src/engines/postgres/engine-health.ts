import type { Json } from "../../kernel/json.ts";
import type { EngineHealth, EngineWarning } from "../../store/store.ts";
import { historyMark } from "./history-mark.ts";
import type { PgNamespaceRow } from "./namespace-row.ts";
import { isServedByOther } from "./namespace-row.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import type { Tables } from "./schema.ts";
import { writtenTables } from "./schema.ts";
import { texts } from "./sql-arrays.ts";

/** How far the clocks may be apart before health reports it. */
const clockApartMaxMs = 5_000;

const settingNames = ["server_version", "synchronous_commit", "fsync", "full_page_writes", "synchronous_standby_names", "is_superuser"] as const;
type SettingName = (typeof settingNames)[number];

const neededRights = ["SELECT", "INSERT", "UPDATE", "DELETE"];

/** The server's settings as it reports them; null for those that it does not report or does not have. */
export const readSettings = (t: Tables): Statement[] => [
  { text: `SELECT ${settingNames.map((name) => `current_setting('${name}', true)`).join(", ")}, pg_backend_pid()` },
  { text: `SELECT value FROM ${t.meta} WHERE name = 'schema_version'` },
  // An estimate: counting would walk the whole log.
  { text: `SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = '${t.log}'::regclass` },
  {
    text: `SELECT quote_ident(current_user), coalesce(string_agg(DISTINCT r.name, ', '), ''), coalesce(string_agg(DISTINCT w.name, ', '), '')
      FROM unnest($1::text[]) AS w (name) CROSS JOIN unnest($2::text[]) AS r (name) WHERE NOT has_table_privilege(format('%I.%I', $3::text, w.name), r.name)`,
    values: [texts(writtenTables), texts(neededRights), t.schema],
  },
];

export interface HealthSources {
  readonly answers: readonly StatementResult[];
  readonly space: PgNamespaceRow;
  readonly schema: string;
  readonly isDirect: boolean;
  readonly isEncrypted: boolean;
  readonly identity: string | null;
  readonly isListening: boolean | undefined;
  readonly connections: number;
  readonly roundTripMs: number;
  /** The server's clock minus this machine's, at the middle of the round trip. */
  readonly clockDifferenceMs: number;
  readonly deadlineMs: number;
}

export function healthOf({ answers, space, ...from }: HealthSources): EngineHealth {
  const [settings, version, logRows, rights] = answers.map(({ rows }) => rows[0] ?? []) as unknown as [(string | null)[], [string], [number], MissingRights];
  const setting = Object.fromEntries(settingNames.map((name, i) => [name, settings[i] ?? null])) as Readonly<Record<SettingName, string | null>>;
  const { is_superuser: isSuperuser, ...shown } = setting;
  const facts: Record<string, Json> = {
    ...shown,
    schema: from.schema,
    schema_version: Number(version[0]),
    encrypted: from.isEncrypted,
    pooler_between: !from.isDirect,
    notifications: from.isListening === undefined ? "not requested yet" : from.isListening ? "arrive" : "do not arrive: polling",
    connections: from.connections,
    deadline_ms: from.deadlineMs,
    round_trip_ms: Math.round(from.roundTripMs * 10) / 10,
    clock_difference_ms: Math.round(from.clockDifferenceMs),
    history: historyMark(from.identity, space),
    revision: space.revision,
    compacted_revision: space.compacted,
    log_rows: logRows[0] ?? 0,
    tombstones: space.tombstones,
    base: space.base,
    gaps: space.gaps as Json,
  };
  const isSynced = setting.fsync !== "off";
  const replicas = setting.synchronous_standby_names
    ? "and on the synchronous standbys that the server's settings name"
    : "on this server only: a replica promoted after a failure may lack the last commits";
  return {
    engine: "postgres",
    durability: isSynced
      ? `an acknowledged write is in PostgreSQL's log on disk (fsync) before it is answered: it survives a crash of any process and a loss of power, ${replicas}`
      : "an acknowledged write survives a crash of any Holdfast process; a crash of the server's machine can lose it and damage the store (fsync is off)",
    facts,
    warnings: [
      ...warningsOf(setting, isSuperuser),
      ...rightsWarnings(from.schema, rights),
      ...clockWarnings(space, from.clockDifferenceMs),
      ...historyWarnings(space, from.identity),
    ],
  };
}

function warningsOf(setting: Readonly<Record<SettingName, string | null>>, isSuperuser: string | null): EngineWarning[] {
  const warnings: EngineWarning[] = [];
  for (const name of ["fsync", "full_page_writes"] as const)
    if (setting[name] === "off")
      warnings.push({ about: "durability", says: `${name} is off on the server: a crash of its machine can lose acknowledged writes and damage the store. Set ${name} = on.` });
  if (isSuperuser === "on") warnings.push({ about: "rights", says: "Holdfast signs in as a superuser and needs far less; docs/engines.md has the role and its grants." });
  return warnings;
}

type MissingRights = [role: string, rights: string, tables: string];

function rightsWarnings(schema: string, [role, rights, tables]: MissingRights): EngineWarning[] {
  if (rights === "") return [];
  return [
    {
      about: "rights",
      says: `The role ${role} lacks ${rights} on ${tables}: some or all commits will be refused. GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}, as their owner.`,
    },
  ];
}

function clockWarnings({ nowMs, hostMs }: PgNamespaceRow, differenceMs: number): EngineWarning[] {
  const warnings: EngineWarning[] = [];
  if (nowMs - hostMs > clockApartMaxMs)
    warnings.push({
      about: "clock",
      says: `The store's clock is ${Math.round((nowMs - hostMs) / 1_000)} s ahead of the server's: nothing expires until the server catches up. Check the server's clock.`,
    });
  if (Math.abs(differenceMs) > clockApartMaxMs)
    warnings.push({
      about: "clock",
      says: `The server's clock and this machine's are ${Math.round(Math.abs(differenceMs) / 1_000)} s apart. Expiry follows the server's clock; check both against a time server.`,
    });
  return warnings;
}

function historyWarnings(space: PgNamespaceRow, identity: string | null): EngineWarning[] {
  const { gaps, base } = space;
  const warnings: EngineWarning[] = [];
  const last = gaps.at(-1);
  if (last !== undefined)
    warnings.push({
      about: "history",
      says: `History went back to revision ${last[0]} (a replica was promoted or a backup restored); the namespace continued above ${base}. Commits after ${last[0]} on the lost history are gone; no revision, version or token is issued twice.`,
    });
  if (isServedByOther(space, identity))
    warnings.push({
      about: "history",
      says: "The server, or its copy of the tables, is not the one that was last written to (a replica was promoted or a backup restored); the next commit gets a revision above any that may have been lost.",
    });
  return warnings;
}
