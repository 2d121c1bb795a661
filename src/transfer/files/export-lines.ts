import { createHash } from "node:crypto";
import type { NamespaceFacts, StoredRecord } from "../../store/store.ts";
import { readFacts } from "../stores/change-seal.ts";
import type { Side } from "../stores/compare-namespaces.ts";
import { keyPages, logPages, recordsOf, requestPages } from "../stores/dump-pages.ts";
import { factsLine, recordLine } from "../stores/record-line.ts";

/** The version of the export format; readers reject newer versions. */
export const exportFormat = 1;

export interface ExportHeader {
  readonly format: number;
  readonly madeBy: string;
  /** The time of the newest commit in the export, so that the same store gives the same bytes. */
  readonly asOf: string;
  readonly namespaces: readonly string[];
}

export const headerLine = ({ format, madeBy, asOf, namespaces }: ExportHeader): string => JSON.stringify({ holdfast: "export", format, made_by: madeBy, as_of: asOf, namespaces });

export interface ExportCounts {
  log: number;
  keys: number;
  requests: number;
}
export const noCounts = (): ExportCounts => ({ log: 0, keys: 0, requests: 0 });
export const countOf = { log: "log", key: "keys", request: "requests" } as const satisfies Record<StoredRecord["kind"], keyof ExportCounts>;

export const endLine = (counts: Readonly<ExportCounts>, sha256: string): string => JSON.stringify({ end: counts, sha256 });

/** A present key without indexed text can be derived from its newest log row. */
export const followsFromLog = (record: StoredRecord): boolean => record.kind === "key" && record.present && record.index === undefined;

/** All records of a namespace without writers, in export order. */
export async function* recordsOfNamespace({ engine, namespace }: Side): AsyncGenerator<StoredRecord> {
  yield* recordsOf(logPages(engine, namespace));
  for await (const key of recordsOf(keyPages(engine, namespace))) if (!followsFromLog(key)) yield key;
  yield* recordsOf(requestPages(engine, namespace));
}

/** The lines of an export. The namespaces must not change meanwhile and come in byte order of their names. */
export async function* exportLines(sides: readonly Side[], madeBy: string, onRecord: () => void = () => {}): AsyncGenerator<string> {
  const facts: NamespaceFacts[] = [];
  for (const side of sides) facts.push(await readFacts(side));
  const hash = createHash("sha256");
  const hashed = (line: string): string => {
    const whole = `${line}\n`;
    hash.update(whole);
    return whole;
  };
  const asOf = new Date(Math.max(0, ...facts.map(({ clockMs }) => clockMs))).toISOString();
  yield hashed(headerLine({ format: exportFormat, madeBy, asOf, namespaces: sides.map(({ namespace }) => namespace) }));
  const counts = noCounts();
  for (const [i, side] of sides.entries()) {
    yield hashed(factsLine(side.namespace, facts[i] as NamespaceFacts));
    for await (const record of recordsOfNamespace(side)) {
      counts[countOf[record.kind]] += 1;
      onRecord();
      yield hashed(recordLine(record));
    }
  }
  yield `${endLine(counts, hash.digest("hex"))}\n`;
}

/** A digest of a namespace: equal namespaces have equal digests, whatever their names. */
export async function digestOf(side: Side): Promise<string> {
  const digest = new NamespaceDigest(await readFacts(side));
  for await (const record of recordsOfNamespace(side)) digest.add(record);
  return digest.value();
}

export class NamespaceDigest {
  readonly #hash = createHash("sha256");

  constructor(facts: NamespaceFacts) {
    this.#hash.update(factsLine("", facts));
  }

  add(record: StoredRecord): void {
    this.#hash.update("\n").update(recordLine(record));
  }

  value(): string {
    return this.#hash.digest("hex");
  }
}
