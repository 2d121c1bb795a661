const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The accepted forms of a duration, for error messages. */
export const durationForms = "a duration such as 45, 45s, 250ms, 5m, 1h, 1h30m, 7d (a bare number means seconds)";

/** Parses `90`, `90s`, `1.5h` or `1h30m` to milliseconds; undefined if the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed) * 1_000;
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d|w))+$/.test(trimmed)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(?<![\d.])(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/g)) totalMs += Number(amount) * (unitMs[unit as string] as number);
  return totalMs;
}

/** At most two units, largest first: `2h 5m`, `45s`, `120ms`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ] as const;
  let rest = Math.floor(ms / 1_000) * 1_000;
  const parts: string[] = [];
  for (const [name, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${name}`);
    if (parts.length === 2 || (parts.length === 1 && rest === 0)) break;
  }
  return parts.join(" ");
}
