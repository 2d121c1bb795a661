/** On a shared machine, absolute figures vary but ratios are steady: each figure is measured between two measurements of its floor. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface Against {
  readonly figure: Spread;
  readonly floor: Spread;
  readonly ratio: Spread;
}

type Measure = () => Promise<number>;

/** Floor, figure, floor, figure, floor …, in rounds; a figure's ratio is to the mean of the floors before and after it. */
export async function measureAgainst<Name extends string>(
  floor: Measure,
  figures: Readonly<Record<Name, Measure>>,
  rounds: number,
  onRound: (round: number) => void,
): Promise<Record<Name, Against>> {
  const names = Object.keys(figures) as Name[];
  const floors: number[] = [];
  const taken = new Map<Name, { values: number[]; ratios: number[] }>(names.map((name) => [name, { values: [], ratios: [] }]));
  // One round that does not count, to warm up caches, connections and compilers.
  await floor();
  for (const name of names) await figures[name]();
  let before = await floor();
  floors.push(before);
  for (let round = 1; round <= rounds; round += 1) {
    onRound(round);
    for (const name of names) {
      const value = await figures[name]();
      const after = await floor();
      floors.push(after);
      const { values, ratios } = taken.get(name) as { values: number[]; ratios: number[] };
      values.push(value);
      ratios.push((2 * value) / (before + after));
      before = after;
    }
  }
  const entries = names.map((name) => {
    const { values, ratios } = taken.get(name) as { values: number[]; ratios: number[] };
    return [name, { figure: spreadOf(values), floor: spreadOf(floors), ratio: spreadOf(ratios) }] as const;
  });
  return Object.fromEntries(entries) as Record<Name, Against>;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: quantile(values, 0.5), min: Math.min(...values), max: Math.max(...values) };
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}
