import { createHash } from "node:crypto";

const stemBytesMax = 120;
/** Names that mean a device on Windows, with any extension. */
const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/;

/**
 * A file name for an id: the id itself if it is safe and unique on every system, otherwise a readable form with a digest of the id.
 * Upper case and decomposed letters are unsafe: some file systems treat "API" as "api", or return another form.
 */
export function fileNameOf(id: string): string {
  const plain = id
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}._-]/gu, "-")
    .replaceAll(/^\.+|(?<!\.)\.+$/g, "-");
  const stem = cut(plain);
  return stem === id && !devices.test(stem) ? stem : `${stem}~${createHash("sha256").update(id).digest("hex").slice(0, 10)}`;
}

function cut(text: string): string {
  let kept = "";
  for (const character of text) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(character) > stemBytesMax) break;
    kept += character;
  }
  return kept;
}
