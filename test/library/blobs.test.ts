import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Blobs, Holdfast } from "../../src/index.ts";
import { limits } from "../../src/index.ts";
import { fromBase64, toBase64 } from "../../src/kernel/base64.ts";
import { blobsOver } from "../../src/surfaces/library/blob-content.ts";
import type { BlobParts } from "../../src/surfaces/library/blobs.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { libraries } from "./libraries.ts";

const chunk = limits.chunkBytesMax;

/** Content that no other content of another seed shares a chunk with, and whose bytes are all there are. */
function contentOf(bytes: number, seed = 1): Uint8Array {
  const random = seededRandom(seed);
  const content = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i += 1) content[i] = i % 16 === 0 ? random(256) : (content[i - 1] as number) + i;
  return content;
}

const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");

async function* inPieces(content: Uint8Array, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += bytes) yield content.subarray(at, at + bytes);
}

/** How often each method that stores something is called, and how many characters are sent. */
function counted(blobs: Blobs): { readonly blobs: Blobs; readonly sent: { chunks: number; calls: number } } {
  const sent = { chunks: 0, calls: 0 };
  const note = (chunks: readonly string[] = []): void => {
    sent.calls += 1;
    sent.chunks += chunks.length;
  };
  const parts: BlobParts = {
    ...blobs,
    putChunks: (chunks, options) => {
      note(chunks);
      return blobs.putChunks(chunks, options);
    },
    assemble: (input, options) => {
      note(input.contents);
      return blobs.assemble(input, options);
    },
  };
  return { blobs: blobsOver(parts, { toText: toBase64, fromText: fromBase64 }), sent };
}

const sizes = [0, 1, 65_536, 65_537, chunk - 1, chunk, chunk + 1, 4 * chunk, 4 * chunk + 1, 5 * chunk + 77, 8 * chunk];

for (const { name, open } of libraries())
  describe(`blobs, ${name}`, () => {
    test("content of any size comes back byte for byte, put whole or as a stream, and has one hash", async () => {
      await using holdfast = await open();
      for (const [i, bytes] of sizes.entries()) {
        const content = contentOf(bytes, i);
        const hash = sha256(content);
        const [first, second] = i % 2 === 0 ? [content, inPieces(content, 100_003)] : [inPieces(content, 1_500_001), content];
        expect(await holdfast.blobs.put(first)).toEqual({ hash, bytes });
        expect(await holdfast.blobs.put(second)).toEqual({ hash, bytes });
        expect(await holdfast.blobs.find(hash)).toMatchObject({ hash, bytes });
        expect(Buffer.compare(await holdfast.blobs.get(hash), content)).toBe(0);
        const read: Uint8Array[] = [];
        for await (const part of holdfast.blobs.read(hash)) read.push(part);
        expect(read.map(({ length }) => length).slice(0, -1)).toEqual(read.slice(0, -1).map(() => chunk));
        expect(Buffer.compare(Buffer.concat(read), content)).toBe(0);
      }
    });

    test("what is stored already is not sent again, and small content takes one call", async () => {
      await using holdfast = await open();
      const { blobs, sent } = counted(holdfast.blobs);
      const large = contentOf(6 * chunk);
      await blobs.put(large);
      expect(sent.chunks).toBe(6);
      await blobs.put(large);
      expect(sent.chunks).toBe(6);
      const changed = large.slice();
      changed[3 * chunk] = (changed[3 * chunk] as number) + 1;
      await blobs.put(changed);
      expect(sent.chunks).toBe(7);
      sent.calls = 0;
      await blobs.put(contentOf(1_000, 2));
      expect(sent.calls).toBe(1);
    });

    test("content that contains a chunk several times stores it once", async () => {
      await using holdfast = await open();
      const zeros = new Uint8Array(5 * chunk + 3);
      const { hash, bytes } = await holdfast.blobs.put(zeros);
      const found = await holdfast.blobs.find(hash);
      expect(new Set(found?.chunks).size).toBe(2);
      expect(await holdfast.blobs.get(hash)).toHaveLength(bytes);
    });

    test("an entry names blobs in its own commit, and the commit fails if one is absent", async () => {
      await using holdfast = await open();
      const { state, blobs } = holdfast;
      const { hash } = await blobs.put(contentOf(10));
      const absent = sha256(contentOf(11));
      expect(await state.set("a", { file: hash }, { blobs: [hash, hash] })).toMatchObject({ ok: true, version: 1 });
      const missing = { code: "invalid_input", message: expect.stringContaining(absent), details: { field: "blobs", hash: absent } };
      await expect(state.set("a", 2, { blobs: [hash, absent] })).rejects.toMatchObject(missing);
      const writes = [
        { op: "set", key: "a", value: 3, blobs: [hash] },
        { op: "set", key: "b", value: 3, blobs: [absent] },
      ] as const;
      await expect(state.commit({ writes })).rejects.toMatchObject(missing);
      expect(await state.get("a")).toMatchObject({ version: 1 });
      expect(await state.commit({ writes: [writes[0], { op: "set", key: "b", value: 3, blobs: [hash] }] })).toMatchObject({
        ok: true,
        results: [
          { key: "a", version: 2, existed: true },
          { key: "b", version: 1, existed: false },
        ],
      });
    });

    test("blobs appear in no list of keys and no history", async () => {
      await using holdfast = await open();
      const { hash } = await holdfast.blobs.put(contentOf(2 * chunk));
      await holdfast.state.set("only", 1, { blobs: [hash] });
      expect((await holdfast.state.list()).entries.map(({ key }) => key)).toEqual(["only"]);
      expect((await holdfast.history()).entries).toMatchObject([{ kind: "state", name: "only", op: "set" }]);
    });

    test("wrong arguments are refused by their names", async () => {
      await using holdfast = await open();
      const { blobs, state } = holdfast;
      const hash = sha256(contentOf(3));
      const sent = toBase64(contentOf(3));
      for (const [call, field] of [
        [() => blobs.find("short"), "hash"],
        [() => blobs.find(hash.toUpperCase()), "hash"],
        [() => blobs.readChunk("../x"), "hash"],
        [() => blobs.putChunks([`${sent}\n`]), "chunks[0]"],
        [() => blobs.putChunks([sent, ""]), "chunks[1]"],
        [() => blobs.putChunks([toBase64(new Uint8Array(chunk + 1))]), "chunks[0]"],
        [() => blobs.putChunks(Array.from({ length: limits.callChunksMax + 1 }, () => sent)), "chunks"],
        [() => blobs.assemble({ bytes: limits.blobBytesMax + 1, chunks: [] }), "bytes"],
        [() => blobs.assemble({ bytes: 3, chunks: [] }), "chunks"],
        [() => blobs.assemble({ bytes: 3, chunks: [hash, hash] }), "chunks"],
        [() => blobs.assemble({ bytes: 2, chunks: [hash], contents: [sent] }), "chunks[0]"],
        [() => blobs.assemble({ bytes: 3, chunks: [sha256(contentOf(4))], contents: [sent] }), "contents"],
        [() => blobs.assemble({ bytes: 3, chunks: [hash], contents: [sent], hash: sha256(contentOf(4)) }), "hash"],
        [() => state.set("k", 1, { blobs: ["x"] }), "blobs"],
        [() => state.set("k", 1, { blobs: Array.from({ length: limits.entryBlobsMax + 1 }, () => hash) }), "blobs"],
      ] as const)
        await expect(call(), String(call)).rejects.toMatchObject({ details: { field } });
      await expect(blobs.put("text" as unknown as Uint8Array)).rejects.toMatchObject({ code: "invalid_input", details: { field: "content" } });
      await expect(blobs.put(new Uint8Array(limits.blobBytesMax + 1))).rejects.toMatchObject({ code: "limit_exceeded", details: { field: "content" } });
      await expect(blobs.get(hash)).rejects.toMatchObject({ code: "not_found" });
      await expect(blobs.readChunk(hash)).rejects.toMatchObject({ code: "not_found" });
      expect(await blobs.find(hash)).toBeUndefined();
    });

    test("a commit that names too many blobs is refused before it is sent to the store", async () => {
      await using holdfast = await open();
      const hashes = await Promise.all(Array.from({ length: 42 }, async (_, i) => (await holdfast.blobs.put(contentOf(5 + i))).hash));
      const named = (blobs: readonly string[]) => holdfast.state.commit({ writes: [1, 2].map((n) => ({ op: "set" as const, key: `k${n}`, value: n, blobs })) });
      expect(await named(hashes)).toMatchObject({ ok: true });
      await expect(named([...hashes, sha256(contentOf(99))])).rejects.toMatchObject({ code: "limit_exceeded", details: { field: "blobs" } });
    });

    test("content that several callers put at once, or that shares chunks, is stored whole", async () => {
      await using holdfast = await open();
      const shared = contentOf(chunk);
      const contents = Array.from({ length: 8 }, (_, i) => Buffer.concat([shared, contentOf(100, i >> 1)]));
      const refs = await Promise.all(contents.map((content) => holdfast.blobs.put(content)));
      expect(new Set(refs.map(({ hash }) => hash)).size).toBe(4);
      for (const [i, { hash }] of refs.entries()) expect(Buffer.compare(await holdfast.blobs.get(hash), contents[i] as Uint8Array)).toBe(0);
    });

    test("a request key stored with names of blobs gives the first answer again", async () => {
      await using holdfast: Holdfast = await open();
      const { hash } = await holdfast.blobs.put(contentOf(9));
      const first = await holdfast.state.set("k", 1, { blobs: [hash], requestKey: "r" });
      expect(await holdfast.state.set("k", 1, { blobs: [hash], requestKey: "r" })).toEqual(first);
      await expect(holdfast.state.set("k", 1, { requestKey: "r" })).rejects.toMatchObject({ code: "request_key_reused" });
    });
  });

test("base64 without Node is the same base64", () => {
  for (const bytes of [0, 1, 2, 3, 4, 255, 256, 257, 100_000]) {
    const content = contentOf(bytes);
    const text = Buffer.from(content).toString("base64");
    expect(toBase64(content)).toBe(text);
    expect(Buffer.compare(fromBase64(text), content)).toBe(0);
  }
});
