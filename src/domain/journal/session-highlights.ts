import type { Json } from "../../kernel/json.ts";
import type { Entry } from "../../store/store.ts";
import { arrayOf, number, object, optional, storedAs, string } from "../stored-record.ts";

/** A highlight of a session. It is kept as long as the longest-lived entry that contained it. */
export interface SessionHighlight {
  readonly text: string;
  /** Absent: never expires. */
  readonly expiresAtMs?: number;
}

export interface SessionHighlights {
  readonly kept: readonly SessionHighlight[];
  /** How many were dropped over the whole session because of the limits. */
  readonly dropped: number;
}

/** Above these limits, the oldest highlights are dropped. */
const keptMax = 500;
const keptCharactersMax = 200_000;

export function mergeHighlights(before: SessionHighlights, added: readonly string[], expiresAtMs: number | undefined, nowMs: number): SessionHighlights {
  const merged = new Map(liveHighlights(before.kept, nowMs).map((highlight) => [highlight.text, highlight]));
  for (const raw of added) {
    const text = raw.trim();
    if (text === "") continue;
    const known = merged.get(text);
    const later = known === undefined ? expiresAtMs : known.expiresAtMs === undefined || expiresAtMs === undefined ? undefined : Math.max(known.expiresAtMs, expiresAtMs);
    // Setting an existing key of a Map keeps its position, so highlights stay in order of first mention.
    merged.set(text, later === undefined ? { text } : { text, expiresAtMs: later });
  }
  const kept = [...merged.values()].slice(-keptMax);
  let characters = kept.reduce((sum, { text }) => sum + text.length, 0);
  while (characters > keptCharactersMax) characters -= (kept.shift() as SessionHighlight).text.length;
  return { kept, dropped: before.dropped + merged.size - kept.length };
}

export const liveHighlights = (highlights: readonly SessionHighlight[], nowMs: number): SessionHighlight[] =>
  highlights.filter(({ expiresAtMs }) => expiresAtMs === undefined || nowMs < expiresAtMs);

export const toStoredHighlights = ({ kept, dropped }: SessionHighlights): Json => ({
  highlights: kept.map(({ text, expiresAtMs }): Json => (expiresAtMs === undefined ? { text } : { text, expiresAtMs })),
  ...(dropped === 0 ? {} : { dropped }),
});

const readHighlights = storedAs(
  object<{ readonly highlights?: readonly SessionHighlight[]; readonly dropped?: number }>({
    highlights: optional(arrayOf(object<SessionHighlight>({ text: string, expiresAtMs: optional(number) }))),
    dropped: optional(number),
  }),
);

/** Empty for a session without stored highlights. */
export function fromStoredHighlights(entry: Entry | undefined): SessionHighlights {
  const { highlights = [], dropped = 0 } = entry === undefined ? {} : readHighlights(entry);
  return { kept: highlights, dropped };
}
