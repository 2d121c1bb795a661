import type { Json } from "../../kernel/json.ts";

/** What a session has found worth keeping, oldest first, each once. A highlight lives as long as the longest-lived entry that named it. */
export interface SessionHighlight {
  readonly text: string;
  /** Absent = for ever. */
  readonly expiresAtMs?: number;
}

/** Beyond these the oldest make room. */
const keptMax = 500;
const keptCharactersMax = 200_000;

export function mergeHighlights(before: readonly SessionHighlight[], added: readonly string[], expiresAtMs: number | undefined, nowMs: number): readonly SessionHighlight[] {
  const merged = new Map(liveHighlights(before, nowMs).map((highlight) => [highlight.text, highlight]));
  for (const raw of added) {
    const text = raw.trim();
    if (text === "") continue;
    const known = merged.get(text);
    const later = known === undefined ? expiresAtMs : known.expiresAtMs === undefined || expiresAtMs === undefined ? undefined : Math.max(known.expiresAtMs, expiresAtMs);
    // Setting a known member keeps its place: the order is that of first mention.
    merged.set(text, later === undefined ? { text } : { text, expiresAtMs: later });
  }
  const kept = [...merged.values()].slice(-keptMax);
  let characters = kept.reduce((sum, { text }) => sum + text.length, 0);
  while (characters > keptCharactersMax) characters -= (kept.shift() as SessionHighlight).text.length;
  return kept;
}

export const liveHighlights = (highlights: readonly SessionHighlight[], nowMs: number): SessionHighlight[] =>
  highlights.filter(({ expiresAtMs }) => expiresAtMs === undefined || nowMs < expiresAtMs);

export const toStoredHighlights = (highlights: readonly SessionHighlight[]): Json => ({
  highlights: highlights.map(({ text, expiresAtMs }): Json => (expiresAtMs === undefined ? { text } : { text, expiresAtMs })),
});
export const fromStoredHighlights = (value: Json | undefined): readonly SessionHighlight[] => (value as { highlights?: readonly SessionHighlight[] } | undefined)?.highlights ?? [];
