/** A round number at or slightly above the value; half of it is round as well. */
export function niceCeiling(value: number): number {
  if (value <= 1) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 3, 4, 6, 8, 10].find((step) => step * size >= value) ?? 10) * size;
}

export const linear =
  (from: number, to: number, start: number, end: number) =>
  (value: number): number =>
    to === from ? start : start + ((value - from) / (to - from)) * (end - start);

/** The value at a quantile (0 to 1) of a sorted list. */
export const quantile = (sorted: readonly number[], share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;

const seriesCount = 7;
/** The same name has the same colour on every page. */
export function seriesOf(name: string): number {
  let hash = 2_166_136_261;
  for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 16_777_619);
  return (hash >>> 0) % seriesCount;
}
