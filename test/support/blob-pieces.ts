import { createHash } from "node:crypto";

const pieceBytes = 262_144;

/** The pieces of a content that is a function of its seed, made one at a time: no two of them are alike. */
export async function* blobPieces(seed: number, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += pieceBytes) {
    const head = createHash("sha256").update(`${seed} ${at}`).digest();
    yield new Uint8Array(Buffer.alloc(Math.min(pieceBytes, bytes - at), head));
  }
}
