import { HoldfastError } from "../../kernel/errors.ts";
import { noStoreError } from "../../store/engine-rules.ts";
import type { PgSession } from "./pg-session.ts";
import { PipelineError, remaining } from "./pg-session.ts";
import { foreignError, sqlState } from "./postgres-errors.ts";

/** The tables of a store, by their qualified names. */
export interface Tables {
  readonly schema: string;
  readonly meta: string;
  readonly namespace: string;
  readonly log: string;
  readonly kv: string;
  readonly tombstone: string;
  readonly request: string;
  readonly area: string;
  readonly document: string;
  readonly posting: string;
  readonly term: string;
}

const names = ["meta", "namespace", "log", "kv", "tombstone", "request", "area", "document", "posting", "term"] as const;

/** The tables that every commit may write to; `meta` changes only with the schema. */
export const writtenTables = names.filter((name) => name !== "meta");

/** The schema's name has only letters, digits and _ (see server-settings.ts), so quoting it is enough. */
export const tablesIn = (schema: string): Tables => ({ ...(Object.fromEntries(names.map((name) => [name, `"${schema}".${name}`])) as unknown as Tables), schema });

/**
 * Step n brings a store from schema n to n + 1. Released steps are never edited; the list only grows.
 *
 * `log` is the history and the only copy of every value. `kv` has the entries that are live (or expired and not yet swept) and points into the log by position
 * (see ledger/log-position.ts). `kv` repeats the columns of a listing without values, so that such a listing reads no log. Its rows change often: their pages
 * leave free space, and no column that changes with each write is indexed, so PostgreSQL can put the new version next to the old one without an index update.
 * `tombstone` remembers the last version of deleted keys. `area`, `document`, `posting` and `term` are the full-text index (see text-index.ts).
 * Keys compare by their UTF-8 bytes. There are no sequences: ids of namespaces and areas are assigned under a lock.
 */
export const migrations: readonly ((tables: Tables) => string)[] = [
  (t) => `
  CREATE TABLE ${t.namespace} (
    id int PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE,
    revision bigint NOT NULL DEFAULT 0, clock bigint NOT NULL DEFAULT 0, compacted bigint NOT NULL DEFAULT 0, compacted_at bigint NOT NULL DEFAULT 0,
    version_floor bigint NOT NULL DEFAULT 0, tombstones bigint NOT NULL DEFAULT 0, base bigint NOT NULL DEFAULT 0, gaps text NOT NULL DEFAULT '[]', seal text, served_by text, changes bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50);
  CREATE TABLE ${t.log} (
    ns int NOT NULL, place bigint NOT NULL, k text COLLATE "C" NOT NULL, op smallint NOT NULL, ver bigint NOT NULL, exp bigint, created bigint NOT NULL, at bigint NOT NULL,
    prev bigint, jump bigint, writer text NOT NULL, agent text, kind text, act text, subject text, lapse text, v text,
    PRIMARY KEY (ns, place)
  );
  CREATE TABLE ${t.kv} (
    ns int NOT NULL, k text COLLATE "C" NOT NULL, place bigint NOT NULL, anchor bigint, ver bigint NOT NULL, created bigint NOT NULL, exp bigint, findable boolean NOT NULL,
    at bigint NOT NULL, writer text NOT NULL, agent text,
    PRIMARY KEY (ns, k)
  ) WITH (fillfactor = 80);
  CREATE INDEX kv_by_expiry ON ${t.kv} (ns, exp, k) WHERE exp IS NOT NULL;
  CREATE TABLE ${t.tombstone} (ns int NOT NULL, k text COLLATE "C" NOT NULL, place bigint NOT NULL, anchor bigint, ver bigint NOT NULL, PRIMARY KEY (ns, k));
  CREATE INDEX tombstone_by_age ON ${t.tombstone} (ns, place);
  CREATE TABLE ${t.request} (ns int NOT NULL, key text COLLATE "C" NOT NULL, fingerprint text NOT NULL, kept_until bigint NOT NULL, outcome text NOT NULL, PRIMARY KEY (ns, key));
  CREATE INDEX request_by_age ON ${t.request} (ns, kept_until, key);
  CREATE TABLE ${t.area} (ns int NOT NULL, id int NOT NULL, name text COLLATE "C" NOT NULL, documents bigint NOT NULL, length bigint NOT NULL, PRIMARY KEY (ns, id), UNIQUE (ns, name));
  CREATE TABLE ${t.document} (
    ns int NOT NULL, k text COLLATE "C" NOT NULL, area int NOT NULL, place bigint NOT NULL, length bigint NOT NULL, terms text NOT NULL,
    PRIMARY KEY (ns, k)
  );
  CREATE TABLE ${t.posting} (
    ns int NOT NULL, area int NOT NULL, term text COLLATE "C" NOT NULL, place bigint NOT NULL, weight bigint NOT NULL, length bigint NOT NULL,
    PRIMARY KEY (ns, area, term, place)
  );
  CREATE TABLE ${t.term} (ns int NOT NULL, area int NOT NULL, term text COLLATE "C" NOT NULL, documents bigint NOT NULL, PRIMARY KEY (ns, area, term)) WITH (fillfactor = 80);
  `,
];

const openAttemptsMax = 12;
/**
 * Errors that two processes can cause each other when creating a store at the same moment: several forms of "already exists", and a catalogue row that changed
 * concurrently.
 */
const isCollision = (error: unknown): boolean => ["23505", "42P06", "42P07", "40001", "40P01", "XX000"].includes(sqlState(error) ?? "");

export interface PrepareOptions {
  /** False: do not create a store if there is none. */
  readonly creates?: boolean;
  readonly migrations?: readonly ((tables: Tables) => string)[];
}

/** Migrates the store to this build's schema, or rejects it unchanged. Any number of processes may do so at once. */
export async function prepareStore(session: PgSession, tables: Tables, deadlineMs: number, options: PrepareOptions = {}): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await prepareOnce(session, tables, deadlineMs, options);
    } catch (error) {
      const cause = error instanceof PipelineError ? error.cause : error;
      if (!session.isLost) await session.send([{ text: "ROLLBACK" }], deadlineMs);
      if (!isCollision(cause) || attempt === openAttemptsMax || remaining(deadlineMs) === 0) throw cause;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * attempt));
    }
  }
}

async function prepareOnce(session: PgSession, tables: Tables, deadlineMs: number, { creates = true, migrations: steps = migrations }: PrepareOptions): Promise<void> {
  const ask = async (text: string, values?: readonly unknown[]) => (await session.send([{ text, values }], deadlineMs))[0]?.rows ?? [];
  const present = (
    await ask("SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v')", [tables.schema])
  ).map(([name]) => String(name));
  const isOurs = present.includes("meta");
  if (present.length > 0 && !isOurs) throw foreignError(tables.schema);
  // A check without a lock is nearly always enough.
  if (isOurs && requireKnown(await ask(versionQuery(tables)), tables, steps.length) === steps.length) return requireWhole(present, tables);
  if (!isOurs && !creates) throw noStoreError();
  await ask("BEGIN ISOLATION LEVEL READ COMMITTED");
  if (!isOurs) {
    const [schema] = await ask("SELECT 1 FROM pg_namespace WHERE nspname = $1", [tables.schema]);
    // Only if it is missing: PostgreSQL checks the right to create schemas even when there is nothing to create.
    if (schema === undefined) await ask(`CREATE SCHEMA "${tables.schema}"`);
    await ask(`CREATE TABLE ${tables.meta} (name text PRIMARY KEY, value text NOT NULL)`);
    await ask(`INSERT INTO ${tables.meta} VALUES ('store', 'holdfast'), ('schema_version', '0')`);
  }
  // Another process may have migrated while this one waited for the row.
  const from = requireKnown(await ask(`${versionQuery(tables)} FOR UPDATE`), tables, steps.length);
  for (const step of steps.slice(from)) await ask(step(tables));
  await ask(`UPDATE ${tables.meta} SET value = $1 WHERE name = 'schema_version'`, [String(steps.length)]);
  await ask("COMMIT");
}

const versionQuery = (tables: Tables): string => `SELECT value FROM ${tables.meta} WHERE name = 'schema_version'`;

function requireKnown(rows: readonly (readonly unknown[])[], tables: Tables, newest: number): number {
  const version = Number(rows[0]?.[0]);
  if (!Number.isInteger(version)) throw foreignError(tables.schema);
  if (version > newest)
    throw new HoldfastError("store_newer", `The store has schema ${version}; this Holdfast knows schemas up to ${newest}. Nothing was changed.`, {
      hint: "Upgrade Holdfast, or choose another store with --store.",
      details: { schema_version: version, newest_known: newest },
    });
  return version;
}

function requireWhole(present: readonly string[], tables: Tables): void {
  const missing = names.filter((name) => !present.includes(name));
  if (missing.length > 0)
    throw new HoldfastError("store_damaged", `Tables are missing from the schema ${tables.schema}: ${missing.join(", ")}. Nothing was changed.`, {
      hint: "Restore a backup of the database, or choose another schema.",
    });
}
