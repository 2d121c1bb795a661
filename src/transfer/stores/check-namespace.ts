import { isHoldfastError } from "../../kernel/errors.ts";
import { follower } from "../../store/log-order.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Engine, Entry, StoredKey } from "../../store/store.ts";
import { keyPages, logPages, requestPages } from "./dump-pages.ts";

/** The most records that a report names; with more, a backup must be restored anyway. */
const damagedMax = 50;
const entriesPerRead = 200;

/**
 * Reads all of a namespace through the store interface, on any engine, and reports damage: unreadable records, revisions missing from
 * the log, and entries that differ from the log. The namespace may be written to at the same time. `onRecords` receives the number of records read.
 */
export async function checkNamespace(engine: Engine, namespace: string, onRecords: (count: number) => void = () => {}): Promise<readonly string[]> {
  const damaged = new Set<string>();
  const note = (record: string): void => {
    if (damaged.size < damagedMax) damaged.add(record);
  };
  for (const part of [checkLog, checkKeys, checkRequests]) {
    try {
      await part(engine, namespace, note, onRecords);
    } catch (error) {
      if (!isHoldfastError(error, "store_damaged")) throw error;
      note(typeof error.details?.record === "string" ? error.details.record : error.message);
    }
  }
  return [...damaged];
}

type Part = (engine: Engine, namespace: string, note: (record: string) => void, onRecords: (count: number) => void) => Promise<void>;

const checkLog: Part = async (engine, namespace, note, onRecords) => {
  let follows: ReturnType<typeof follower> | undefined;
  for await (const { facts, records } of logPages(engine, namespace)) {
    follows ??= follower(facts, facts.compacted);
    for (const record of records)
      if (facts.seal?.state !== "filling" && !follows(record.revision, record.seq)) note(`revision ${record.revision} in the log (row ${record.seq}), or the one before it`);
    onRecords(records.length);
  }
};

const checkKeys: Part = async (engine, namespace, note, onRecords) => {
  for await (const { facts, records } of keyPages(engine, namespace)) {
    // Under any other seal, the namespace cannot be read.
    const readable = facts.seal === undefined || facts.seal.state === "copying" || facts.seal.state === "moving";
    const present = readable ? records.filter((record) => record.present) : [];
    for (let at = 0; at < present.length; at += entriesPerRead) await compareEntries(engine, namespace, present.slice(at, at + entriesPerRead), note);
    onRecords(records.length);
  }
};

const checkRequests: Part = async (engine, namespace, _note, onRecords) => {
  for await (const { records } of requestPages(engine, namespace)) onRecords(records.length);
};

async function compareEntries(engine: Engine, namespace: string, keys: readonly StoredKey[], note: (record: string) => void): Promise<void> {
  const { entries, nowMs } = await engine.read(
    namespace,
    keys.map(({ key }) => keyRange(key)),
    { limit: keys.length },
  );
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  for (const stored of keys) if (!(await agrees(engine, namespace, stored, byKey.get(stored.key), nowMs))) note(`key ${JSON.stringify(stored.key)}`);
}

async function agrees(engine: Engine, namespace: string, stored: StoredKey, entry: Entry | undefined, nowMs: number): Promise<boolean> {
  // A higher revision was written after the page was read.
  if (entry !== undefined && entry.revision !== stored.revision) return entry.revision > stored.revision;
  const { rows } = await engine.log(namespace, { ranges: [keyRange(stored.key)], narrow: true, reverse: true, lenient: true, limit: 1 });
  const newest = rows.find(({ revision }) => revision >= stored.revision);
  if (newest === undefined) return false;
  if (newest.revision > stored.revision) return true;
  if (entry === undefined) return newest.op === "put" && newest.expiresAtMs !== undefined && newest.expiresAtMs <= nowMs;
  return newest.version === stored.version && entry.version === stored.version && JSON.stringify(newest.value) === JSON.stringify(entry.value);
}
