import { canonicalJson } from "../../kernel/json.ts";
import type { HistoryRecord, NamespaceFacts, StoredKey, StoredLogRow, StoredRecord, StoredRequestKey } from "../../store/store.ts";

/**
 * A stored record as one line of JSON with its members in a fixed order, so that equal records give equal lines on every engine.
 * Comparisons of stores and exports use these lines.
 */
export function recordLine(record: StoredRecord): string {
  if (record.kind === "log") return logLine(record);
  return record.kind === "key" ? keyLine(record) : requestLine(record);
}

const text = (value: string): string => JSON.stringify(value);
const whole = (name: string, value: number | undefined): string => (value === undefined ? "" : `,"${name}":${value}`);
const history = (name: string, record: HistoryRecord | undefined): string => (record === undefined ? "" : `,"${name}":${JSON.stringify([record.kind, record.op, record.subject])}`);

function logLine(row: StoredLogRow): string {
  const times = `,"at_ms":${row.atMs},"created_at_ms":${row.createdAtMs}${whole("expires_at_ms", row.expiresAtMs)}`;
  const who = `,"writer":${text(row.writer)}${row.agent === undefined ? "" : `,"agent":${text(row.agent)}`}`;
  // The value comes last and unchanged: its stored text is already JSON.
  const value = row.json === undefined ? "" : `,"value":${row.json}`;
  return `{"log":[${row.revision},${row.seq}],"op":"${row.op}","key":${text(row.key)},"version":${row.version}${times}${who}${history("record", row.record)}${history("lapse", row.lapse)}${value}}`;
}

function keyLine({ key, revision, seq, version, present, index }: StoredKey): string {
  const terms = index?.terms.toSorted(([a], [b]) => (a < b ? -1 : 1)) ?? [];
  const found = index === undefined ? "" : `,"text":{"area":${text(index.area)},"length":${index.length},"terms":${JSON.stringify(terms)}}`;
  return `{"key":${text(key)},"log":[${revision},${seq}],"version":${version},"present":${present}${found}}`;
}

const requestLine = ({ key, fingerprint, keptUntilMs, outcome }: StoredRequestKey): string =>
  `{"request":${text(key)},"fingerprint":${text(fingerprint)},"kept_until_ms":${keptUntilMs},"outcome":${canonicalJson(outcome)}}`;

/** The state of a namespace, without its seal: the seal describes the move, not the data. */
export const factsLine = (namespace: string, { revision, clockMs, compacted, compactedAtMs, versionFloor, base, gaps }: NamespaceFacts): string =>
  `{"namespace":${text(namespace)},"revision":${revision},"clock_ms":${clockMs},"compacted":${compacted},"compacted_at_ms":${compactedAtMs},"version_floor":${versionFloor},"base":${base},"gaps":${JSON.stringify(gaps)}}`;
