import { keyRange, rangeAfter } from "../../store/ranges.ts";
import type { Entry, Range, Snapshot, Store, Write } from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import { blobKeys } from "../keyspace.ts";
import { blobGraceMs, distinct, readUses, renewalMs, toManifest, useOf } from "./blob.ts";
import { isUnchanged, putUse } from "./put-chunks.ts";

/** Entries per read, and pages per turn of the task. */
const page = { references: 100, blobs: 50, chunks: 50 } as const;
const pagesMax = 100;

const keptMs = blobGraceMs + renewalMs;
const isOld = ({ updatedAtMs }: Entry, nowMs: number): boolean => nowMs - updatedAtMs >= keptMs;

/**
 * A background task that removes, a limited number per turn, first the references whose entry was overwritten, deleted or expired, then the blobs that nothing
 * refers to, then the chunks that no blob contains, each after its grace time. Several processes may run it on one store: each removal is one commit, which
 * fails if what it removes was put or named meanwhile.
 */
export function openBlobChore(): (store: Store) => Promise<void> {
  const passes = [
    passOver(blobKeys.references, page.references, removeReferences),
    passOver(blobKeys.marks, page.blobs, removeBlobs),
    passOver(blobKeys.uses, page.chunks, removeChunks),
  ];
  return async (store) => {
    for (const pass of passes) await pass(store);
  };
}

/** Goes through a range from where the last turn stopped, and from its beginning after its end. */
function passOver(range: Range, limit: number, remove: (store: Store, page: Snapshot) => Promise<void>): (store: Store) => Promise<void> {
  let rest = range;
  return async (store) => {
    for (let pages = 0; pages < pagesMax; pages += 1) {
      // Values are read where they are needed: a manifest may have several kilobytes, and few blobs are removed.
      const found = await store.read(rest, { limit, values: range === blobKeys.uses });
      await remove(store, found);
      const last = found.entries.at(-1);
      rest = found.more && last !== undefined ? rangeAfter(range, last.key) : range;
      if (!found.more) return;
    }
  };
}

/** A reference was written in the same commit as its entry. Once their revisions differ, they never agree again. */
async function removeReferences(store: Store, { entries: references }: Snapshot): Promise<void> {
  if (references.length === 0) return;
  const owners = distinct(references.map(({ key }) => blobKeys.ownerOf(key)));
  const { entries } = await store.read(owners.map(keyRange), { values: false });
  const revisions = new Map(entries.map(({ key, revision }) => [key, revision]));
  const ended = references.filter(({ key, revision }) => revisions.get(blobKeys.ownerOf(key)) !== revision);
  await removeUnchanged(store, ended, () => []);
}

async function removeBlobs(store: Store, { entries, nowMs }: Snapshot): Promise<void> {
  const old = entries.filter((mark) => isOld(mark, nowMs));
  if (old.length === 0) return;
  const { entries: references, more } = await store.read(
    old.map(({ key }) => blobKeys.referencesTo(blobKeys.hashOf(key))),
    { values: false },
  );
  const named = new Set(references.map(({ key }) => blobKeys.hashOf(key)));
  for (const mark of old) {
    const hash = blobKeys.hashOf(mark.key);
    if (named.has(hash)) continue;
    // The read was cut short: it says nothing about the blobs after its last reference.
    if (more && (await store.read(blobKeys.referencesTo(hash), { limit: 1, values: false })).entries.length > 0) continue;
    await removeBlob(store, hash, mark);
  }
}

/** The check on the mark fails if the blob was put or named after it was seen without references; the next turn sees it again. */
async function removeBlob(store: Store, hash: string, mark: Entry): Promise<void> {
  const manifestKey = blobKeys.manifest(hash);
  const [manifest] = (await store.read(keyRange(manifestKey))).entries;
  const uses = [...(await readUses(store, manifest === undefined ? [] : distinct(toManifest(manifest).chunks)))];
  await store.commit({
    checks: [{ key: mark.key, revision: mark.revision }, ...uses.map(([chunk, use]) => isUnchanged(chunk, use))],
    writes: [{ op: "delete", key: manifestKey }, { op: "delete", key: mark.key }, ...uses.map(([chunk, { blobs }]) => putUse(chunk, blobs - 1))],
    writer: systemWriter,
  });
}

async function removeChunks(store: Store, { entries, nowMs }: Snapshot): Promise<void> {
  const unused = entries.filter((entry) => isOld(entry, nowMs) && useOf(entry, nowMs).blobs === 0);
  await removeUnchanged(store, unused, ({ key }) => [{ op: "delete", key: blobKeys.chunk(blobKeys.hashOf(key)) }]);
}

/** Deletes the entries, and what belongs to each, in one commit. Those that were written meanwhile stay. */
async function removeUnchanged(store: Store, entries: readonly Entry[], others: (entry: Entry) => readonly Write[]): Promise<void> {
  for (let left = entries; left.length > 0; ) {
    const result = await store.commit({
      checks: left.map(({ key, revision }) => ({ key, revision })),
      writes: left.flatMap((entry): Write[] => [{ op: "delete", key: entry.key }, ...others(entry)]),
      writer: systemWriter,
    });
    if (result.ok || result.reason !== "checks") return;
    const changed = new Set(result.failed.map(({ check }) => check.key));
    left = left.filter(({ key }) => !changed.has(key));
  }
}
