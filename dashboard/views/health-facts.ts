import { formatBytes, formatNumber } from "../parts/format.ts";

/** One fact that the store reports about itself, in words for people. */
export interface StoreFact {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  /** An explanation if the label is not enough. */
  readonly meaning?: string;
}

/** Label and explanation. Other facts are shown under their own name, which is the engine's word for its setting. */
const known: Readonly<Record<string, readonly [label: string, meaning?: string]>> = {
  revision: ["Changes so far", "Every change of this namespace has a number, counted up from 1."],
  compacted_revision: ["History reaches back to", "Older changes are forgotten in time; what is stored stays."],
  file: ["File"],
  file_bytes: ["Size on disk"],
  used_memory_bytes: ["Memory in use"],
  sqlite_version: ["SQLite version"],
  server_version: ["Server version"],
  seal: ["On its way", "The operator is copying, moving or filling this namespace."],
  wal_bytes: ["Beside the file", "The newest changes, safe on disk already; they move into the file by themselves."],
  free_bytes_inside: ["Room to reuse", "Space that removed data left in the file; new data takes it first."],
  tombstones: ["Removed names remembered", "So that the versions of a key that is written again continue where they ended."],
  entries: ["Entries", "Everything that is stored now, of every kind."],
  log_rows: ["Changes in history", "How many are kept now; on PostgreSQL an estimate over all namespaces."],
  request_keys: ["Requests remembered", "So that a call that is sent twice is done once."],
  base: ["Continued after", "Where history continued after an older backup was restored, or a replica took over."],
  gaps: ["Numbers left out", "When history goes back, the numbers that were given before are skipped, so that none is given twice."],
  journal_mode: ["Way of writing", "wal: readers never wait for a writer."],
  synchronous: ["Flushed to disk", "FULL: every change, before it is answered."],
  schema_version: ["Layout of the store", "Counted up when a new version of Holdfast changes it."],
  driver: ["SQLite comes from", "The package, or Node.js itself."],
  maxmemory_bytes: ["Memory allowed", "0: as much as the machine has."],
  url: ["Address"],
  schema: ["Schema", "Where its tables are."],
  encrypted: ["Encrypted connection"],
  pooler_between: ["Pooler in between"],
  notifications: ["Notifications", "How this server hears at once of what others changed."],
  connections: ["Connections"],
  history: ["Mark of the history", "Another mark means another history: a store that was put back or replaced."],
  deadline_ms: ["Waits at most", "For an answer of the store, before it says that there is none."],
  round_trip_ms: ["Time of one question"],
  clock_difference_ms: ["Clock is off by", "The store's clock against this server's."],
};

/** The facts shown to every reader; only the operator sees the rest. */
const first = ["revision", "compacted_revision", "file_bytes", "used_memory_bytes", "file", "sqlite_version", "server_version", "seal"];

export function storeFacts(facts: Readonly<Record<string, unknown>>): { readonly shown: readonly StoreFact[]; readonly details: readonly StoreFact[] } {
  const all = Object.entries(facts).map(([name, value]): StoreFact => {
    const [label, meaning] = known[name] ?? [ownName(name)];
    return { name, label, value: valueText(name, value), ...(meaning === undefined ? {} : { meaning }) };
  });
  return { shown: first.flatMap((name) => all.find((fact) => fact.name === name) ?? []), details: all.filter(({ name }) => !first.includes(name)) };
}

/** lastBackupAt, last_backup_at → Last backup at */
const ownName = (name: string): string => {
  const text = name.replaceAll("_", " ").replace(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`);
  return text.charAt(0).toUpperCase() + text.slice(1);
};

function valueText(name: string, value: unknown): string {
  if (name === "compacted_revision") return value === 0 ? "the first change" : `change ${formatNumber(Number(value) + 1)}`;
  if (name === "base" && value === 0) return "never went back";
  // Each gap is a pair: the last revision kept, and the one after which numbering resumed.
  if (name === "gaps" && Array.isArray(value)) return value.map(([kept, base]) => `${formatNumber(kept + 1)} to ${formatNumber(base)}`).join(", ") || "none";
  if (typeof value === "number") return name.endsWith("_ms") ? `${formatNumber(value)} ms` : /bytes/i.test(name) ? formatBytes(value) : formatNumber(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === null || value === "") return "not set";
  return typeof value === "string" ? value : JSON.stringify(value);
}
