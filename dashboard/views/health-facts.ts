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
  compacted_revision: ["History reaches back to", "Older changes are forgotten over time; stored values stay."],
  file: ["File"],
  file_bytes: ["Size on disk"],
  used_memory_bytes: ["Memory in use"],
  sqlite_version: ["SQLite version"],
  server_version: ["Server version"],
  seal: ["Being moved", "The operator is copying, moving or filling this namespace."],
  wal_bytes: ["Beside the file", "The newest changes, already safe on disk; they move into the file automatically."],
  free_bytes_inside: ["Room to reuse", "Space left by removed data; new data uses it first."],
  tombstones: ["Removed names remembered", "If a deleted key is written again, its versions continue where they ended."],
  entries: ["Entries", "Everything that is stored now, of every kind."],
  log_rows: ["Changes in history", "The number kept now; on PostgreSQL, an estimate for all namespaces."],
  request_keys: ["Requests remembered", "A call that is sent twice takes effect once."],
  base: ["Continued after", "Where history continued after an older backup was restored, or a replica took over."],
  gaps: ["Skipped numbers", "When history goes back, the numbers issued before are skipped, so that none is issued twice."],
  journal_mode: ["Journal mode", "wal: readers never wait for a writer."],
  synchronous: ["Flushed to disk", "FULL: every change, before it is acknowledged."],
  schema_version: ["Layout of the store", "Raised when a new version of Holdfast changes it."],
  driver: ["SQLite driver", "From the package, or built into Node.js."],
  maxmemory_bytes: ["Memory allowed", "0: as much as the machine has."],
  url: ["Address"],
  schema: ["Schema", "Where its tables are."],
  encrypted: ["Encrypted connection"],
  pooler_between: ["Pooler in between"],
  notifications: ["Notifications", "How this server learns at once of changes by others."],
  connections: ["Connections"],
  history: ["Mark of the history", "A different mark means a different history: a store that was restored or replaced."],
  deadline_ms: ["Deadline", "How long a call waits for the store before it fails."],
  round_trip_ms: ["Round trip"],
  clock_difference_ms: ["Clock difference", "The store's clock against this server's."],
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
