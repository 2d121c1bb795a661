import type { BlobRef } from "../../domain/blobs/blob.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import type { BlobParts, Blobs } from "./blobs.ts";
import type { CallOptions } from "./call-options.ts";

/** Longer content is sent only after asking whether it is stored already. */
const sentUnaskedMax = 65_536;
/** How often what is missing is sent: chunks that were stored can be collected before the blob is made of them. */
const attemptsMax = 3;

export interface Base64 {
  readonly toText: (content: Uint8Array) => string;
  readonly fromText: (text: string) => Uint8Array;
}

/** The methods that travel, and the spelling of binary content in which they do. */
interface Carrier {
  readonly parts: BlobParts;
  readonly base64: Base64;
}

/** Implements `put`, `get` and `read` with the other methods, so that they work the same on an embedded store and over a server. */
export function blobsOver(parts: BlobParts, base64: Base64): Blobs {
  const carrier = { parts, base64 };
  return {
    ...parts,
    put: async (content, options = {}) => {
      if (content instanceof Uint8Array) return putWhole(carrier, content, options);
      if (typeof (content as Partial<AsyncIterable<unknown>> | undefined)?.[Symbol.asyncIterator] === "function") return putStream(carrier, content, options);
      throw invalidInput("content", "must be a Uint8Array or an async iterable of them");
    },
    async get(hash, options) {
      const found = await parts.find(hash, options);
      if (found === undefined) throw noBlob(hash);
      if (found.bytes > limits.blobBytesMax) throw new HoldfastError("limit_exceeded", `The blob has ${found.bytes} bytes; get returns up to ${limits.blobBytesMax}.`);
      const whole = new Uint8Array(found.bytes);
      let at = 0;
      for await (const chunk of readChunks(carrier, found.chunks, options)) {
        if (at + chunk.length > whole.length) throw damaged(hash);
        whole.set(chunk, at);
        at += chunk.length;
      }
      if (at !== whole.length) throw damaged(hash);
      return whole;
    },
    async *read(hash, options) {
      const found = await parts.find(hash, options);
      if (found === undefined) throw noBlob(hash);
      yield* readChunks(carrier, found.chunks, options);
    },
  };
}

async function* readChunks({ parts, base64 }: Carrier, chunks: readonly string[], options: CallOptions | undefined): AsyncGenerator<Uint8Array> {
  for (const hash of chunks) {
    const chunk = base64.fromText(await parts.readChunk(hash, options));
    if (((await digest(chunk)) ?? hash) !== hash) throw damaged(hash);
    yield chunk;
  }
}

async function putWhole(carrier: Carrier, content: Uint8Array, options: CallOptions): Promise<BlobRef> {
  if (content.length > limits.blobBytesMax) throw tooLong(content.length);
  const {
    parts,
    base64: { toText },
  } = carrier;
  const pieces = piecesOf(content);
  const hashes: string[] = [];
  for (const piece of pieces) hashes.push((await digest(piece)) ?? (await putOne(carrier, piece, options)));
  const whole = pieces.length === 1 ? hashes[0] : await digest(content);
  const byHash = new Map(pieces.map((piece, i) => [hashes[i] as string, piece]));
  const input = { bytes: content.length, chunks: hashes, hash: whole };
  // Asking first costs a round trip, which is less than sending much for nothing.
  let contents = content.length > sentUnaskedMax ? [] : pieces;
  for (let attempt = 0; attempt <= attemptsMax; attempt += 1) {
    const result = await parts.assemble({ ...input, contents: contents.map(toText) }, options);
    if (result.ok) return { hash: result.hash, bytes: result.bytes };
    const missing = result.missing.flatMap((hash) => byHash.get(hash) ?? []);
    // The last ones are sent along with the list.
    contents = missing.splice(-limits.callChunksMax);
    while (missing.length > 0) await parts.putChunks(missing.splice(0, limits.callChunksMax).map(toText), options);
  }
  throw collected();
}

async function putStream(carrier: Carrier, stream: AsyncIterable<Uint8Array>, options: CallOptions): Promise<BlobRef> {
  const {
    parts,
    base64: { toText, fromText },
  } = carrier;
  const hashes: string[] = [];
  let bytes = 0;
  let full: string[] = [];
  let rest = new Uint8Array(limits.chunkBytesMax);
  let filled = 0;
  for await (const given of stream) {
    if (!(given instanceof Uint8Array)) throw invalidInput("content", "must yield Uint8Arrays");
    bytes += given.length;
    if (bytes > limits.blobBytesMax) throw tooLong(bytes);
    for (let at = 0; at < given.length; ) {
      if (filled === rest.length) {
        full.push(toText(rest));
        filled = 0;
        if (full.length === limits.callChunksMax) {
          hashes.push(...(await parts.putChunks(full, options)).hashes);
          full = [];
        }
      }
      const part = given.subarray(at, at + rest.length - filled);
      rest.set(part, filled);
      filled += part.length;
      at += part.length;
    }
  }
  rest = rest.subarray(0, filled);
  // What fits into one call is sent as content that is there as a whole is.
  if (hashes.length === 0) return putWhole(carrier, joined([...full.map(fromText), rest]), options);
  full.push(toText(rest));
  while (full.length > 0) hashes.push(...(await parts.putChunks(full.splice(0, limits.callChunksMax), options)).hashes);
  const result = await parts.assemble({ bytes, chunks: hashes }, options);
  if (!result.ok) throw collected();
  return { hash: result.hash, bytes: result.bytes };
}

const putOne = async ({ parts, base64 }: Carrier, piece: Uint8Array, options: CallOptions): Promise<string> =>
  (await parts.putChunks([base64.toText(piece)], options)).hashes[0] as string;

function piecesOf(content: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < content.length; at += limits.chunkBytesMax) pieces.push(content.subarray(at, at + limits.chunkBytesMax));
  return pieces;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Undefined where the runtime has no SHA-256: a browser's page that did not come over HTTPS. The server computes every hash anyway. */
async function digest(content: Uint8Array): Promise<string | undefined> {
  const { subtle } = globalThis.crypto as Partial<typeof globalThis.crypto>;
  if (subtle === undefined) return undefined;
  const bytes = new Uint8Array(await subtle.digest("SHA-256", content as Uint8Array<ArrayBuffer>));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const noBlob = (hash: string): HoldfastError => new HoldfastError("not_found", `There is no blob with the hash ${hash}.`, { details: { hash } });
const damaged = (hash: string): HoldfastError => new HoldfastError("store_damaged", `The stored content of ${hash} is not what its hash says.`, { details: { hash } });
const tooLong = (bytes: number): HoldfastError =>
  new HoldfastError("limit_exceeded", `content: a blob may have ${limits.blobBytesMax} bytes; this one has ${bytes} or more`, { details: { field: "content" } });
const collected = (): HoldfastError =>
  new HoldfastError("conflict", "Parts of the content were removed again before all of it was stored, because putting it took too long.", { hint: "Put it again." });
