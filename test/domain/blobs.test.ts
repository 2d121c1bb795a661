import { describe, expect, test, vi } from "vitest";
import { resetNamespace } from "../../src/domain/admin/reset.ts";
import { assembleBlob } from "../../src/domain/blobs/assemble-blob.ts";
import type { BlobAudit } from "../../src/domain/blobs/audit-blobs.ts";
import { auditBlobs } from "../../src/domain/blobs/audit-blobs.ts";
import { blobGraceMs, hashOf, renewalMs } from "../../src/domain/blobs/blob.ts";
import { openBlobChore } from "../../src/domain/blobs/collect-blobs.ts";
import { findBlob } from "../../src/domain/blobs/find-blob.ts";
import { putChunks } from "../../src/domain/blobs/put-chunks.ts";
import { blobKeys, stateKeys } from "../../src/domain/keyspace.ts";
import { commitState, deleteState, setState } from "../../src/domain/state/state.ts";
import { openHoldfast } from "../../src/index.ts";
import { toBase64 } from "../../src/kernel/base64.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { limits } from "../../src/store/limits.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Store, Write } from "../../src/store/store.ts";
import type { Scope } from "../../src/store/transact.ts";
import { engines } from "../support/engines.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";
import { openScope, settle } from "../support/scope.ts";

const keptMs = blobGraceMs + renewalMs;

/** Content of so many chunks; the same first chunk for every name, the others of its own. */
const contentOf = (name: string, chunks = 1): Uint8Array[] =>
  Array.from({ length: chunks }, (_, i) => {
    const isLast = i === chunks - 1;
    return new Uint8Array(Buffer.alloc(isLast ? 1_000 : limits.chunkBytesMax, i === 0 && !isLast ? "shared" : `${name}${i}`));
  });

async function put(scope: Scope, name: string, chunks = 1): Promise<string> {
  const content = contentOf(name, chunks);
  const hashes = content.map(hashOf);
  for (const chunk of content.slice(0, -1)) await putChunks(scope, [toBase64(chunk)]);
  const bytes = content.reduce((sum, { length }) => sum + length, 0);
  const made = await assembleBlob(scope, { bytes, chunks: hashes, contents: content.slice(-1).map(toBase64) });
  if (!made.ok) throw new Error(`Missing: ${made.missing.join(", ")}`);
  return made.hash;
}

const isThere = async (scope: Scope, hash: string): Promise<boolean> => (await findBlob(scope, hash)) !== undefined;
/** Nothing is wrong, and so many things wait for their grace time. */
const sound = (unnamed: number): Partial<BlobAudit> => ({ problems: [], unnamed });
const nothing = { blobs: 0, chunks: 0, references: 0, unnamed: 0, overdue: 0, problems: [] };

/** A turn of the collection that a process makes which has not seen the store before. */
const collect = (store: Store): Promise<void> => openBlobChore()(store);

async function openOn(engine: (typeof engines)[number]): Promise<AsyncDisposable & { readonly scope: Scope & { readonly clock: ManualClock } }> {
  const clock = manualClock();
  const opened = await engine.openOnClock(await engine.freshUrl(), clock);
  // Writers that wait for each other wait in real time.
  return {
    scope: { store: openNamespaceStore(opened, "test", clock), clock: { ...clock, sleep: systemClock.sleep }, writer: "tester" },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

for (const engine of engines)
  describe(`blobs on ${engine.name}`, () => {
    test("stay while an entry names them, and are removed a grace time after the last name ends", async () => {
      await using opened = await openOn(engine);
      const { scope } = opened;
      const { store, clock } = scope;
      const ways = ["overwritten", "deleted", "expired", "renamed", "kept"] as const;
      const hashes = Object.fromEntries(await Promise.all(ways.map(async (way) => [way, await put(scope, way, 2)] as const))) as Record<(typeof ways)[number], string>;
      for (const way of ways) await setState(scope, { key: way, value: way, blobs: [hashes[way]], ttlMs: way === "expired" ? 2 * keptMs : undefined });
      expect(await auditBlobs(store)).toMatchObject({ blobs: 5, chunks: 6, references: 5, ...sound(0) });
      clock.advance(keptMs);
      await collect(store);
      expect(await auditBlobs(store)).toMatchObject({ blobs: 5, chunks: 6, references: 5, ...sound(0) });
      await setState(scope, { key: "overwritten", value: 2 });
      await deleteState(scope, { key: "deleted" });
      await commitState(scope, { writes: [{ op: "set", key: "renamed", value: 2, blobs: [hashes.kept] }], expected: [], guards: [] });
      clock.advance(keptMs);
      expect(await auditBlobs(store)).toMatchObject({ blobs: 5, references: 6, unnamed: 4, overdue: 4, problems: [] });
      await collect(store);
      // The chunk that all of them contain stays with the last. The others begin their own grace time.
      expect(await auditBlobs(store)).toMatchObject({ blobs: 1, chunks: 6, references: 2, overdue: 0, ...sound(4) });
      for (const way of ways) expect([way, await isThere(scope, hashes[way])]).toEqual([way, way === "kept"]);
      clock.advance(keptMs);
      await collect(store);
      expect(await auditBlobs(store)).toMatchObject({ blobs: 1, chunks: 2, references: 2, ...sound(0) });
      for (const key of ["kept", "renamed"]) await deleteState(scope, { key });
      for (let turn = 0; turn < 3; turn += 1) {
        await collect(store);
        clock.advance(keptMs);
      }
      expect(await auditBlobs(store)).toEqual(nothing);
      expect(await store.count(blobKeys.all)).toBe(0);
    });

    test("that are put again are kept for a whole grace time from then", async () => {
      await using opened = await openOn(engine);
      const { scope } = opened;
      const { store, clock } = scope;
      const [hash] = [await put(scope, "again", 2), await putChunks(scope, [toBase64(contentOf("loose")[0] as Uint8Array)])];
      clock.advance(keptMs - 1);
      await collect(store);
      expect(await put(scope, "again", 2)).toBe(hash);
      await putChunks(scope, [toBase64(contentOf("loose")[0] as Uint8Array)]);
      clock.advance(blobGraceMs - 1);
      await collect(store);
      expect(await auditBlobs(store)).toMatchObject({ blobs: 1, chunks: 3, ...sound(2) });
      clock.advance(keptMs);
      await collect(store);
      expect(await isThere(scope, hash)).toBe(false);
    });

    test("of which many callers name some while they are collected are never lost", async () => {
      await using opened = await openOn(engine);
      const { scope } = opened;
      const { store, clock } = scope;
      const hashes = await Promise.all(Array.from({ length: 6 }, (_, i) => put(scope, `blob ${i}`, 2)));
      for (let round = 0; round < 4; round += 1) {
        clock.advance(keptMs);
        const named = await Promise.all([
          ...hashes.map(async (hash, i) => {
            try {
              await setState(scope, { key: `entry ${i}`, value: round, blobs: [hash] });
              return true;
            } catch {
              return false;
            }
          }),
          collect(store).then(() => false),
          collect(store).then(() => false),
        ]);
        for (const [i, hash] of hashes.entries()) expect(await isThere(scope, hash)).toBe(named[i]);
        expect((await auditBlobs(store)).problems).toEqual([]);
        for (const i of hashes.keys()) await deleteState(scope, { key: `entry ${i}` });
        for (const i of hashes.keys()) await put(scope, `blob ${i}`, 2);
      }
    });

    test("are found whole, and every kind of damage and every leak is found and named", async () => {
      await using opened = await openOn(engine);
      const { scope } = opened;
      const { store } = scope;
      const hash = await put(scope, "planted", 2);
      await setState(scope, { key: "owner", value: 1, blobs: [hash] });
      expect(await auditBlobs(store)).toEqual({ blobs: 1, chunks: 2, references: 1, unnamed: 0, overdue: 0, problems: [] });
      const [first = "", last = ""] = (await findBlob(scope, hash))?.chunks ?? [];
      const commit = async (...writes: readonly Write[]): Promise<void> => void (await store.commit({ writes, writer: "saboteur" }));
      const whole = (await store.read(blobKeys.all)).entries;
      const plants: readonly (readonly [what: string, fault: string, ...writes: Write[]])[] = [
        ["a chunk that is gone", "chunk_missing", { op: "delete", key: blobKeys.chunk(last) }],
        ["other content under a hash", "chunk_differs", { op: "put", key: blobKeys.chunk(first), value: toBase64(new Uint8Array(limits.chunkBytesMax)) }],
        ["chunks in the wrong order", "blob_differs", { op: "put", key: blobKeys.manifest(hash), value: { bytes: limits.chunkBytesMax + 1_000, chunks: [last, first] } }],
        ["a size that is wrong", "blob_differs", { op: "put", key: blobKeys.manifest(hash), value: { bytes: 1, chunks: [first, last] } }],
        ["a blob that is gone although it is named", "blob_missing", { op: "delete", key: blobKeys.manifest(hash) }],
        ["a chunk that is counted too often", "use_differs", { op: "put", key: blobKeys.use(first), value: { blobs: 2 } }],
        ["a chunk that is not counted often enough", "use_differs", { op: "put", key: blobKeys.use(first), value: { blobs: 0 } }],
        ["a chunk that nothing counts", "left_over", { op: "delete", key: blobKeys.use(last) }],
        ["a blob without a mark", "left_over", { op: "delete", key: blobKeys.mark(hash) }],
        ["a mark without a blob", "left_over", { op: "put", key: blobKeys.mark("0".repeat(64)), value: null }],
      ];
      for (const [what, fault, ...writes] of plants) {
        await commit(...writes);
        const { problems } = await auditBlobs(store);
        expect([what, problems.map((problem) => problem.fault)]).toEqual([what, expect.arrayContaining([fault])]);
        // Back to what was there, and the reference to the revision of its owner.
        const now = (await store.read(blobKeys.all)).entries;
        await commit(
          ...now.map(({ key }): Write => ({ op: "delete", key })).filter(({ key }) => !whole.some((entry) => entry.key === key)),
          ...whole.map(({ key, value }): Write => ({ op: "put", key, value })),
          { op: "put", key: stateKeys.key("owner"), value: 1 },
        );
        expect([what, (await auditBlobs(store)).problems]).toEqual([what, []]);
      }
    });
  });

/** The same store; before each commit of the collection something else happens, once. */
function interrupted(store: Store, before: () => Promise<unknown>): Store {
  let isDone = false;
  return {
    ...store,
    async commit(commit) {
      if (!isDone) {
        isDone = true;
        await before();
      }
      return store.commit(commit);
    },
  };
}

describe("the collection", () => {
  test("keeps a blob that is named or put between its look and its commit", async () => {
    for (const act of ["named", "put"] as const) {
      const scope = openScope();
      const hash = await put(scope, "late", 2);
      scope.clock.advance(keptMs);
      const meanwhile = () => (act === "named" ? setState(scope, { key: "k", value: 1, blobs: [hash] }) : put(scope, "late", 2));
      await collect(interrupted(scope.store, meanwhile));
      expect([act, await isThere(scope, hash)]).toEqual([act, true]);
      expect((await auditBlobs(scope.store)).problems).toEqual([]);
    }
  });

  test("keeps a chunk that becomes part of a blob, or is put again, between its look and its commit", async () => {
    for (const act of ["assembled", "put"] as const) {
      const scope = openScope();
      const [content] = contentOf("late") as [Uint8Array];
      const text = toBase64(content);
      await putChunks(scope, [text]);
      scope.clock.advance(keptMs);
      const assemble = () => assembleBlob(scope, { bytes: content.length, chunks: [hashOf(content)] });
      await collect(interrupted(scope.store, () => (act === "assembled" ? assemble() : putChunks(scope, [text]))));
      expect([act, await assemble()]).toEqual([act, { ok: true, hash: hashOf(content), bytes: content.length }]);
      expect((await auditBlobs(scope.store)).problems).toEqual([]);
    }
  });

  test("keeps the reference of an entry that names its blob again between its look and its commit", async () => {
    const scope = openScope();
    const [hash, other] = [await put(scope, "a"), await put(scope, "b")];
    for (const key of ["k", "l"]) await setState(scope, { key, value: 1, blobs: [hash, other] });
    for (const key of ["k", "l"]) await setState(scope, { key, value: 2 });
    await collect(interrupted(scope.store, () => setState(scope, { key: "k", value: 3, blobs: [hash] })));
    expect(await auditBlobs(scope.store)).toMatchObject({ references: 1, problems: [] });
    scope.clock.advance(keptMs);
    await collect(scope.store);
    expect([await isThere(scope, hash), await isThere(scope, other)]).toEqual([true, false]);
  });

  test("removes a limited number of things per turn, and continues where it stopped", async () => {
    const scope = openScope();
    const { store } = scope;
    const count = 6_000;
    for (let i = 0; i < count; i += 64)
      await store.commit({
        writer: "w",
        writes: Array.from({ length: Math.min(64, count - i) }, (_, j): Write[] => {
          const hash = String(i + j).padStart(64, "0");
          return [
            { op: "put", key: blobKeys.chunk(hash), value: "" },
            { op: "put", key: blobKeys.use(hash), value: { blobs: 0 } },
          ];
        }).flat(),
      });
    scope.clock.advance(keptMs);
    const turn = openBlobChore();
    await turn(store);
    expect(await store.count(blobKeys.uses)).toBe(1_000);
    await turn(store);
    expect(await store.count(blobKeys.all)).toBe(0);
  });

  test("sees the references of each of many blobs, however many one of them has", async () => {
    const scope = openScope();
    const names = Array.from({ length: 5 }, (_, i) => `blob ${i}`);
    const hashes = await Promise.all(names.map((name) => put(scope, name)));
    const writes = hashes.flatMap((hash, i) => Array.from({ length: i === 0 ? 1_100 : 1 }, (_, n) => ({ op: "set" as const, key: `${i}/${n}`, value: n, blobs: [hash] })));
    // The blob with many references comes first, and its references fill a whole read.
    expect(hashes.toSorted()[0]).not.toBe(undefined);
    for (let at = 0; at < writes.length; at += 30) await commitState(scope, { writes: writes.slice(at, at + 30), expected: [], guards: [] });
    await deleteState(scope, { key: "4/0" });
    scope.clock.advance(keptMs);
    await collect(scope.store);
    expect(await Promise.all(hashes.map((hash) => isThere(scope, hash)))).toEqual([true, true, true, true, false]);
  });

  test("is done by a process that has the store open", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    try {
      await using holdfast = await openHoldfast({ store: "memory:" });
      const [named, unnamed] = await Promise.all([new Uint8Array(10), new Uint8Array(11)].map((content) => holdfast.blobs.put(content)));
      await holdfast.state.set("k", 1, { blobs: [named?.hash as string] });
      await vi.advanceTimersByTimeAsync(keptMs - 120_000);
      expect(await holdfast.blobs.find(unnamed?.hash as string)).toBeDefined();
      for (let seconds = 0; seconds < 300; seconds += 1) {
        await vi.advanceTimersByTimeAsync(1_000);
        await settle();
      }
      expect(await holdfast.blobs.find(unnamed?.hash as string)).toBeUndefined();
      expect(await holdfast.blobs.find(named?.hash as string)).toBeDefined();
    } finally {
      vi.useRealTimers();
    }
  });
});

test("a reset leaves blobs to the collection, which keeps those that are put meanwhile", async () => {
  const scope = openScope();
  const hash = await put(scope, "before", 2);
  await setState(scope, { key: "k", value: 1, blobs: [hash] });
  const { revision } = await scope.store.position();
  const later = await put(scope, "after", 2);
  expect(await resetNamespace(scope, revision)).toEqual({ cleared: 1 });
  await setState(scope, { key: "l", value: 1, blobs: [later] });
  expect((await auditBlobs(scope.store)).problems).toEqual([]);
  for (let turn = 0; turn < 3; turn += 1) {
    scope.clock.advance(keptMs);
    await collect(scope.store);
  }
  expect(await auditBlobs(scope.store)).toMatchObject({ blobs: 1, chunks: 2, ...sound(0) });
});
