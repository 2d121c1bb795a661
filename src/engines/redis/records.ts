import type { Json } from "../../kernel/json.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { Committed, Entry, HistoryRecord, IndexedText, LogRow, NamespaceFacts, Revision, Seal, StoredLogRow, StoredRequest, WriteOutcome } from "../../store/store.ts";

/** The format of records in Redis: fields joined by NUL. The scripts write it; this file reads it. */
export const nul = "\0";

export const ops = { p: "put", d: "delete", x: "expire" } as const;
export const opCode = { put: "p", delete: "d", expire: "x" } as const;

export interface StreamPosition {
  readonly revision: Revision;
  readonly seq: number;
}

/** A row's id in the stream is its revision and its index within the commit. */
export function streamPositionOf(id: string): StreamPosition {
  const dash = id.indexOf("-");
  return { revision: Number(id.slice(0, dash)), seq: Number(id.slice(dash + 1)) };
}

const maybe = (text: string | undefined): number | undefined => (text === undefined || text === "" ? undefined : Number(text));
const orNone = (text: string | undefined): string | undefined => (text === "" ? undefined : text);
export const parseStored = (json: string | null | undefined): Json => (json === "" || json === null || json === undefined ? null : (JSON.parse(json) as Json));

/** A history record as JSON, with its kind first, so that a filter by kind can compare the prefix. */
export const recordText = (record: HistoryRecord | undefined): string => (record === undefined ? "" : JSON.stringify([record.kind, record.op, record.subject]));
export const kindPrefix = (kind: string): string => `[${JSON.stringify(kind)},`;

function recordIn(text: string | undefined): HistoryRecord | undefined {
  if (text === undefined || text === "") return undefined;
  const [kind, op, subject] = JSON.parse(text) as [string, string, string];
  return { kind, op, subject };
}

/** Parses an entry's header: id, anchor, version, created, expiry, time, findable, writer, agent. */
export function toEntry(key: string, header: string, json: string): Entry {
  const [id = "", , version, created, expiry, at, , writer = "", agent] = header.split(nul);
  return {
    key,
    value: parseStored(json),
    version: Number(version),
    revision: streamPositionOf(id).revision,
    createdAtMs: Number(created),
    updatedAtMs: Number(at),
    expiresAtMs: maybe(expiry),
    writer,
    agent: orNone(agent),
  };
}

export const headerEntryId = (header: string): string => header.slice(0, header.indexOf(nul));

/** A log row's header: prev, jump, op, version, expiry, created, time, key, writer, agent, record, lapse. */
function fieldsOf(id: string, header: string) {
  const [, , op, version, expiry, created, at, key = "", writer = "", agent, record, lapse] = header.split(nul);
  return {
    ...streamPositionOf(id),
    key,
    op: ops[op as keyof typeof ops],
    version: Number(version),
    expiresAtMs: maybe(expiry),
    createdAtMs: Number(created),
    atMs: Number(at),
    writer,
    agent: orNone(agent),
    record: recordIn(record),
    lapse: recordIn(lapse),
  };
}

export function toLogRow(id: string, header: string, json: string | null): LogRow {
  const { createdAtMs: _created, lapse: _lapse, ...row } = fieldsOf(id, header);
  return { ...row, value: parseStored(json) };
}

export const toStoredRow = (id: string, header: string, json: string): StoredLogRow => ({ kind: "log", ...fieldsOf(id, header), json: json === "" ? undefined : json });

/** An entry of the past, from the log row that was its newest at that time. */
export function toPastEntry(id: string, header: string, json: string): Entry {
  const { seq: _seq, op: _op, record: _record, lapse: _lapse, atMs, ...row } = fieldsOf(id, header);
  return { ...row, value: parseStored(json), updatedAtMs: atMs };
}

export interface RedisNamespaceFacts extends NamespaceFacts {
  readonly nowMs: number;
}

/** The facts of the namespace when a script ran. */
export function toFacts(text: string): RedisNamespaceFacts {
  const [now, revision, clock, compacted, compactedAt, versionFloor, base, gaps = "", seal = ""] = text.split(nul);
  return {
    nowMs: Number(now),
    revision: Number(revision),
    clockMs: Number(clock),
    compacted: Number(compacted),
    compactedAtMs: Number(compactedAt),
    versionFloor: Number(versionFloor),
    base: Number(base),
    gaps: gaps === "" ? [] : gaps.split(" ").map((gap) => gap.split(":").map(Number) as [number, number]),
    seal: seal === "" ? undefined : (JSON.parse(seal) as Seal),
  };
}

export const gapsText = (gaps: NamespaceFacts["gaps"]): string => gaps.map(([kept, base]) => `${kept}:${base}`).join(" ");

/** The state comes first, because the scripts expect it at the start of the text. Equal seals give equal texts, and the scripts compare those. */
export const sealText = (seal: Seal | undefined): string => {
  if (seal === undefined) return "";
  const { state, ...rest } = seal;
  const others = canonicalJson(rest).slice(1);
  return `{"state":"${state}"${others === "}" ? "" : ","}${others}`;
};

/** Outcomes of writes: version:existed:expiry, joined by semicolons. */
export const toWrites = (text: string): WriteOutcome[] => (text === "" ? [] : text.split(";").map(toWrite));

function toWrite(text: string): WriteOutcome {
  const [version, existed, expiry] = text.split(":");
  return expiry === "" ? { version: Number(version), existed: existed === "1" } : { version: Number(version), existed: existed === "1", expiresAtMs: Number(expiry) };
}

const writesText = (writes: readonly WriteOutcome[]): string => writes.map(({ version, existed, expiresAtMs }) => `${version}:${existed ? 1 : 0}:${expiresAtMs ?? ""}`).join(";");

/** A stored request: expiry, fingerprint, revision, time, outcomes, note. */
export function toRequest(text: string): StoredRequest & { readonly keptUntilMs: number } {
  const [keptUntil, fingerprint = '""', revision, at, writes = "", note = ""] = text.split(nul);
  const outcome: Committed = {
    ok: true,
    revision: Number(revision),
    atMs: Number(at),
    writes: toWrites(writes),
    replayed: false,
    ...(note === "" ? {} : { note: JSON.parse(note) as Json }),
  };
  return { keptUntilMs: Number(keptUntil), fingerprint: JSON.parse(fingerprint) as string, outcome };
}

export const requestText = (keptUntilMs: number, fingerprint: string, { revision, atMs, writes, note }: Committed): string =>
  [keptUntilMs, JSON.stringify(fingerprint), revision, atMs, writesText(writes), note === undefined ? "" : JSON.stringify(note)].join(nul);

/** An area's name as part of a key: without colons and NUL. */
export const areaName = (area: string): string => encodeURIComponent(area);

export const encodeIndex = ({ area, length, terms }: IndexedText): string => [areaName(area), length, ...terms.flat()].join(nul);

export function toIndex(text: string): IndexedText {
  const [area = "", length, ...flat] = text.split(nul);
  return {
    area: decodeURIComponent(area),
    length: Number(length),
    terms: Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] as string, Number(flat[2 * i + 1])] as const),
  };
}
