/**
 * Ids that people can read, sort and abbreviate: `2026-01-10T23-45-00_caching-halves-the-cost` (UTC). They are also names of
 * mirror files, so they contain no path separator of any system, never begin with a dot and are short.
 */
const slugBytesMax = 72;

export const checkpointId = (savedAtMs: number, thesis: string, nth: number): string =>
  `${new Date(savedAtMs).toISOString().slice(0, 19).replaceAll(":", "-")}_${slugOf(thesis)}${nth === 1 ? "" : `-${nth}`}`;

/** Keeps letters and digits of any script, in lower case; everything between them becomes one dash. */
export function slugOf(text: string): string {
  const dashed = text
    .toLowerCase()
    // Invisible characters inside words (joiners, direction marks) do not separate words.
    .replaceAll(/\p{Cf}/gu, "")
    // NFC, so that a file system that normalizes names returns the same name. This comes after the
    // removal, because an invisible character may separate a letter from its accent.
    .normalize("NFC")
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, "-")
    .replaceAll(/^[-\p{M}]+|(?<!-)-+$/gu, "");
  return cut(dashed).normalize("NFC") || "untitled";
}

/** Cuts at the end of a word if one is near, otherwise between characters. */
function cut(slug: string): string {
  if (Buffer.byteLength(slug) <= slugBytesMax) return slug;
  let kept = "";
  for (const character of slug) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(character) > slugBytesMax) break;
    kept += character;
  }
  const lastDash = kept.lastIndexOf("-");
  return kept.slice(0, lastDash > kept.length / 2 ? lastDash : undefined);
}
