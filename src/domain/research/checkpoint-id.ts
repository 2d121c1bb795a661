/**
 * Ids that people can read, sort and type the beginning of: `2026-01-10T23-45-00_caching-halves-the-cost` (UTC).
 * They are names of mirror files too: no separator of any system, no dot at the beginning, never long.
 */
const slugBytesMax = 72;

export const checkpointId = (savedAtMs: number, thesis: string, nth: number): string =>
  `${new Date(savedAtMs).toISOString().slice(0, 19).replaceAll(":", "-")}_${slugOf(thesis)}${nth === 1 ? "" : `-${nth}`}`;

/** Letters and digits of any script, lower-cased; everything between them becomes one dash. */
export function slugOf(text: string): string {
  const dashed = text
    .toLowerCase()
    // Invisible characters inside words (joiners, direction marks) separate nothing.
    .replaceAll(/\p{Cf}/gu, "")
    // Composed, so that a file system that composes names gives the same name back; after them, because one may stand between a letter and its accent.
    .normalize("NFC")
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, "-")
    .replaceAll(/^[-\p{M}]+|(?<!-)-+$/gu, "");
  return cut(dashed).normalize("NFC") || "untitled";
}

/** At a word's end where one is near, else at a character's. */
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
