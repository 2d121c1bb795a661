import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";
import { applicationId, migrations } from "../../src/engines/sqlite/schema.ts";

/** The columns that schema 1 had, by table. */
const columns: Readonly<Record<string, string>> = {
  namespace: "id, name, compacted, compacted_at, version_floor, tombstones, aside",
  log: "id, k, op, ver, exp, created, at, prev, jump, writer, agent, kind, act, subject, lapse, v",
  kv: "ns, k, place, anchor, ver, created, exp, findable, at, writer, agent",
  tombstone: "ns, k, place, anchor, ver",
  request: "ns, key, fingerprint, kept_until, outcome",
  area: "id, ns, name, documents, length",
  document: "ns, k, area, place, length, terms",
  posting: "area, term, place, weight, length",
  term: "area, term, documents",
};

/** Writes the closed store at `path` as an older build would have left it at `olderPath`. */
export async function writeAsSchemaOne(path: string, olderPath: string): Promise<void> {
  const database = (await loadSqliteDriver()).open(olderPath);
  try {
    database.exec(migrations[0] as string);
    database.exec(`PRAGMA application_id = ${applicationId}`);
    database.exec("PRAGMA user_version = 1");
    database.prepare("ATTACH ? AS newer").run(path);
    for (const [table, names] of Object.entries(columns)) database.exec(`INSERT INTO main.${table} (${names}) SELECT ${names} FROM newer.${table}`);
    // Without the sum ahead of each value; a row without a value had none.
    database.exec("UPDATE main.log SET v = nullif(substr(v, 7), '')");
  } finally {
    database.close();
  }
}
