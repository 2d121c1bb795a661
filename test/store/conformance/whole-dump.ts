import type { Engine, NamespaceFacts, Seal, StoredRecord } from "../../../src/store/store.ts";
import { keyPages, logPages, recordsOf, requestPages } from "../../../src/transfer/stores/dump-pages.ts";

export interface WholeDump {
  readonly facts: NamespaceFacts;
  readonly records: readonly StoredRecord[];
}

/** Everything a namespace is made of, in the order in which it can be loaded. The seal is no part of it, and terms have no order. */
export async function wholeDump(engine: Engine, namespace: string): Promise<WholeDump> {
  const { facts } = await engine.dump(namespace, { part: "keys" });
  const records: StoredRecord[] = [];
  for await (const record of recordsOf(logPages(engine, namespace))) records.push(record);
  for await (const { index, ...key } of recordsOf(keyPages(engine, namespace)))
    records.push(index === undefined ? key : { ...key, index: { ...index, terms: index.terms.toSorted() } });
  for await (const record of recordsOf(requestPages(engine, namespace))) records.push(record);
  return { facts: { ...facts, seal: undefined }, records };
}

/** Loads a dump as a mover would, and opens the namespace. */
export async function loadDump(engine: Engine, namespace: string, { facts, records }: WholeDump): Promise<void> {
  await reseal(engine, namespace, { state: "filling", progress: null });
  await engine.load(namespace, records, facts);
  await reseal(engine, namespace, undefined);
}

/** Puts this seal in the place of whatever is there. */
export async function reseal(engine: Engine, namespace: string, seal: Seal | undefined): Promise<void> {
  const { facts } = await engine.dump(namespace, { part: "keys" });
  await engine.seal(namespace, seal, facts.seal);
}
